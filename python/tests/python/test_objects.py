"""Sequences are sequences, values are values."""

from __future__ import annotations

import collections.abc
import copy
from typing import Any

import pytest

import probeidx


@pytest.mark.parametrize("spec", ["*", "s*", "submit", "clamp_value"])
def test_sequences(index: probeidx.Index, spec: str) -> None:
    found = index.resolve(spec)
    all_ = list(found)
    assert isinstance(found, collections.abc.Sequence)
    assert found and len(found) == len(all_) == found.count(found[0]) + sum(p != found[0] for p in all_)
    assert [found[at] for at in range(len(found))] == all_
    assert [found[-at - 1] for at in range(len(found))] == all_[::-1] == list(reversed(found))
    for span in [slice(1, 3), slice(None, None, -1), slice(-2, None), slice(5, 1), slice(0, 10**9, 2)]:
        assert found[span] == all_[span]
    for outside in [len(found), -len(found) - 1, 2**62]:
        with pytest.raises(IndexError):
            found[outside]
    with pytest.raises(TypeError):
        found["0"]  # type: ignore[call-overload]
    assert all_[-1] in found and found.index(all_[0]) == 0
    assert len(set(all_)) == len(all_)
    # Two walks do not disturb each other.
    one, other = iter(found), iter(found)
    assert next(one) == next(other) == all_[0]


def test_equality(index: probeidx.Index) -> None:
    one, other = index.resolve("submit")[0], index.resolve("s*")
    same = [place for place in other if place == one]
    assert len(same) == 1 and hash(same[0]) == hash(one) and one != 1 and one != index.resolve("clamp_value")[0]
    assert one.vars == same[0].vars and {one.anchor: 1}[same[0].anchor] == 1
    assert index.type("struct request") == index.type("struct request")
    assert index == probeidx.Index(index.path) and hash(index) == hash(probeidx.Index(index.path))
    # An answer does not need the index.
    place = probeidx.Index(index.path).resolve("submit")[0]
    assert place == one


def test_what_is_shown(index: probeidx.Index) -> None:
    place = index.resolve("submit")[0]
    assert repr(place) == "<Placement submit out-of-line at submit+0x0, kprobe ok>"
    assert repr(index.resolve("submit")) == "<Placements of submit: 1 placement>"
    assert repr(index).startswith("<Index 6.1.0-test ")
    assert repr(index.type("struct request")).startswith("<Type struct request, ")
    shown: Any
    for shown in [index, place, index.resolve("*"), index.addr("submit"), index.type("struct request")]:
        html = shown._repr_html_()
        assert html.count("<table>") == html.count("</table>") == 1 or shown is place
        assert "submit" in html or shown is index or "users" in html


def test_html_is_escaped() -> None:
    from probeidx import _html

    class Evil:
        release = architecture = distribution = build_id = path = "<script>&"
        modules = ["x"]

    assert "<script>" not in _html.index(Evil()) and "&lt;script&gt;&amp;" in _html.index(Evil())


def test_nothing_is_changed(index: probeidx.Index) -> None:
    place = index.resolve("submit")[0]
    with pytest.raises(AttributeError):
        place.function = "x"  # type: ignore[misc]
    before = place.to_dict()
    place.attach["kprobe"] = "no"
    place.to_dict()["function"] = "x"
    assert place.to_dict() == before and place.attach["kprobe"] == "ok"
    with pytest.raises(TypeError):
        copy.copy(type(place))()
    with pytest.raises(TypeError):
        type("Own", (probeidx.Placement,), {})
