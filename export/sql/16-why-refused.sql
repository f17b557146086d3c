-- Why does the kernel refuse kprobes on functions of these names, and how often?
SET VARIABLE pattern = 'exc_*';
SELECT kernel, kprobe, count(*) AS placements
FROM placements WHERE "function" GLOB getvariable('pattern') AND kprobe <> 'ok'
GROUP BY ALL;
