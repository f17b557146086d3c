"""The stubs are what the module has, and whoever uses them is checked strictly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest

import probeidx

pytest.importorskip("mypy")
PACKAGE = Path(probeidx.__file__).parent
HERE = Path(os.environ.get("PROBEIDX_PYTHON", Path(__file__).parents[2]))


def run(words: List[str], tmp_path: Path) -> None:
    environment = dict(os.environ, MYPYPATH=str(PACKAGE.parent))
    command = [sys.executable, "-m", *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_stubs(tmp_path: Path) -> None:
    run(["mypy", "--strict", "-p", "probeidx"], tmp_path)
    run(["mypy.stubtest", "probeidx", "--concise"], tmp_path)


def test_examples_and_tests(tmp_path: Path) -> None:
    examples = [str(path) for path in (HERE / "examples").glob("*.py")]
    assert examples
    run(["mypy", "--strict", "--ignore-missing-imports", *examples], tmp_path)
    tests = [str(path) for path in (HERE / "tests/python").glob("*.py")]
    run(["mypy", "--strict", "--ignore-missing-imports", *tests], tmp_path)


def test_everything_is_documented() -> None:
    for name in probeidx.__all__:
        one = getattr(probeidx, name)
        if name.startswith("_"):
            continue
        assert one.__doc__, name
        for field in vars(one) if isinstance(one, type) else ():
            if not field.startswith("_") and not issubclass(one, Exception):
                assert getattr(one, field).__doc__, f"{name}.{field}"
