"""Reads, with drgn, what drgn itself cannot place: where a function's arguments are at an address inside of it.

    python beside_drgn.py FUNCTION ARGUMENT [--core VMCORE]

drgn reads memory and knows types, but a function that is inlined has no symbol and no frame that says where its arguments are: its
copies lie within others. probeidx has the address of each copy and the register or slot of the argument there; drgn says what
runs at these addresses now. Threads whose stack goes through a copy are printed, with the argument where it is in a register.
"""

from __future__ import annotations

import argparse
from typing import Any, Dict, Iterator, List, Optional, Tuple

import probeidx


def copies(index: probeidx.Index, function: str, argument: str) -> Dict[int, Tuple[probeidx.Placement, Optional[str]]]:
    """The addresses of a function's copies in vmlinux, and the register that has the argument there."""
    found: Dict[int, Tuple[probeidx.Placement, Optional[str]]] = {}
    for place in index.resolve(function, argument):
        if place.module is None:
            value = place.var(argument)
            register = value.location.lstrip("%") if value.readable and value.location else None
            found[place.address] = (place, register)
    return found


def within(program: Any, index: probeidx.Index, function: str) -> Iterator[Tuple[Any, Any, probeidx.Level]]:
    """Each thread and frame whose code is of a copy of the function: drgn unwinds, probeidx says what is inlined there."""
    text = program.symbol("_text").address
    for thread in program.threads():
        try:
            trace = thread.stack_trace()
        except ValueError:
            continue  # It runs: there is no stack to read.
        for frame in trace:
            for location in index.addr(hex(frame.pc), base=text):
                for level in location.chain:
                    if level.function == function:
                        yield thread, frame, level


def slide(program: Any, index: probeidx.Index) -> int:
    """How far the kernel was moved when it started."""
    linked = index.addr("_text")[0].address
    assert linked is not None
    return int(program.symbol("_text").address) - linked


def main() -> None:
    parser = argparse.ArgumentParser(description="Finds copies of an inlined function on the stacks of threads.")
    parser.add_argument("function")
    parser.add_argument("argument")
    parser.add_argument("--core", help="a vmcore; without one it is the kernel that runs")
    parser.add_argument("--index", help="the index, or a folder of indexes")
    words = parser.parse_args()

    import drgn

    program = drgn.Program()
    if words.core:
        program.set_core_dump(words.core)
    else:
        program.set_kernel()
    program.load_default_debug_info()
    release = program["UTS_RELEASE"].string_().decode()
    index = probeidx.Index(words.index, kernel=release)
    moved = slide(program, index)
    for address, (place, register) in copies(index, words.function, words.argument).items():
        where: List[str] = [f"{call.function} at {call.file}:{call.line}" for call in place.inlined_into]
        print(f"{address + moved:#x} {' < '.join(where) or 'entry'}: {words.argument} in {register or 'nothing'}")
    for thread, frame, level in within(program, index, words.function):
        print(f"thread {thread.tid}: {level.function} at {level.file}:{level.line}, in {frame.name}")


if __name__ == "__main__":
    main()
