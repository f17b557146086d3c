-- Which mechanism takes a probe there, or why not?
SET VARIABLE name = 'blk_account_io_start';
SELECT kernel, symbol, symbol_offset, kprobe, kprobe_events, kretprobe, ftrace, trampoline, by_name
FROM placements WHERE "function" = getvariable('name');
