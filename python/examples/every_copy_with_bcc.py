"""Counts calls of a function with bcc: at its entry and at every inlined copy, with an argument read where it is there.

    python every_copy_with_bcc.py FUNCTION ARGUMENT [--print]

bcc attaches a kprobe by name, and so misses each copy that the compiler inlined. Here one probe is attached to each address that the
kernel takes, and a program for each place where the argument is: the register differs from copy to copy.
"""

from __future__ import annotations

import argparse
import re
import time
from typing import Any, Dict, List, Optional, Sequence, Tuple

import probeidx

HEAD = """#include <uapi/linux/ptrace.h>
struct key_t { u64 value; u64 known; };
BPF_HASH(calls, struct key_t);
static inline int counted(u64 value, u64 known) {
    struct key_t key = { .value = value, .known = known };
    calls.increment(key);
    return 0;
}
"""


def reads(value: probeidx.Variable) -> Optional[str]:
    """Statements that leave a value in `value`; None if it cannot be read by them."""
    text = ""
    for step in value.steps or []:
        if step["op"] == "register" and step["name"]:
            # Those of arm64 are an array.
            register = re.sub(r"^x(\d+)$", r"regs[\1]", step["name"])
            text += f"value = ctx->{register}; "
        elif step["op"] == "constant":
            text += f"value = {step['value']}LL; "
        elif step["op"] == "add":
            text += f"value += {step['value']}LL; "
        elif step["op"] == "read" and not step.get("user"):
            size = step["size"] * 8
            text += f"{{ u{size} at = 0; bpf_probe_read_kernel(&at, sizeof(at), (void *)value); value = at; }} "
        elif step["op"] == "bits" and not step["signed"]:
            text += f"value = value >> {step['offset']} & {(1 << step['width']) - 1}ULL; "
        else:
            return None
    return text or None


def program(places: Sequence[probeidx.Placement], argument: str) -> Tuple[str, Dict[str, List[probeidx.Placement]]]:
    """The C that bcc compiles, and the places of each function in it."""
    text = HEAD
    attached: Dict[str, List[probeidx.Placement]] = {}
    names: Dict[Optional[str], str] = {}
    for place in places:
        value = place.var(argument)
        statements = reads(value) if value.readable else None
        name = names.setdefault(statements, f"at_{len(names)}")
        attached.setdefault(name, []).append(place)
    for statements, name in names.items():
        known = 0 if statements is None else 1
        text += f"int {name}(struct pt_regs *ctx) {{ u64 value = 0; {statements or ''}return counted(value, {known}); }}\n"
    return text, attached


def main() -> None:
    parser = argparse.ArgumentParser(description="Counts calls of a function with its inlined copies.")
    parser.add_argument("function")
    parser.add_argument("argument")
    parser.add_argument("--index", help="the index, or a folder of indexes")
    parser.add_argument("--kernel", help="the release, if it is not the one that runs")
    parser.add_argument("--print", action="store_true", help="print the program and where it goes, and end")
    words = parser.parse_args()

    index = probeidx.open(words.index, kernel=words.kernel)
    all_ = index.resolve(words.function, words.argument)
    places = [place for place in all_ if place.takes("kprobe_events") and place.anchor is not None]
    text, attached = program(places, words.argument)
    print(f"{len(places)} of {len(all_)} places")
    if words.print:
        print(text)
        for name, at in attached.items():
            print(name, *[place.anchor.text for place in at if place.anchor])
        return

    from bcc import BPF

    bpf: Any = BPF(text=text)
    for name, at in attached.items():
        for place in at:
            anchor = place.anchor
            if anchor is not None:
                event = f"{anchor.module}:{anchor.symbol}" if anchor.module else anchor.symbol
                bpf.attach_kprobe(event=event, event_off=anchor.offset, fn_name=name)
    try:
        time.sleep(10)
    except KeyboardInterrupt:
        pass
    for key, count in sorted(bpf["calls"].items(), key=lambda item: -item[1].value):
        print(f"{count.value:8} {key.value:#x}" if key.known else f"{count.value:8} (not readable there)")


if __name__ == "__main__":
    main()
