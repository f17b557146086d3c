-- Which kernels have which prototype of a function?
SET VARIABLE name = 'blk_mq_alloc_request';
SELECT prototype, list_sort(list_distinct(flatten(list(kernels)))) AS kernels
FROM functions_since WHERE name = getvariable('name') GROUP BY prototype;
