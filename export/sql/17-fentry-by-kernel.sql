-- How many entries of these functions take a BPF trampoline, by kernel?
SET VARIABLE pattern = 'vfs_*';
SELECT kernel, count(*) FILTER (trampoline = 'ok') AS taken, count(*) AS entries
FROM placements WHERE "function" GLOB getvariable('pattern') AND instance = 'out-of-line'
GROUP BY kernel;
