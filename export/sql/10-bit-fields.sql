-- Which members of a struct are bit-fields, and which bits are they?
SET VARIABLE type_name = 'task_struct';
SELECT kernel, member, byte_offset, bit_first, bit_width
FROM members WHERE type_name = getvariable('type_name') AND type_kind = 'struct' AND bit_width IS NOT NULL;
