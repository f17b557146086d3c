-- The tables of an export as views. Start DuckDB in its folder: cd tables && duckdb -init PATH/views.sql
-- Values in paths stay texts, because v6.10 is no number.
CREATE OR REPLACE VIEW kernels AS SELECT * FROM read_parquet('kernels/*.parquet');
CREATE OR REPLACE VIEW functions AS SELECT * FROM read_parquet('functions/*/*/*.parquet', hive_partitioning = true, hive_types_autocast = false);
CREATE OR REPLACE VIEW placements AS SELECT * FROM read_parquet('placements/*/*/*.parquet', hive_partitioning = true, hive_types_autocast = false);
CREATE OR REPLACE VIEW arguments AS SELECT * FROM read_parquet('arguments/*/*/*.parquet', hive_partitioning = true, hive_types_autocast = false);
CREATE OR REPLACE VIEW members AS SELECT * FROM read_parquet('members/*/*/*.parquet', hive_partitioning = true, hive_types_autocast = false);
CREATE OR REPLACE VIEW tracepoints AS SELECT * FROM read_parquet('tracepoints/*/*/*.parquet', hive_partitioning = true, hive_types_autocast = false);
CREATE OR REPLACE VIEW calls AS SELECT * FROM read_parquet('calls/*/*/*.parquet', hive_partitioning = true, hive_types_autocast = false);
-- Those of changes are there if there are several kernels.
CREATE OR REPLACE VIEW functions_since AS SELECT * FROM read_parquet('functions_since/*.parquet');
CREATE OR REPLACE VIEW placements_since AS SELECT * FROM read_parquet('placements_since/*.parquet');
CREATE OR REPLACE VIEW members_since AS SELECT * FROM read_parquet('members_since/*.parquet');
CREATE OR REPLACE VIEW tracepoints_since AS SELECT * FROM read_parquet('tracepoints_since/*.parquet');
