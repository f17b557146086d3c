"""Reads tables that `probeidx export --arrow` writes to a pipe with pyarrow, DuckDB and Polars, and the same ones as files.

streams.py PROBEIDX DB TABLES
"""
import os
import subprocess
import sys

import duckdb
import polars
import pyarrow.ipc

PROBEIDX, DB, TABLES = map(os.path.abspath, sys.argv[1:4])


def pipe(table):
    """A stream of a table of all kernels, which is read while it is written."""
    command = [PROBEIDX, "--db", DB, "--kernel", "*", "export", "--arrow", table]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def ended(program):
    """The program has nothing more to say, and did not fail."""
    if program.wait() != 0:
        sys.exit(f"probeidx ended with {program.returncode}")



for table, name in [("functions", "name"), ("tracepoints", "name"), ("kernels", "kernel")]:
    files = duckdb.sql(f"SELECT * FROM read_parquet('{TABLES}/{table}/**/*.parquet', hive_partitioning = false)")
    columns = ", ".join(f"sum(hash({column}))" for column in files.columns)
    wanted = duckdb.sql(f"SELECT count(*), {columns} FROM files").fetchall()

    program = pipe(table)
    # DuckDB takes the batches of the stream one after another.
    batches = pyarrow.ipc.open_stream(program.stdout)
    found = duckdb.sql(f"SELECT count(*), {columns} FROM batches").fetchall()
    ended(program)
    if found != wanted:
        sys.exit(f"{table}: DuckDB reads {found} from the stream, {wanted} from files")

    program = pipe(table)
    frame = polars.read_ipc_stream(program.stdout)
    ended(program)
    program = pipe(table)
    whole = pyarrow.ipc.open_stream(program.stdout).read_all()
    ended(program)
    names = sorted(row[0] for row in duckdb.sql(f"SELECT {name} FROM files").fetchall())
    if sorted(frame[name].to_list()) != names or sorted(whole[name].to_pylist()) != names:
        sys.exit(f"{table}: Polars has {len(frame)} rows, pyarrow {len(whole)}, the files {len(names)}")
    print(f"{table}: {len(names)} rows by pyarrow, DuckDB and Polars")

# Who reads no further stops the program.
program = pipe("functions")
program.stdout.read(10)
program.stdout.close()
if program.wait(60) != 0:
    sys.exit(f"a closed pipe ended the program with {program.returncode}")
