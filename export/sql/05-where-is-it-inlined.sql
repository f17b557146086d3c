-- Into which functions is it inlined, and how often?
SET VARIABLE name = 'fdget';
SELECT kernel, caller_module, caller, caller_file, sum(sites + gone) AS sites
FROM calls WHERE callee = getvariable('name') AND kind = 'inlined'
GROUP BY ALL;
