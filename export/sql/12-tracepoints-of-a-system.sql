-- Which tracepoints has a system?
SET VARIABLE system = 'block';
SELECT DISTINCT kernel, name FROM tracepoints WHERE system = getvariable('system');
