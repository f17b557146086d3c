-- Where does a function run, the inlined copies too, and what is each address to the kernel?
SET VARIABLE name = 'do_open';
SELECT kernel, module, file, instance, section, printf('0x%x', address) AS address, symbol, symbol_offset,
       anchor_symbol, anchor_offset, inlined_into
FROM placements WHERE "function" = getvariable('name');
