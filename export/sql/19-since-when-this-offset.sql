-- At which offset do which kernels have a member?
-- What Rust has of a C struct has no file. Of a kernel that only BTF describes, nothing has one.
SET VARIABLE type_name = 'task_struct';
SET VARIABLE member = 'pid';
WITH facts AS (
    SELECT byte_offset, file, unnest(kernels) AS kernel
    FROM members_since WHERE type_name = getvariable('type_name') AND type_kind = 'struct' AND member = getvariable('member'))
SELECT byte_offset, list_sort(list(DISTINCT kernel)) AS kernels
FROM facts WHERE file IS NOT NULL OR kernel NOT IN (SELECT kernel FROM facts WHERE file IS NOT NULL)
GROUP BY byte_offset;
