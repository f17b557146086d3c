"""Tables go to Arrow as they are, and have what the answers have."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

import probeidx
from conftest import RELEASES

pyarrow = pytest.importorskip("pyarrow")


def test_placements(index: probeidx.Index) -> None:
    table = pyarrow.table(index.placements())
    assert table.column_names == [name for name, _ in index.placements().columns]
    rows = table.to_pylist()
    places = list(index.resolve("*"))
    assert len(rows) == len(places)
    for row, place in zip(rows, places):
        assert (row["function"], row["address"], row["symbol"]) == (place.function, place.address, place.symbol)
        assert (row["instance"], row["kprobe"]) == (place.instance, place.attach["kprobe"])
        assert (row["inlined_into"] or []) == [call.function for call in place.inlined_into]
    functions = pyarrow.table(index.functions()).to_pylist()
    assert {row["name"] for row in functions} == {place.function for place in places}


def test_members(index: probeidx.Index) -> None:
    rows = pyarrow.table(index.members()).to_pylist()
    own = {row["member"]: row for row in rows if row["type_name"] == "request"}
    shown = index.type("struct request")
    for member in shown.members:
        if member.name is not None and member.bit_size is None:
            assert own[member.name]["byte_offset"] == member.offset, member


def test_all_tables(db: Path) -> None:
    store = probeidx.Store(db)
    names = "kernels functions placements arguments members tracepoints calls".split()
    names += ["functions_since", "placements_since", "members_since", "tracepoints_since"]
    for name in names:
        table = store.table(name)
        read = pyarrow.table(table)
        # A table can be read again, and says its types without being read.
        assert read.equals(pyarrow.table(table)) and pyarrow.schema(table) == read.schema, name
    assert pyarrow.table(store.table("kernels"))["release"].to_pylist() == RELEASES
    one = pyarrow.table(store.table("kernels", kernels=RELEASES[0]))
    assert one["release"].to_pylist() == RELEASES[:1]
    with pytest.raises(probeidx.Error) as raised:
        store.table("nothing")
    assert raised.value.kind == "usage" and "placements" in str(raised.value)


def test_a_table_that_nobody_reads_to_the_end(index: probeidx.Index) -> None:
    for _ in range(20):
        index.placements().__arrow_c_stream__()
        reader = pyarrow.RecordBatchReader.from_stream(index.table("arguments"))
        reader.read_next_batch()
        del reader
    gc.collect()
    # The rows outlive what they came from.
    table = pyarrow.table(probeidx.Index(index.path).placements())
    gc.collect()
    assert table.num_rows == len(index.resolve("*"))


def test_polars(index: probeidx.Index) -> None:
    polars: Any = pytest.importorskip("polars")
    frame = polars.DataFrame(index.placements())
    assert frame.height == len(index.resolve("*"))
    assert frame.filter(polars.col("function") == "submit")["kprobe"].to_list() == ["ok"]


def test_pandas(index: probeidx.Index) -> None:
    pandas: Any = pytest.importorskip("pandas")
    if not hasattr(pandas.DataFrame, "from_arrow"):
        pytest.skip("pandas before 3 takes tables by way of pyarrow")
    frame = pandas.DataFrame.from_arrow(index.placements())
    assert len(frame) == len(index.resolve("*"))
