"""Threads share what there is, and none waits for another's question."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, List

import probeidx


def test_many_threads(index: probeidx.Index) -> None:
    wanted = [place.to_dict() for place in index.resolve("*")]
    shared = index.resolve("*")
    walk = iter(shared)
    taken: List[Any] = []
    start = threading.Barrier(8)

    def work(number: int) -> None:
        start.wait()
        for _ in range(20):
            assert [shared[at].to_dict() for at in range(-len(shared), 0)] == wanted
            assert index.resolve("submit", "flags")[0].var("flags").readable
            assert index.addr("submit")[0].function == "submit"
            assert index.type("struct request").name == "request"
            try:
                index.resolve(f"nothing{number}")
            except probeidx.NotFound as error:
                assert f"nothing{number}" in str(error)
        taken.extend(walk)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
    finally:
        sys.setswitchinterval(interval)
    # A walk that threads share gives each placement once.
    assert len(taken) == len(wanted) and {p.address for p in taken} == {p.address for p in shared}


def test_indexes_come_and_go(index: probeidx.Index) -> None:
    def work(_: int) -> None:
        for _ in range(50):
            found = probeidx.Index(index.path).resolve("s*")
            assert found[0].function

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


def test_other_threads_run(index: probeidx.Index) -> None:
    """While a build is going on, which holds no lock of the interpreter."""
    import os
    import tempfile

    counted = 0
    done = threading.Event()
    vmlinux = os.environ["PROBEIDX_VMLINUX"].split(":")[0]

    def build() -> None:
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(3):
                probeidx.build(vmlinux, db=folder, tapsets=False, force=True)
        done.set()

    # A thread that asks for the lock gets it after this long, from whoever lets go of it only when asked. It is longer than the
    # test: only those that let go by themselves pass.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        thread = threading.Thread(target=build)
        thread.start()
        while not done.is_set():
            counted += 1
            done.wait(0.001)
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert counted > 3
