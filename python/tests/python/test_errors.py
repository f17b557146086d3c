"""Whatever is asked: an answer, or an exception of one line in the words of the command line."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import string
from pathlib import Path
from typing import Any, Callable, List, Tuple

import pytest

import probeidx
from conftest import RELEASES, Told


@pytest.mark.parametrize(
    "words",
    [
        ["resolve", "submitt"],
        ["resolve", "a@b@c:"],
        ["resolve", 'kernel.function("submit'],
        ["resolve", "submit+0x100000"],
        ["resolve", "nothing*at*all"],
        ["resolve", "submit", "nothing"],
        ["resolve", "submit", "rq->"],
        ["type", "struct nothing"],
        ["addr", "+++"],
    ],
)
def test_words(index: probeidx.Index, told: Told, words: List[str]) -> None:
    ask = getattr(index, words[0])
    with pytest.raises(probeidx.Error) as raised:
        ask(*words[1:])
    assert str(raised.value) == told.error(*words)


def test_not_found(index: probeidx.Index) -> None:
    with pytest.raises(LookupError) as raised:
        index.resolve("submitt")
    error = raised.value
    assert isinstance(error, probeidx.NotFound) and error.kind == "no-match"
    assert error.suggestions[0] == "submit"
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.kind, again.suggestions) == (str(error), error.kind, error.suggestions)
    with pytest.raises(probeidx.NotFound):
        index.tracepoints("nothing")
    with pytest.raises(probeidx.Error) as usage:
        index.tracepoints('x")')
    assert usage.value.kind == "usage" and usage.value.remedy


def test_what_is_no_index(tmp_path: Path) -> None:
    makers: List[Tuple[Callable[[Path], Any], str]] = [
        (lambda path: path.write_bytes(b"x" * 10000), "index-damaged"),
        (lambda path: path.write_bytes(b""), "index-damaged"),
        (lambda path: path.mkdir(), "no-index"),
        (lambda path: None, "no-index"),
    ]
    for make, kind in makers:
        path = tmp_path / kind / f"{len(os.listdir(tmp_path))}.pidx"
        path.parent.mkdir(exist_ok=True)
        make(path)
        with pytest.raises(probeidx.Error) as raised:
            probeidx.Index(path)
        error = raised.value
        assert error.kind == kind and error.path == str(path) and error.remedy
        assert str(path) in str(error) and error.remedy in str(error) and "\n" not in str(error)
    with pytest.raises(probeidx.Error):
        probeidx.Store(tmp_path / "absent")


def test_several_kernels(db: Path) -> None:
    with pytest.raises(probeidx.Error) as raised:
        probeidx.open(db)
    assert all(release in str(raised.value) for release in RELEASES)
    with pytest.raises(probeidx.Error) as raised:
        probeidx.open(db, kernel="*")
    assert raised.value.kind == "usage"
    assert probeidx.open(db, kernel=RELEASES[1]).release == RELEASES[1]


def test_default_place(db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only = tmp_path / "only"
    only.mkdir()
    shutil.copy(db / f"{RELEASES[0]}.pidx", only)
    monkeypatch.setenv("PROBEIDX_DB", str(only))
    assert probeidx.open().release == RELEASES[0] == probeidx.Index().release
    assert len(probeidx.Store()) == 1
    with pytest.raises(probeidx.Error) as raised:
        probeidx.Index.running()
    assert os.uname().release in str(raised.value)


def test_a_file_that_changes(db: Path, tmp_path: Path) -> None:
    path = tmp_path / "own.pidx"
    shutil.copy(db / f"{RELEASES[0]}.pidx", path)
    index = probeidx.Index(path)
    pages = index.resolve("*")
    place = index.resolve("submit")[0]
    # Replaced: whoever has it open keeps it.
    shutil.copy(db / f"{RELEASES[1]}.pidx", tmp_path / "other")
    os.rename(tmp_path / "other", path)
    assert index.resolve("submit")[0] == place
    assert probeidx.Index(path).release == RELEASES[1]
    # Cut off in place: to read what is gone would end the process.
    index = probeidx.Index(path)
    pages = index.resolve("*")
    place = next(iter(pages))
    with open(path, "r+b") as file:
        file.truncate(5000)
    for ask in (lambda: index.resolve("submit"), lambda: pages[-1], lambda: index.addr(0), lambda: index.type("x"), index.verify):
        with pytest.raises(probeidx.Error) as raised:
            ask()
        assert raised.value.kind == "changed" and raised.value.path == str(path)
    assert place.function and place.to_dict()


def test_damaged_indexes(db: Path, tmp_path: Path) -> None:
    """Some bytes of an index are others: each question has an answer or an exception."""
    whole = (db / f"{RELEASES[0]}.pidx").read_bytes()
    dice = random.Random(26)
    failed = 0
    for number in range(60):
        bytes_ = bytearray(whole)
        for _ in range(dice.choice([1, 10, 1000])):
            bytes_[dice.randrange(len(bytes_))] = dice.randrange(256)
        path = tmp_path / f"{number}.pidx"
        path.write_bytes(bytes_)
        try:
            index = probeidx.Index(path)
        except probeidx.Error as error:
            assert "\n" not in str(error)
            failed += 1
            continue
        for ask in questions(index):
            try:
                ask()
            except probeidx.Error as error:
                assert error.kind != "internal" and "\n" not in str(error), error
    assert failed < 60


def questions(index: probeidx.Index) -> List[Callable[[], Any]]:
    return [
        lambda: [place.to_dict() for place in index.resolve("*", locals=True)],
        lambda: index.addr("submit", 0xFFFFFFFF81000010),
        lambda: index.type("struct request"),
        lambda: index.users("struct request"),
        lambda: index.listing("*"),
        lambda: [place.to_dict() for place in index.lines("@*")],
        lambda: [caller.to_dict() for caller in index.callers("*")],
        lambda: index.blacklist(all=True),
        index.bpf,
        lambda: index.diff(index),
        index.verify,
    ]


def test_any_words(index: probeidx.Index) -> None:
    dice = random.Random(4)
    pieces = ["submit", "clamp_value", "*", "@", ":", "+", "kernel", ".", "function", '("', '")', "core.c", "->", "[0]", "%return"]
    pieces += ["\0", "\n", "\ud800", "é", "\u202e", "{", "9" * 30]
    for _ in range(2000):
        word = "".join(dice.choice(pieces + list(string.printable)) for _ in range(dice.randrange(1, 7)))
        asks: List[Callable[[str], Any]] = [index.resolve, index.addr, index.type, index.member, index.decode, index.tracepoints]
        asks += [index.table, index.lines, index.callers, index.blacklist, index.bpf, index.tapset]
        for ask in asks:
            try:
                ask(word)
            except probeidx.Error as error:
                assert error.kind != "internal" and "\n" not in str(error), (word, error)
            except UnicodeEncodeError:
                assert "\ud800" in word


def test_wrong_arguments(index: probeidx.Index, tmp_path: Path) -> None:
    ask: Any = index
    for wrong in [lambda: ask.resolve(), lambda: ask.resolve(1), lambda: ask.addr(None), lambda: ask.addr(-1), lambda: ask.decode(1)]:
        with pytest.raises((TypeError, OverflowError)):
            wrong()  # type: ignore[no-untyped-call]
    with pytest.raises(probeidx.Error) as raised:
        index.resolve("submit", *["flags"] * 1000)
    assert raised.value.kind == "usage"
    with pytest.raises(probeidx.Error) as raised:
        index.check(tmp_path / "nothing.stp")
    assert raised.value.kind == "io" and str(tmp_path) in str(raised.value)
    for none in (lambda: index.check(), lambda: index.check("-")):
        with pytest.raises(probeidx.Error):
            none()  # type: ignore[no-untyped-call]
