"""The kernels that are asked. tests/suite/main.rs says where they are; tests/kernel/main.rs names indexes of real ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

import pytest

import probeidx


class Told:
    """The command line, on a folder of indexes."""

    def __init__(self, db: Path, kernel: str) -> None:
        self.db = db
        self.kernel = kernel

    def run(self, *words: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "probeidx", "--db", str(self.db), *words]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)

    def json(self, *words: str, stdin: str = "", kernel: str = "") -> List[Dict[str, Any]]:
        ran = self.run("--json", "--quiet", "--kernel", kernel or self.kernel, *words, stdin=stdin)
        assert ran.returncode in (0, 1), ran.stderr
        return [json.loads(line) for line in ran.stdout.splitlines()]

    def error(self, *words: str) -> str:
        """What the command line says: a line, without the name of the program."""
        ran = self.run("--kernel", self.kernel, *words)
        assert ran.returncode != 0 and ran.stdout == "", ran
        lines = ran.stderr.splitlines()
        assert len(lines) == 1, ran.stderr
        return lines[0].removeprefix("probeidx: ").removeprefix("error: ")


RELEASES = ["6.1.0-test", "6.12.9+x-other"]


@pytest.fixture(scope="session")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the indexes of both small kernels, which the module itself has built."""
    folder = tmp_path_factory.mktemp("db")
    for vmlinux in os.environ["PROBEIDX_VMLINUX"].split(":"):
        probeidx.build(vmlinux, db=folder, tapsets=False)
    return folder


@pytest.fixture(scope="session")
def index(db: Path) -> probeidx.Index:
    return probeidx.Index(db, kernel=RELEASES[0])


@pytest.fixture(scope="session")
def told(db: Path) -> Told:
    return Told(db, RELEASES[0])
