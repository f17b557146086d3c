"""What questions are answered with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional


@dataclass(frozen=True)
class Step:
    """One step of reading a value, on one 64-bit number: ``op`` is ``register``, ``constant``, ``address``, ``returned``,
    ``passed``, ``add``, ``read``, ``read_user``, ``bits``, ``bits_signed`` or ``in_place``."""

    op: str
    value: int
    size: int
    register: str = ""


@dataclass(frozen=True)
class Value:
    """A variable at a placement, or what was asked for."""

    name: str
    #: As SystemTap spells it; empty where it has none.
    type: str
    #: ``readable``, ``constant``, ``elsewhere``, ``optimized-out`` or ``unsupported``.
    state: str
    #: ``parameter``, ``local``, ``return``, ``raw`` or ``field``.
    role: str
    #: Where it is, or why it cannot be read.
    location: str
    #: An argument for kprobe_events; empty where none is right.
    fetch: str
    #: In C, over the kernel's ``struct pt_regs *regs``.
    expression: str
    #: How it is read.
    steps: tuple[Step, ...] = field(repr=False, default=())

    def __bool__(self) -> bool:
        """Whether a probe there can have it."""
        return self.state in ("readable", "constant")


@dataclass(frozen=True)
class Call:
    """A call that was inlined: the caller, and where it calls."""

    function: str
    file: str
    line: int
    column: int


@dataclass(frozen=True)
class Local:
    """A local that the aliases of a tapset give to a handler."""

    name: str
    #: ``long``, ``string``, ``stats`` or ``unknown``.
    type: str
    #: ``fine``, ``untyped`` or ``broken``: a script that uses a broken one is refused.
    state: str
    #: The variable of the kernel that it is a copy of; empty where it is not just that.
    copy_of: str
    #: Of a broken one the part of the kernel's variable that is missing, why, and what there is.
    variable: str
    why: str
    instead: tuple[str, ...]


@dataclass(frozen=True)
class Alias:
    """How an alias of a tapset leads to a placement."""

    #: Under which it was asked.
    name: str
    #: To which it leads, such as ``kernel.function("vfs_read@fs/read_write.c:450")``.
    point: str
    #: The aliases on the way, the asked one first.
    through: tuple[str, ...]
    locals: tuple[Local, ...]


@dataclass(frozen=True)
class Field:
    """A field of the record that a tracepoint's event writes. Offset and size are in bytes."""

    name: str
    type: str
    offset: int
    size: int
    is_signed: bool


@dataclass(frozen=True)
class Tracepoint:
    """What a placement that is a tracepoint has, and one in code has not."""

    #: Such as ``sched``; empty where it is not known.
    system: str
    #: Whether tracefs and perf know it.
    has_event: bool
    #: Without those that all events have; ``None`` where not all are known.
    fields: Optional[tuple[Field, ...]]
    #: Why dynamic_events take none of it; empty where there is a definition.
    refusal: str


@dataclass(frozen=True)
class Placement:
    """One address at which a function runs, and all that is known of probing there."""

    kernel: str
    #: Empty for vmlinux.
    module: str
    function: str
    file: str
    line: int
    #: ``out-of-line``, ``inline``, ``statement`` or ``tracepoint``; of an alias also ``none`` (``begin``) and ``unindexed``.
    instance: str
    section: str
    #: A link address; in a module an offset within the section.
    address: int
    #: That the kernel prints for the address, and how far behind its start.
    symbol: str
    offset: int
    #: What to write to the kernel: this address and no other.
    anchor: str
    #: By mechanism ``ok``, or why not: ``kprobe``, ``kprobe_events``, ``kretprobe``, ``fentry`` (the worse of ftrace and BPF
    #: trampolines).
    verdicts: dict[str, str]
    #: A line for kprobe_events, of a tracepoint for dynamic_events; empty where they refuse it.
    definition: str
    #: What is possible where it is refused.
    instead: str
    inlined_into: tuple[Call, ...]
    values: tuple[Value, ...]
    #: At how many addresses the function runs, and how many of them kprobes reach.
    instances: int
    reachable: int
    is_unique: bool
    is_nested: bool
    #: The point as SystemTap spells it; the modules in which the symbol's name stands too; an anchor nearby that is not refused.
    probe: str = ""
    collides_with: tuple[str, ...] = ()
    instead_anchor: str = ""
    #: Of what an alias of a tapset leads to.
    alias: Optional[Alias] = None
    #: Of a tracepoint.
    tracepoint: Optional[Tracepoint] = None

    def __getitem__(self, name: str) -> Value:
        """The value of a name."""
        for value in self.values:
            if value.name == name:
                return value
        raise KeyError(name)


@dataclass(frozen=True)
class Line:
    """A source line that has code: its addresses, and which is best probed."""

    module: str
    function: str
    file: str
    line: int
    addresses: tuple[int, ...]
    best: int
    is_reachable: bool


@dataclass(frozen=True)
class Frame:
    """A function whose code an address is, and where in it: its own line, or that of the call of the frame before."""

    function: str
    file: str
    line: int
    column: int
    is_inlined: bool


@dataclass(frozen=True)
class Where:
    """What stands at an address: the functions, the innermost first."""

    module: str
    section: str
    symbol: str
    offset: int
    address: int
    frames: tuple[Frame, ...]


@dataclass(frozen=True)
class Member:
    """A member of a struct or union, or an enumerator. Offsets are in bytes."""

    name: str
    type: str
    offset: int
    size: Optional[int]
    value: int
    #: Of a bit-field: its lowest bit within the number at the offset, and its width; else ``None``.
    bits: Optional[tuple[int, int]]
    #: Of a path the way to it: steps that add and read.
    steps: tuple[Step, ...] = field(repr=False, default=())


@dataclass(frozen=True)
class Type:
    """A type: its size in bytes, and its members."""

    name: str
    spelled: str
    file: str
    line: int
    size: Optional[int]
    members: tuple[Member, ...]


@dataclass(frozen=True)
class User:
    """A function that takes or returns a type: each use is 0 for what it returns or the number of the parameter, and how many
    pointers lead to the type."""

    function: str
    file: str
    line: int
    is_inlined: bool
    uses: tuple[tuple[int, int], ...]
    #: The numbers of the objects in which it has code.
    objects: tuple[int, ...] = ()


@dataclass(frozen=True)
class Refused:
    """A range that the kernel refuses to kprobes."""

    module: str
    symbol: str
    section: str
    start: int
    end: int
    reason: str


@dataclass(frozen=True)
class Finding:
    """A probe point of a script and what becomes of it, or what is wrong in a handler."""

    file: str
    line: int
    column: int
    #: ``point``, or of what is wrong: ``variable``, ``function``, ``arity``, ``name``, ``type``, ``untyped``, ``control``,
    #: ``privilege``, ``regex``, ``unassigned``, ``assumed``.
    kind: str
    #: The point as it is written, or what is wrong.
    what: str
    why: str
    instead: tuple[str, ...]
    #: Of a point ``resolves``, ``nothing``, ``skipped``, ``unindexed`` or ``fails``; else empty.
    state: str
    #: Whether SystemTap refuses the script for it.
    breaks: bool
    #: Of a point: at how many addresses its probes are, and how many of these the kernel takes.
    addresses: int
    reachable: int


@dataclass(frozen=True)
class Missing:
    """Why nothing was found, and which names are near, the nearest first."""

    why: str
    near: tuple[str, ...]
    #: The name is there, and something else is wrong with it.
    is_known: bool


@dataclass(frozen=True)
class Arm:
    """A point of an alias, and what becomes of it on this kernel."""

    #: As it is written, with its mark and condition.
    point: str
    condition: str
    #: ``probes``, ``nothing``, ``not-tried``, ``unindexed``, or ``unasked``.
    outcome: str
    why: str
    probes: int
    reachable: int
    #: It has probes and is marked ``!``: what stands behind it was not tried.
    ends: bool
    #: The points of the aliases that it names.
    through: tuple[Arm, ...]


@dataclass(frozen=True)
class Assignment:
    """What the body of an alias gives to handlers, before or behind them."""

    name: str
    value: str
    line: int
    is_behind: bool


@dataclass(frozen=True)
class Definition:
    """An alias of a tapset: what it says, and what it means on this kernel."""

    names: tuple[str, ...]
    file: str
    line: int
    comment: str
    arms: tuple[Arm, ...]
    assignments: tuple[Assignment, ...]
    #: How many probes have which locals.
    groups: tuple[tuple[int, tuple[Local, ...]], ...]


@dataclass(frozen=True)
class Function:
    """A function of a tapset, with the types that SystemTap infers: ``long``, ``string``, ``unknown``."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    result: str
    marks: tuple[str, ...]
    file: str
    line: int
    comment: str
    is_private: bool


@dataclass(frozen=True)
class Macro:
    """A macro of a tapset, without the ``@``, and what it stands for."""

    name: str
    parameters: tuple[str, ...]
    body: str
    file: str
    line: int


@dataclass(frozen=True)
class Health:
    """An alias, as far as it is of use on this kernel."""

    name: str
    file: str
    line: int
    #: ``resolves``, ``unindexed``, or ``fails`` where none of its points matches.
    state: str
    #: Its points as they are written, and whether each matches anything by itself.
    points: tuple[tuple[str, bool], ...]
    broken: tuple[Local, ...]


@dataclass(frozen=True)
class Skipped:
    """A part of the input that could not be read when the index was built, and how often that was."""

    path: str
    kind: str
    why: str
    count: int
    is_whole_object: bool


@dataclass(frozen=True)
class Object:
    """vmlinux (no name) or a module."""

    number: int
    name: str
    path: str
    build_id: str
    #: A table could not be read whole: verdicts may be ``undecided``.
    is_unsure: bool


@dataclass(frozen=True)
class File:
    """An index file: of a kernel its release, of a program its path, and why it cannot be opened, if so."""

    path: str
    release: str
    process: str
    why: str
