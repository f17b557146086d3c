-- At how many addresses does a function run, and how many of them does a kprobe reach?
SET VARIABLE name = 'fdget';
SELECT kernel, sum(entries + copies) AS addresses, sum(reachable) AS reachable, sum(gone) AS gone
FROM functions WHERE name = getvariable('name') GROUP BY kernel;
