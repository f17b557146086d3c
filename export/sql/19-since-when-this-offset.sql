-- At which offset do which kernels have a member?
SET VARIABLE type_name = 'task_struct';
SET VARIABLE member = 'pid';
SELECT byte_offset, list_sort(flatten(list(kernels))) AS kernels
FROM members_since WHERE type_name = getvariable('type_name') AND type_kind = 'struct' AND member = getvariable('member')
GROUP BY byte_offset;
