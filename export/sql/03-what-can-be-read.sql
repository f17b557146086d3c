-- What of its parameters can be read, at each address, and how?
SET VARIABLE name = 'do_open';
SELECT a.kernel, p.symbol, p.symbol_offset, a.name, a.type, a.state, a.location, a.fetch_argument
FROM arguments a JOIN placements p USING (kernel, placement)
WHERE a."function" = getvariable('name') AND p."function" = getvariable('name');
