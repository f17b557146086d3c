"""Indexes of real kernels, which the module itself builds: tests/kernel/main.rs names the kernels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

import probeidx

KERNELS: List[Tuple[str, str]] = [
    (root, release) for root, release in (line.split("\t") for line in os.environ["PROBEIDX_ROOTS"].splitlines())
]


@pytest.fixture(scope="session")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("db")
    for root, release in KERNELS:
        [built] = probeidx.build(release, sysroot=root, db=folder, tapsets=False)
        assert built.kernel == release and built.placements > 100_000 and built.objects > 100
    return folder


class Real:
    """A kernel, and the command line on it."""

    def __init__(self, db: Path, root: str, release: str) -> None:
        self.root = root
        self.release = release
        self.db = db
        self.index = probeidx.Index(db, kernel=release)

    def json(self, *words: str, stdin: str = "") -> List[Dict[str, Any]]:
        command = [sys.executable, "-m", "probeidx", "--db", str(self.db), "--kernel", self.release, "--json", "-q", *words]
        ran = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
        assert ran.returncode in (0, 1), ran.stderr
        return [json.loads(line) for line in ran.stdout.splitlines()]


@pytest.fixture(scope="session", params=KERNELS, ids=[release for _, release in KERNELS])
def real(request: pytest.FixtureRequest, db: Path) -> Real:
    root, release = request.param
    return Real(db, root, release)
