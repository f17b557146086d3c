-- How large is a struct, by kernel?
-- What Rust has of a C struct has no file. Of a kernel that only BTF describes, nothing has one.
SET VARIABLE type_name = 'task_struct';
WITH facts AS (
    SELECT byte_size, file, unnest(kernels) AS kernel
    FROM members_since WHERE type_name = getvariable('type_name') AND type_kind = 'struct' AND member IS NULL)
SELECT byte_size, list_sort(list(DISTINCT kernel)) AS kernels
FROM facts WHERE file IS NOT NULL OR kernel NOT IN (SELECT kernel FROM facts WHERE file IS NOT NULL)
GROUP BY byte_size;
