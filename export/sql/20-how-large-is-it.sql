-- How large is a struct, by kernel?
-- What Rust has of a C struct has no file.
SET VARIABLE type_name = 'task_struct';
SELECT byte_size, list_sort(flatten(list(kernels))) AS kernels
FROM members_since WHERE type_name = getvariable('type_name') AND type_kind = 'struct' AND file IS NOT NULL AND member IS NULL
GROUP BY byte_size;
