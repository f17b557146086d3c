"""The examples do what they say, as far as that needs no running kernel."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import probeidx
from conftest import RELEASES

HERE = Path(os.environ.get("PROBEIDX_PYTHON", Path(__file__).parents[2]))
sys.path.insert(0, str(HERE / "examples"))

# What bcc's own headers declare, for a compiler without them.
BCC = """
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32; typedef unsigned long u64;
struct pt_regs { u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di; u64 regs[31]; };
#define BPF_HASH(name, key) struct { void (*increment)(key); } name
int bpf_probe_read_kernel(void *to, unsigned size, const void *from);
"""


@pytest.mark.parametrize("argument", ["rq->users", "flags"])
def test_every_copy_with_bcc(index: probeidx.Index, argument: str) -> None:
    import every_copy_with_bcc as example

    places = index.resolve("submit", argument)
    text, attached = example.program(places, argument)
    assert sum(len(at) for at in attached.values()) == len(places)
    assert ("bpf_probe_read_kernel" in text) == ("->" in argument) and "counted(value, 1)" in text
    plain = BCC + text.replace("#include <uapi/linux/ptrace.h>\n", "")
    command = ["gcc", "-std=gnu11", "-Wall", "-Werror", "-Wno-unused-function", "-Wno-int-to-pointer-cast", "-fsyntax-only", "-x", "c", "-"]
    ran = subprocess.run(command, input=plain, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, plain + ran.stderr
    command = [sys.executable, str(HERE / "examples/every_copy_with_bcc.py"), "submit", argument, "--print"]
    command += ["--index", str(index.path.parent), "--kernel", RELEASES[0]]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and text in ran.stdout, ran.stderr
    anchors = [place.anchor.text for place in places if place.anchor]
    assert all(anchor in ran.stdout for anchor in anchors)


def test_beside_drgn(index: probeidx.Index) -> None:
    """With a program that has the interface of drgn's, of a kernel that was moved when it started."""
    import beside_drgn as example

    moved = 0x1200000
    text = index.addr("_text")[0].address
    assert text is not None
    inlined = next(place for place in index.resolve("clamp_value") if place.instance == "inline")
    frames = [SimpleNamespace(pc=inlined.address + moved, name="outer")]
    threads = [SimpleNamespace(tid=7, stack_trace=lambda: frames), SimpleNamespace(tid=8, stack_trace=raises)]
    program = SimpleNamespace(
        symbol=lambda name: SimpleNamespace(address=text + moved), threads=lambda: threads
    )
    assert example.slide(program, index) == moved
    found = list(example.within(program, index, "clamp_value"))
    assert [(thread.tid, frame.name, level.function) for thread, frame, level in found] == [(7, "outer", "clamp_value")]
    copies = example.copies(index, "clamp_value", "value")
    assert set(copies) == {place.address for place in index.resolve("clamp_value")}


def raises() -> Any:
    raise ValueError("the thread runs")
