"""What to_dict() gives is what the command line prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any, List

import pytest

import probeidx
from conftest import RELEASES, Told


def dicts(answers: Any) -> List[Any]:
    return [answer.to_dict() for answer in answers]


SPECS = ["submit", "clamp_value", "*", "c*", "submit@core.c", 'kernel.function("*").call', 'kernel.function("*").inline']
SPECS += ['kernel.function("submit").return', 'kernel.statement("submit@*:*")', "submit:1", "*%return"]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("locals_", [False, True])
def test_resolve(index: probeidx.Index, told: Told, spec: str, locals_: bool) -> None:
    printed = told.json("resolve", spec, *(["--locals"] if locals_ else []))
    answers = index.resolve(spec, locals=locals_)
    assert dicts(answers) == printed
    assert len(printed) > 0
    # What a class shows is what it has.
    for place, line in zip(answers, printed):
        assert place.function == line["function"]
        assert hex(place.address) == line["address"]
        assert place.attach == line["attach"]
        assert place.takes("kprobe") == (line["attach"]["kprobe"] == "ok")
        assert [call.function for call in place.inlined_into] == [call["function"] for call in line["inlined_into"]]
        assert [(v.name, v.type, v.state) for v in place.vars] == [(v["name"], v["type"], v["state"]) for v in line["vars"]]
        assert place.coverage is not None and place.coverage.to_dict() == line["coverage"]
        assert (place.anchor and place.anchor.to_dict()) == line["anchor"]


def test_resolve_with_arguments(index: probeidx.Index, told: Told) -> None:
    answers = index.resolve("submit", "rq->users", "flags")
    assert dicts(answers) == told.json("resolve", "submit", "rq->users", "flags")
    assert answers[0].var("flags").readable
    assert answers[0].var("flags").fetch == [v for v in answers[0].to_dict()["vars"] if v["name"] == "flags"][0]["fetch"]
    with pytest.raises(KeyError):
        answers[0].var("nothing")


def test_find(index: probeidx.Index, told: Told) -> None:
    patterns = ["submit", "*", 'kernel.function("s*")']
    assert dicts(index.find(*patterns)) == told.json("find", "--each", *patterns)
    listed = told.run("--kernel", told.kernel, "--quiet", "find", "--args", *patterns).stdout.splitlines()
    assert index.listing(*patterns, args=True) == listed


def test_addr(index: probeidx.Index, told: Told) -> None:
    place = index.resolve("submit")[0]
    addresses = ["submit+0x2", hex(place.address), "nothing+1", "0x1"]
    answers = index.addr(*addresses)
    assert dicts(answers) == told.json("addr", *addresses)
    assert [bool(answer) for answer in answers] == [True, True, False, False]
    assert index.addr(place.address)[0].function == "submit"
    assert index.addr("submit+0x2")[0].chain[-1].function == "submit"


def test_decode(index: probeidx.Index, told: Told) -> None:
    size = index.addr("submit")[0].size
    log = f"[    1.0] Call Trace:\n[    1.0]  submit+0x2/{size:#x}\n[    1.0]  ? nothing+0x1/0x2\nthe end, 0xffff"
    decoded = index.decode(log)
    plain = told.run("--kernel", told.kernel, "--quiet", "decode", stdin=log).stdout
    assert decoded.text == str(decoded) == plain
    assert "core.c" in plain
    assert dicts(decoded.frames) == told.json("decode", stdin=log)
    assert decoded.frames[0].log_line == 2
    assert index.decode(log.encode()).text == plain
    # Of another build nothing is told.
    other = f"CPU: 0 PID: 1 Comm: x Not tainted {RELEASES[0]} #1 {'0' * 40}\n{log}"
    assert index.decode(other).text == told.run("--kernel", told.kernel, "-q", "decode", stdin=other).stdout


def test_type(index: probeidx.Index, told: Told) -> None:
    for name in ["struct request", "request"]:
        assert dicts(index.types(name)) == told.json("type", name)
    shown = index.type("struct request")
    assert shown["users"].to_dict() in shown.to_dict()["members"]
    assert [m.name for m in shown.members] == [m["name"] for m in shown.to_dict()["members"]]
    assert [index.member("struct request.users").to_dict()] == told.json("type", "struct request.users")
    assert dicts(index.users("struct request")) == told.json("type", "struct request", "--users")


def test_check(index: probeidx.Index, told: Told, db: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    script.write_text("kprobe:submit { print(arg1); }\nkprobe:nothing { exit(); }\n")
    checked = index.check(script)
    assert dicts(checked) == told.json("check", str(script))
    assert not checked.works and checked.findings
    store = probeidx.Store(db)
    assert dicts(store.check(script)) == told.json("check", str(script), kernel="*")
    script.write_text("kprobe:submit { print(arg1); }\n")
    assert index.check(script).works
    script = tmp_path / "script.stp"
    script.write_text('probe kernel.function("submit") {}\n')
    with pytest.raises(probeidx.Error) as raised:
        index.check(script)
    assert "without tapsets" in str(raised.value)


def test_diff_and_history(index: probeidx.Index, told: Told, db: Path) -> None:
    store = probeidx.Store(db)
    printed = told.json("diff", *RELEASES)
    differences = store.diff(*RELEASES)
    assert dicts(differences) + [differences.summary] == printed
    assert dicts(index.diff(store[RELEASES[1]])) == dicts(differences)
    for name in ["submit", "struct request", "request.users", "clamp_value"]:
        assert dicts(store.history(name)) == told.json("history", name, kernel="*"), name
    assert {fact.what for fact in store.history("submit")} >= {"prototype", "inlined"}


def test_store(db: Path) -> None:
    store = probeidx.Store(db)
    assert store.releases == sorted(RELEASES)
    assert len(store) == 2 and RELEASES[0] in store and "x" not in store
    assert [kernel.release for kernel in store] == RELEASES
    assert store[RELEASES[1]].release == RELEASES[1]
    with pytest.raises(probeidx.NotFound) as raised:
        store["x"]
    assert raised.value.suggestions == sorted(RELEASES)
    build_id = store[RELEASES[0]].build_id
    assert build_id is not None and store[build_id].release == RELEASES[0]


def test_a_store_of_the_fleet(db: Path, told: Told, tmp_path: Path) -> None:
    """A store is asked as a folder of indexes is, and its kernels have paths of their own."""
    folder = tmp_path / "store"
    own = Told(folder, RELEASES[0])
    added = own.run("fleet", "add", *(str(db / f"{release}.pidx") for release in RELEASES))
    assert added.returncode == 0, added.stderr
    store, plain = probeidx.Store(folder), probeidx.Store(db)
    assert store.releases == plain.releases
    for release in RELEASES:
        assert dicts(store[release].resolve("*")) == dicts(plain[release].resolve("*"))
        assert probeidx.Index(store[release].path) == store[release]
    assert dicts(store.history("submit")) == dicts(plain.history("submit"))
    assert dicts(store.diff(*RELEASES)) == dicts(plain.diff(*RELEASES))
    # It grows while a kernel is open.
    index = store[RELEASES[0]]
    removed = own.run("fleet", "remove", RELEASES[1])
    assert removed.returncode == 0, removed.stderr
    assert index.resolve("submit")[0].function == "submit"
    with pytest.raises(probeidx.NotFound):
        probeidx.Store(folder)[RELEASES[1]]


def test_build(tmp_path: Path, db: Path) -> None:
    import os

    vmlinux = os.environ["PROBEIDX_VMLINUX"].split(":")[0]
    seen: List[Any] = []
    [built] = probeidx.build(vmlinux, db=tmp_path, tapsets=False, progress=lambda done, of: seen.append((done, of)))
    assert built.kernel == RELEASES[0] and not built.unchanged and built.functions > 0
    assert built.path.read_bytes() == (db / built.path.name).read_bytes()
    assert seen[0][0] == 0 and seen[-1][0] == seen[-1][1] > 0
    assert probeidx.build(vmlinux, db=tmp_path, tapsets=False)[0].unchanged

    class Stop(Exception):
        pass

    def stop(done: int, of: int) -> None:
        raise Stop

    with pytest.raises(Stop):
        probeidx.build(vmlinux, db=tmp_path, tapsets=False, force=True, progress=stop)
    with pytest.raises(probeidx.Error) as raised:
        probeidx.build(tmp_path / "nothing", db=tmp_path)
    assert str(tmp_path / "nothing") in str(raised.value)


def test_program(told: Told) -> None:
    line = told.json("find", "submit")[0]["line"]
    listed = told.run("--kernel", told.kernel, "find", "submit").stdout
    assert listed == f'kernel.function("submit@./core.c:{line}")\n'
    assert told.run("--version").stdout.split() == ["probeidx", probeidx.__version__]
