-- Where is a member?
SET VARIABLE type_name = 'task_struct';
SET VARIABLE member = 'pid';
SELECT kernel, type, byte_offset, byte_size
FROM members WHERE type_name = getvariable('type_name') AND type_kind = 'struct' AND member = getvariable('member');
