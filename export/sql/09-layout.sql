-- How is a struct laid out?
SET VARIABLE type_name = 'path';
SELECT kernel, file, member, type, byte_offset, byte_size, struct_size
FROM members WHERE type_name = getvariable('type_name') AND type_kind = 'struct';
