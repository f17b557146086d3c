-- Which fields has the record of an event, and where?
SET VARIABLE name = 'sched_switch';
SELECT kernel, system, field.name, field.type, field.byte_offset, field.byte_size
FROM (SELECT kernel, system, unnest(fields) AS field FROM tracepoints WHERE name = getvariable('name'));
