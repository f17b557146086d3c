"""The program under test, for the scripts beside this file."""
import json
import subprocess
import sys


def asker(program, db):
    """Gives a function that asks for all kernels of `db`, and gives the lines of JSON that the program prints."""

    def ask(*words):
        command = [program, "--db", db, "--kernel", "*", "--json", *words]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode not in (0, 1):
            sys.exit(f"{command}: {ran.stderr}")
        return [json.loads(line) for line in ran.stdout.splitlines()]

    return ask
