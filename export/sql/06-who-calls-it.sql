-- Which functions call it directly?
SET VARIABLE name = 'vfs_read';
SELECT kernel, caller_module, caller, caller_file, kind, sum(sites + gone) AS sites
FROM calls WHERE callee = getvariable('name') AND kind <> 'inlined'
GROUP BY ALL;
