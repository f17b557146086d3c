"""On real kernels the module says what the command line says, and places what drgn places."""

from __future__ import annotations

import importlib.util
import os
import random
from pathlib import Path
from typing import Any, List

import pytest

import probeidx
from conftest import KERNELS, Real

SEED = int(os.environ.get("PROBEIDX_SEED", "26"))


def dicts(answers: Any) -> List[Any]:
    return [answer.to_dict() for answer in answers]


def test_answers(real: Real) -> None:
    index = real.index
    names = sorted({place.function for place in index.resolve("*a")})
    dice = random.Random(SEED)
    specs = ["vfs_read", "do_open", "vfs_*", "kfree%return", "@fs/read_write.c:*", 'module("*").function("do_o*")']
    specs += dice.sample(names, 40)
    for spec in specs:
        assert dicts(index.resolve(spec)) == real.json("resolve", spec), f"{spec}, PROBEIDX_SEED={SEED}"
    assert dicts(index.resolve("vfs_read", "file->f_mode", "count")) == real.json(
        "resolve", "vfs_read", "file->f_mode", "count"
    )
    assert dicts(index.tracepoints()) == real.json("resolve", 'kernel.trace("*")')
    switch = index.tracepoints("sched:sched_switch")[0]
    assert switch.system == "sched" and switch.fields and switch.takes("tracepoint")
    for name in ["struct task_struct", "struct file", "gfp_t", "enum pid_type"]:
        assert dicts(index.types(name)) == real.json("type", name)
    inlined = index.resolve("do_open")[0]
    assert inlined.instance == "inline" and inlined.inlined_into[-1].function == "path_openat"
    addresses = [f"{place.symbol}+{(place.offset or 0) + 1:#x}" for place in index.resolve("vfs_r*") if place.module is None]
    assert dicts(index.addr(*addresses)) == real.json("addr", *addresses)


def test_lists(real: Real) -> None:
    index = real.index
    for spec in ["vfs_read", "do_open", "fs/read_write.c:440-480"]:
        assert dicts(index.lines(spec)) == real.json("lines", spec)
    assert len(index.lines("@fs/namei.c")) > 1000
    for spec in ["vfs_read", "do_open", "kfree", "tcp_*"]:
        assert dicts(index.callers(spec)) == real.json("callers", spec)
    refused = index.blacklist()
    assert dicts(refused) == real.json("blacklist") and len(refused) > 100
    assert dicts(index.blacklist(all=True)) == real.json("blacklist", "--all")
    offers = index.bpf()
    assert dicts(offers) == real.json("bpf") and {offer.kind for offer in offers} >= {"helper", "iter", "map"}
    assert dicts(index.bpf("map", "*hash*")) == real.json("bpf", "map", "*hash*")


def test_a_log(real: Real) -> None:
    dice = random.Random(SEED)
    places = [place for place in real.index.resolve("vfs_*") if place.symbol_unique and place.module is None]
    lines = ["Call Trace:"]
    for place in dice.sample(places, 40):
        [at] = real.index.addr(place.address)
        lines.append(f" {at.symbol}+{dice.randrange(at.size or 1):#x}/{at.size:#x}")
    log = "\n".join(lines) + "\n"
    decoded = real.index.decode(log)
    assert dicts(decoded.frames) == real.json("decode", stdin=log) and len(decoded.frames) >= 40


def test_wildcards(real: Real) -> None:
    """All placements, a page at a time: the table has as many, and a walk meets those that positions give."""
    pyarrow = pytest.importorskip("pyarrow")
    everything = real.index.resolve("*")
    table = pyarrow.table(real.index.placements())
    assert len(everything) == table.num_rows > 100_000
    dice = random.Random(SEED)
    symbols, addresses = table["symbol"], table["address"]
    for at in [0, -1, *(dice.randrange(len(everything)) for _ in range(50))]:
        place = everything[at]
        assert (place.symbol, place.address) == (symbols[at].as_py(), addresses[at].as_py()), f"PROBEIDX_SEED={SEED}"
    span = everything[1000:1010]
    assert [place.address for place in span] == addresses[1000:1010].to_pylist()


def test_history(db: Path) -> None:
    store = probeidx.Store(db)
    facts = store.history("vfs_read").of("prototype")
    assert sorted(kernel for fact in facts for kernel in fact.kernels) == sorted(release for _, release in KERNELS)


def test_beside_drgn(real: Real) -> None:
    """drgn reads the debug information itself: types are laid out the same, and its lack of inlined copies is filled."""
    drgn: Any = pytest.importorskip("drgn")
    name = f"usr/lib/debug/boot/vmlinux-{real.release}"
    other = f"usr/lib/debug/lib/modules/{real.release}/vmlinux"
    [vmlinux] = [path for path in (Path(real.root) / name, Path(real.root) / other) if path.is_file()][:1]
    architecture = drgn.Architecture.X86_64 if real.index.architecture == "x86_64" else drgn.Architecture.AARCH64
    program = drgn.Program(drgn.Platform(architecture))
    program.extra_module("vmlinux", create=True).try_file(str(vmlinux), force=True)
    compared = 0
    for struct in ["file", "inode", "task_struct", "sk_buff", "page", "request", "mm_struct"]:
        own = {m.name: m for m in real.index.type(f"struct {struct}").members if m.name is not None}
        for member in program.type(f"struct {struct}").members:
            if member.name is None:
                continue
            mine, bits = own[member.name], member.bit_field_size
            # The first bit of a bit-field counts from that of the byte at its offset.
            assert mine.offset * 8 + (mine.bit_offset or 0) == member.bit_offset, (struct, member.name)
            assert mine.bit_size == bits, (struct, member.name)
            compared += 1
    assert compared > 200
    path = Path(os.environ["PROBEIDX_PYTHON"]) / "examples/beside_drgn.py"
    spec = importlib.util.spec_from_file_location("beside_drgn", path)
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    copies = example.copies(real.index, "do_open", "op")
    assert copies and all(register for _, register in copies.values())
