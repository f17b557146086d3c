-- In which files and objects are functions of one name with code of their own?
SET VARIABLE name = 's_next';
SELECT kernel, file, module FROM functions WHERE name = getvariable('name') AND entries > 0;
