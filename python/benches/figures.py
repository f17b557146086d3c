"""The figures of docs/python.md: python benches/figures.py INDEX, with the installed package."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import Any, Callable, List

import probeidx


def seconds(work: Callable[[], Any], times: int) -> float:
    """The median of several runs."""
    taken: List[float] = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def main() -> None:
    index = probeidx.Index(sys.argv[1])

    def start(code: str) -> float:
        return seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True), 21)

    print(f"import probeidx      {(start('import probeidx') - start('pass')) * 1e3:8.1f} ms")
    print(f"Index(path)          {seconds(lambda: probeidx.Index(sys.argv[1]), 101) * 1e6:8.1f} us")
    for spec, *arguments in [["vfs_read"], ["vfs_read", "count"], ["do_open"], ["kfree"]]:
        what = f"resolve {' '.join([spec, *arguments])}"
        print(f"{what:20} {seconds(lambda: index.resolve(spec, *arguments), 2001) * 1e6:8.1f} us")
    place = index.resolve("vfs_read")[0]
    print(f"place.to_dict()      {seconds(place.to_dict, 2001) * 1e6:8.1f} us")
    print(f"addr vfs_read+0x9c   {seconds(lambda: index.addr('vfs_read+0x9c'), 2001) * 1e6:8.1f} us")
    print(f"type struct file     {seconds(lambda: index.type('struct file'), 501) * 1e6:8.1f} us")
    import pyarrow

    rows = pyarrow.table(index.placements()).num_rows
    took = seconds(lambda: pyarrow.table(index.placements()), 3)
    print(f"placements to Arrow  {took:8.2f} s for {rows} rows: {took / rows * 1e6:.2f} s a million")


if __name__ == "__main__":
    main()
