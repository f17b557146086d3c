-- At which offset do which kernels have a member?
-- What Rust has of a C struct has no file.
SET VARIABLE type_name = 'task_struct';
SET VARIABLE member = 'pid';
SELECT byte_offset, list_sort(flatten(list(kernels))) AS kernels
FROM members_since WHERE type_name = getvariable('type_name') AND type_kind = 'struct' AND file IS NOT NULL AND member = getvariable('member')
GROUP BY byte_offset;
