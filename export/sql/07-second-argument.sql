-- Type of the second parameter at the entry, where the convention passes it, and whether it is there.
SET VARIABLE name = 'vfs_read';
SELECT kernel, name, type, passed_in, passed_proof, location
FROM arguments WHERE "function" = getvariable('name') AND parameter_number = 2 AND passed_in IS NOT NULL;
