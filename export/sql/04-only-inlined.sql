-- Which functions have no code of their own, so that a probe on the name finds nothing?
SET VARIABLE pattern = 'blk_mq_*';
SELECT kernel, name, file, line, count(*) AS objects
FROM functions WHERE name GLOB getvariable('pattern') AND entries = 0 AND copies > 0
GROUP BY ALL;
