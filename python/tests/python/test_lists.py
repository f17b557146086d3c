"""Lines, callers, and what a kernel refuses, offers and defines: as the command line prints it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, List

import pytest

import probeidx
from conftest import RELEASES, Told


def dicts(answers: Any) -> List[Any]:
    return [answer.to_dict() for answer in answers]


@pytest.mark.parametrize("spec", ["submit", "@core.c", "core.c:1-40", "@*.c", "s*", "@entry.S"])
def test_lines(index: probeidx.Index, told: Told, spec: str) -> None:
    printed = told.json("lines", spec)
    answers = index.lines(spec)
    assert dicts(answers) == printed and answers and len(answers) == len(printed) > 1
    assert dicts(answers[at] for at in range(len(answers))) == printed
    for place, line in zip(answers, printed):
        assert place.source is not None and place.source.to_dict() == line["source"] and place.best == line["best"]
    assert any(place.best for place in answers)


@pytest.mark.parametrize("spec", ["lookup", "consume", "clamp_value", "*", "submit@core.c", 'kernel.function("log_event")'])
def test_callers(index: probeidx.Index, told: Told, spec: str) -> None:
    printed = told.json("callers", spec)
    answers = index.callers(spec)
    assert dicts(answers) == printed and answers.has_calls
    for caller, line in zip(answers, printed):
        assert (caller.function, caller.caller, caller.kind) == (line["function"], line["caller"], line["kind"])
        assert [(hex(site.address), site.line) for site in caller.sites] == [(s["address"], s["line"]) for s in line["sites"]]
        assert dicts(caller.sites) == line["sites"]
    if spec == "*":
        assert {caller.kind for caller in answers} >= {"call", "inlined"}
        assert "<td>inlined</td>" in answers._repr_html_()


@pytest.mark.parametrize("words", [["lines", "submitt"], ["lines", "submit+4"], ["callers", "submitt"], ["callers", "core.c:40"]])
def test_words(index: probeidx.Index, told: Told, words: List[str]) -> None:
    with pytest.raises(probeidx.Error) as raised:
        getattr(index, words[0])(words[1])
    assert str(raised.value) == told.error(*words)


def test_blacklist(index: probeidx.Index, told: Told) -> None:
    with pytest.raises(probeidx.NotFound) as raised:
        index.blacklist("nothing")
    assert str(raised.value) == told.error("blacklist", "nothing")
    with pytest.raises(probeidx.Error) as raised_too:
        index.blacklist("nothing", all=True)
    assert raised_too.value.kind == "usage"


def test_bpf(index: probeidx.Index, told: Told) -> None:
    with pytest.raises(probeidx.NotFound) as raised:
        index.bpf("map", "nothing")
    assert str(raised.value) == told.error("bpf", "map", "nothing")
    with pytest.raises(probeidx.Error) as raised_too:
        index.bpf("nothing")
    assert raised_too.value.kind == "usage" and "struct_ops" in str(raised_too.value)


def test_tapset(tmp_path: Path) -> None:
    tapset = tmp_path / "tapset"
    tapset.mkdir()
    text = "/**\n * probe own.submit - a request\n */\nprobe own.submit = kernel.function(\"submit\") { own_flags = $flags }\n"
    text += "probe _own.hidden = own.submit {}\nfunction own_twice:long(x:long) { return x * 2 }\n"
    (tapset / "own.stp").write_text(text)
    (tapset / "own.stpm").write_text("@define own_one %( 1 %)\n")
    vmlinux = os.environ["PROBEIDX_VMLINUX"].split(":")[0]
    own = Told(tmp_path / "db", RELEASES[0])
    assert own.run("build", vmlinux, "--tapset", str(tapset)).returncode == 0
    index = probeidx.Index(own.db)
    for patterns, what, option in [
        ([], "aliases", []),
        (["own.*"], "aliases", []),
        (["own.submit", "_own.hidden"], "aliases", []),
        ([], "functions", ["--functions"]),
        (["own_*"], "functions", ["--functions"]),
        (["own_one"], "macros", ["--macros"]),
    ]:
        answers = index.tapset(*patterns, what=what)
        assert dicts(answers) == own.json("tapset", *patterns, *option) and answers, (patterns, what)
        assert all(Path(answer.file).stem == "own" and answer.line > 0 for answer in answers)
    assert dicts(index.tapset(all=True)) == own.json("tapset", "--all")
    [alias] = index.tapset("own.submit")
    assert alias.names == ["own.submit"] and alias.comment and "here" in alias.to_dict()
    assert [one.names for one in index.tapset("own_one", what="macros")] == [["own_one"]]
    with pytest.raises(probeidx.NotFound) as raised:
        index.tapset("own.submitt")
    assert str(raised.value) == own.error("tapset", "own.submitt") and "own.submit" in raised.value.suggestions
    with pytest.raises(probeidx.Error) as raised_too:
        index.tapset(what="nothing")
    assert raised_too.value.kind == "usage"
