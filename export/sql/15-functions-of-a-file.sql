-- Which functions of a file have code of their own in the kernel, and where do they start?
SET VARIABLE file = 'fs/read_write.c';
SELECT kernel, "function", line, printf('0x%x', address) AS address
FROM placements WHERE file = getvariable('file') AND instance = 'out-of-line' AND module IS NULL;
