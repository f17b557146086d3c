"""A capture of a running kernel: made of files as proc and sys have them, and laid over the index of that kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any, List

import pytest

import probeidx
from conftest import RELEASES, Told

SLIDE = 0x12000000
TEXT = 0xFFFFFFFF81000000 + SLIDE


def dicts(answers: Any) -> List[Any]:
    return [answer.to_dict() for answer in answers]


class Machine:
    """Below a folder, what a kernel that runs says of itself."""

    def __init__(self, root: Path, release: str = RELEASES[0]) -> None:
        self.root = root
        self.file("proc/sys/kernel/osrelease", release + "\n")
        self.file("proc/kallsyms", f"{TEXT:016x} T _text\n{TEXT:016x} T _stext\nffffffffc0000000 t submit\t[stranger]\n")
        self.file("proc/modules", "stranger 16384 0 - Live 0xffffffffc0000000\n")

    def file(self, path: str, text: str) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def capture(self, db: Path) -> probeidx.Live:
        return probeidx.capture(self.root / "kernel.live", db=db / f"{RELEASES[0]}.pidx", root=self.root)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, db: Path) -> probeidx.Live:
    return Machine(tmp_path_factory.mktemp("machine")).capture(db)


def test_capture(live: probeidx.Live, told: Told) -> None:
    words = ["capture", str(live.path), "--root", str(live.path.parent)]
    printed = Told(told.db / f"{RELEASES[0]}.pidx", told.kernel).json(*words)
    assert [live.to_dict()] == printed
    assert (live.kernel, live.modules, live.symbols, live.build_id) == (RELEASES[0], ["stranger"], 1, None)
    assert {"build-id", "refused", "traced"} <= {what for what, _ in live.missing}
    assert live.size == live.path.stat().st_size
    again = probeidx.Live(live.path)
    assert again == live and hash(again) == hash(live) and again.to_dict() == live.to_dict()


@pytest.mark.parametrize("spec", ["submit", "*", "clamp_value", 'kernel.function("submit").return'])
def test_resolve(index: probeidx.Index, told: Told, live: probeidx.Live, spec: str) -> None:
    answers = index.resolve(spec, live=live)
    assert dicts(answers) == told.json("resolve", spec, "--live", str(live.path))
    plain = index.resolve(spec)
    assert [place.runtime_address for place in answers] == [place.address + SLIDE for place in plain]
    assert all(place.loaded for place in answers) and {place.loaded for place in plain} == {None}


def test_names(index: probeidx.Index, live: probeidx.Live) -> None:
    assert index.resolve("submit")[0].symbol_unique
    [place] = index.resolve("submit", live=live)
    assert not place.symbol_unique and place.collides_with == ["stranger"]


def test_addresses(index: probeidx.Index, told: Told, live: probeidx.Live) -> None:
    running = f"{index.resolve('submit')[0].address + SLIDE + 2:#x}"
    kallsyms = live.path.parent / "proc/kallsyms"
    expected = told.json("addr", running, "--live", str(live.path))
    assert dicts(index.addr(running, live=live)) == expected == dicts(index.addr(running, kallsyms=kallsyms))
    assert expected == dicts(index.addr(running, base=TEXT)) and expected[0]["function"] == "submit"
    assert not index.addr(running)[0]
    log = f"swapper 0 [000] 1.0: cycles:\n\t{running[2:]} [unknown] ([kernel.kallsyms])\n\n"
    for decoded, option in [
        (index.decode(log, live=live), ["--live", str(live.path)]),
        (index.decode(log, kallsyms=kallsyms), ["--kallsyms", str(kallsyms)]),
    ]:
        assert dicts(decoded.frames) == told.json("decode", *option, stdin=log)
        assert "core.c" in decoded.text
    with pytest.raises(probeidx.Error) as raised:
        index.addr(running, base=TEXT, live=live)
    assert raised.value.kind == "usage"


def test_another_kernel(index: probeidx.Index, told: Told, live: probeidx.Live, db: Path, tmp_path: Path) -> None:
    other = Machine(tmp_path, "6.12.0-new").capture(db)
    for ask in (lambda: index.resolve("submit", live=other), lambda: index.addr(0, live=other)):
        with pytest.raises(probeidx.Error) as raised:
            ask()
        assert raised.value.kind == "mismatch" and raised.value.path == str(other.path)
        assert str(raised.value) == told.error("resolve", "submit", "--live", str(other.path))
    # What it changes is kept for one index at a time.
    for _ in range(3):
        assert index.resolve("submit", live=live)[0].loaded
        with pytest.raises(probeidx.Error):
            probeidx.Index(db, kernel=RELEASES[1]).resolve("submit", live=live)


def test_what_is_no_capture(told: Told, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.live"
    for kind in ["io", "damaged"]:
        with pytest.raises(probeidx.Error) as raised:
            probeidx.Live(nothing)
        assert raised.value.kind == kind
        assert str(raised.value) == told.error("resolve", "submit", "--live", str(nothing))
        nothing.write_text("nothing")
    with pytest.raises(probeidx.Error) as raised:
        probeidx.capture(tmp_path / "live", root=tmp_path)
    assert raised.value.kind == "io" and str(tmp_path) in str(raised.value)
