"""Where a Linux kernel can be probed, what can be read there, and whether the kernel takes it.

This asks an index that ``probeidx build`` wrote, through ``libprobeidx``. Nothing is read but the index; a question takes some
microseconds in the library and some more here::

    >>> import probeidx
    >>> kernel = probeidx.Index("6.1.0-56-cloud-amd64.pidx")
    >>> for place in kernel.resolve("vfs_read", "file->f_mode", "count"):
    ...     print(place.definition or place.verdicts["kprobe_events"])
    p:probeidx/vfs_read _text+3452560 f_mode=+68(%di):x32 count=%dx:x64

The library is looked for as the dynamic linker does it; ``PROBEIDX_LIBRARY`` names another file.

Which question to ask:

====================================================  ==================================
where does a function run, can it be probed, ...      :meth:`Index.resolve`
what does ``stap -l`` list                            :meth:`Index.find`
nothing was found: what may have been meant           :meth:`Index.why_not`
is a variable known wherever a spec leads             :meth:`Index.defined`
which aliases do the tapsets have                     :meth:`Index.aliases`
what does an alias mean on this kernel                :meth:`Index.tapset`
which functions and macros do they have               :meth:`Index.functions`, :meth:`Index.macros`
is a script right on this kernel                      :meth:`Index.check`
which aliases are of no use here                      :meth:`Index.check_tapset`
which lines of a function can be probed               :meth:`Index.lines`
what stands at an address                             :meth:`Index.address`
the same for every frame of a log                     :meth:`Index.decode`
what does a struct consist of, where is a member      :meth:`Index.type`, :meth:`Index.member`
which functions take a type                           :meth:`Index.users`
what does the kernel refuse                           :meth:`Index.blacklist`
which indexes are there                               :func:`kernels`
what is in an index, and is it whole                  :meth:`Index.counts`, :meth:`Index.objects`, :meth:`Index.sections`,
                                                      :meth:`Index.skipped`, :meth:`Index.verify`
====================================================  ==================================
"""

from __future__ import annotations

import ctypes as c
import os
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Iterator, Optional

__all__ = [
    "Error", "Index", "Placement", "Alias", "Local", "Tracepoint", "Field", "Value", "Step", "Call", "Line", "Frame", "Where",
    "Type", "Member", "User", "Refused", "Finding", "Missing", "Definition", "Arm", "Assignment", "Function", "Macro", "Health",
    "Skipped", "Object", "File", "kernels", "version",
]


class _Text(c.Structure):
    _fields_ = [("text", c.c_void_p), ("length", c.c_size_t)]

    def __str__(self) -> str:
        return c.string_at(self.text, self.length).decode("utf-8", "surrogateescape")


class _Error(c.Structure):
    _fields_ = [
        ("size", c.c_size_t), ("kind", c.c_int32), ("reserved", c.c_uint32),
        ("message", c.c_char * 512), ("place", c.c_char * 512), ("remedy", c.c_char * 256),
    ]


def _struct(name: str, *fields: Any) -> type:
    return type(name, (c.Structure,), {"_fields_": [("size", c.c_size_t), *fields]})


def _texts(names: str) -> list[tuple[str, type]]:
    return [(name, _Text) for name in names.split()]


def _numbers(names: str) -> list[tuple[str, type]]:
    return [(name, c.c_uint32) for name in names.split()]


_Summary = _struct(
    "_Summary", *_texts("release process"), *_numbers("machine format"),
    *[(n, c.c_uint64) for n in "objects units functions placements symbols names types bytes".split()],
    *[(n, c.c_uint64) for n in "inline_instances tracepoints labels line_sequences definitions skipped".split()],
    ("written_by", c.c_char * 32))
_File = _struct("_File", *_texts("path release process why"), ("status", c.c_int32))
_Object = _struct("_Object", *_numbers("object flags"), *_texts("name path build_id"))
_Section = _struct("_Section", *_texts("name"), ("bytes", c.c_uint64))
_Skipped = _struct("_Skipped", *_texts("path kind why"), ("count", c.c_uint64), ("is_whole_object", c.c_uint32))
_Missing = _struct(
    "_Missing", ("why", _Text), ("near", c.POINTER(_Text)), ("near_count", c.c_size_t), ("is_known", c.c_uint32))
_Defined = _struct("_Defined", *_numbers("places defined"))


class _Step(c.Structure):
    _fields_ = [("op", c.c_uint32), ("size", c.c_uint32), ("value", c.c_int64), ("name", _Text)]


class _Frame(c.Structure):
    _fields_ = [*_texts("function declared_file file"), *_numbers("declared_line line column is_inlined")]


class _Place(c.Structure):
    _fields_ = [("address", c.c_uint64), *_numbers("object pc place instance")]


_Value = _struct(
    "_Value", *_texts("name type location fetch expression"), ("steps", c.POINTER(_Step)), ("step_count", c.c_size_t),
    *_numbers("role state parameter proof"), ("convention_register", c.c_int32), ("is_asked", c.c_uint32))
_Call = _struct("_Call", *_texts("function file"), *_numbers("line column"))
_Field = _struct("_Field", *_texts("name type"), *_numbers("offset bytes is_signed reserved32"))
_Tracepoint = _struct(
    "_Tracepoint", *_texts("system refusal"), ("fields", c.POINTER(c.POINTER(_Field))), ("field_count", c.c_size_t),
    *_numbers("has_event has_fields"))
_Local = _struct(
    "_Local", *_texts("name type copy_of variable why"), ("instead", c.POINTER(_Text)), ("instead_count", c.c_size_t),
    *_numbers("state reserved32"))
_Arm = _struct(
    "_Arm", *_texts("point condition why"), ("through", c.c_void_p), ("through_count", c.c_size_t),
    ("probes", c.c_uint64), ("reachable", c.c_uint64), *_numbers("outcome flags"))
_Assignment = _struct("_Assignment", *_texts("name value"), *_numbers("line is_behind"))
_Group = _struct(
    "_Group", ("probes", c.c_uint64), ("locals", c.POINTER(c.POINTER(_Local))), ("local_count", c.c_size_t))
_Definition = _struct(
    "_Definition", ("names", c.POINTER(_Text)), ("name_count", c.c_size_t), *_texts("file comment"),
    ("arms", c.POINTER(c.POINTER(_Arm))), ("arm_count", c.c_size_t),
    ("assignments", c.POINTER(c.POINTER(_Assignment))), ("assignment_count", c.c_size_t),
    ("groups", c.POINTER(c.POINTER(_Group))), ("group_count", c.c_size_t), ("line", c.c_uint32))
_Parameter = _struct("_Parameter", *_texts("name type"))
_Function = _struct(
    "_Function", *_texts("name result"), ("parameters", c.POINTER(c.POINTER(_Parameter))), ("parameter_count", c.c_size_t),
    ("marks", c.POINTER(_Text)), ("mark_count", c.c_size_t), *_texts("file comment"), *_numbers("line is_private"))
_Macro = _struct(
    "_Macro", ("name", _Text), ("parameters", c.POINTER(_Text)), ("parameter_count", c.c_size_t), *_texts("body file"),
    ("line", c.c_uint32))
_Health = _struct(
    "_Health", *_texts("name file"), ("points", c.POINTER(_Text)), ("point_count", c.c_size_t),
    ("matches", c.POINTER(c.c_uint32)), ("broken", c.POINTER(c.POINTER(_Local))), ("broken_count", c.c_size_t),
    *_numbers("line column state"))
_Alias = _struct(
    "_Alias", *_texts("name point"), ("through", c.POINTER(_Text)), ("through_count", c.c_size_t),
    ("locals", c.POINTER(c.POINTER(_Local))), ("local_count", c.c_size_t))
_Placement = _struct(
    "_Placement",
    *_texts("kernel module process function file section symbol anchor anchor_module anchor_symbol definition instead source_file"),
    ("address", c.c_uint64), ("anchor_offset", c.c_uint64),
    ("inlined_into", c.POINTER(c.POINTER(_Call))), ("inlined_into_count", c.c_size_t),
    ("values", c.POINTER(c.POINTER(_Value))), ("value_count", c.c_size_t),
    *_numbers("line instance symbol_offset flags kprobe kprobe_events kretprobe fentry shift source_line source_column instances "
              "reachable reachable_events object pc"),
    ("alias", c.POINTER(_Alias)), ("tracepoint", c.POINTER(_Tracepoint)),
    ("collides_with", c.POINTER(_Text)), ("collides_with_count", c.c_size_t), *_texts("probe instead_anchor"),
    ("instead_address", c.c_uint64))
_Stap = _struct(
    "_Stap", ("arguments", c.POINTER(c.c_char_p)), ("argument_count", c.c_size_t), ("compatible", c.c_char_p),
    *_numbers("flags runtime"))
_Finding = _struct(
    "_Finding", *_texts("file what why"), ("instead", c.POINTER(_Text)), ("instead_count", c.c_size_t),
    *_numbers("line column kind state breaks probes addresses reachable inlined reserved32"))
_Options = _struct("_Options", *_numbers("flags reserved"))
_Line = _struct(
    "_Line", *_texts("module function file"), ("places", c.POINTER(_Place)), ("place_count", c.c_size_t),
    *_numbers("line best is_reachable declared_line"))
_Where = _struct(
    "_Where", *_texts("module section symbol"), ("frames", c.POINTER(_Frame)), ("frame_count", c.c_size_t),
    ("address", c.c_uint64), *_numbers("symbol_offset symbol_size ground gone is_stmt object pc reserved32"),
    ("reserved", c.c_uint64 * 2))
_Log = _struct(
    "_Log", ("slide", c.c_uint64), *_numbers("flags stack stopped_at_length reserved32"), ("stopped_at", c.c_ubyte * 256),
    ("reserved", c.c_uint64 * 4))
_Decoded = _struct(
    "_Decoded", *_texts("text behind below"), ("places", c.POINTER(_Where)), ("place_count", c.c_size_t), ("why", _Text),
    ("end", c.c_size_t), *_numbers("role is_exact"))
_Member = _struct(
    "_Member", *_texts("name type"), ("offset", c.c_uint64), ("bytes", c.c_uint64), ("value", c.c_int64),
    *_numbers("lowest_bit width type_id reserved32"), ("steps", c.POINTER(_Step)), ("step_count", c.c_size_t))
_Type = _struct(
    "_Type", *_texts("name spelled file"), ("members", c.POINTER(c.POINTER(_Member))), ("member_count", c.c_size_t),
    ("bytes", c.c_uint64), *_numbers("line kind id"))
_User = _struct(
    "_User", *_texts("function file"), ("uses", c.POINTER(c.c_uint32)), ("use_count", c.c_size_t),
    *_numbers("line is_inlined object_count reserved32"), ("objects", c.POINTER(c.c_uint32)))
_Refused = _struct(
    "_Refused", *_texts("module symbol section"), ("start", c.c_uint64), ("end", c.c_uint64), ("reason", c.c_uint32))

_NO_SIZE = 2**64 - 1


def _load() -> c.CDLL:
    library = c.CDLL(os.environ.get("PROBEIDX_LIBRARY", "libprobeidx.so.0"))
    for name in ("status", "verdict", "verdict_phrase", "state", "instance"):
        function = getattr(library, f"probeidx_{name}_name" if name != "verdict_phrase" else "probeidx_verdict_phrase")
        function.restype = _Text
        function.argtypes = [c.c_int32 if name == "status" else c.c_uint32]
    library.probeidx_version.restype = c.c_uint32
    library.probeidx_close.argtypes = [c.c_void_p]
    return library


_LIBRARY = _load()


def version() -> str:
    """The version of the library that is loaded, such as ``0.1.0``."""
    number = _LIBRARY.probeidx_version()
    return f"{number >> 16}.{number >> 8 & 255}.{number & 255}"


class Error(Exception):
    """A question that has no answer: ``kind`` (``no-match``, ``usage``, ``no-index`` ...), ``message``, ``place``, ``remedy``."""

    def __init__(self, kind: str, message: str, place: str, remedy: str) -> None:
        self.kind, self.message, self.place, self.remedy = kind, message, place, remedy
        head = f"{place}: " if place else ""
        super().__init__(head + message + (f"; {remedy}" if remedy else ""))


@dataclass(frozen=True)
class Step:
    """One step of reading a value, on one 64-bit number: ``op`` is ``register``, ``constant``, ``address``, ``returned``,
    ``passed``, ``add``, ``read``, ``read_user``, ``bits``, ``bits_signed`` or ``in_place``."""

    op: str
    value: int
    size: int
    register: str = ""


_OPS = "register constant address returned passed add read read_user bits bits_signed in_place".split()


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
    #: By mechanism ``ok``, or why not: ``kprobe``, ``kprobe_events``, ``kretprobe``, ``fentry``.
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
    #: ``privilege``, ``unassigned``.
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


class Index:
    """An index, open. ``path`` is a file, or a folder of which ``release`` says which (none: the only one there). Threads may
    share it. With ``kallsyms``, a copy of ``/proc/kallsyms``, addresses are those at run time. Closed by ``close``, at the end of a ``with``, or when nothing refers to it any more."""

    def __init__(self, path: str | os.PathLike[str], release: Optional[str] = None, kallsyms: Optional[bytes] = None) -> None:
        self._handle = c.c_void_p()
        wanted = release.encode() if release is not None else None
        if kallsyms is None:
            _ask("open", os.fsencode(path), wanted, c.byref(self._handle))
        else:
            _ask("open_running", os.fsencode(path), wanted, kallsyms, c.c_size_t(len(kallsyms)), c.byref(self._handle))

    def close(self) -> None:
        """Closes the index: questions after that are errors of kind ``closed``."""
        handle, self._handle = self._handle, c.c_void_p()
        _LIBRARY.probeidx_close(handle)

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    @property
    def release(self) -> str:
        """The kernel's, as ``uname -r`` prints it."""
        return str(self._summary(_Summary.inline_instances.offset).release)

    def counts(self) -> dict[str, int]:
        """How many objects, functions, placements ... are in it."""
        summary = self._summary(c.sizeof(_Summary))
        return {name: getattr(summary, name) for name, kind in _Summary._fields_[1:] if kind is c.c_uint64}

    def objects(self) -> list[Object]:
        """vmlinux, then the modules by name."""
        return self._each(_Object, _object, "objects")

    def sections(self) -> dict[str, int]:
        """The parts of the index file, and how many bytes each has."""
        return dict(self._each(_Section, lambda s: (str(s.name), s.bytes), "sections"))

    def skipped(self) -> list[Skipped]:
        """What could not be read when the index was built."""
        return self._each(_Skipped, _skipped, "skipped")

    def verify(self) -> None:
        """Reads all of the file: an error of kind ``index-damaged`` if its bytes are not whole."""
        _ask("verify", self._handle)

    def why_not(self, asked: str, kind: str = "spec") -> list[Missing]:
        """Why nothing was found, and what may have been meant. ``kind`` is what was asked for: ``spec``, ``type``, ``module``;
        of tapsets ``alias``, ``function``, ``macro``."""
        sought = "spec type module alias function macro".split().index(kind)
        return self._each(_Missing, _missing, "why_not", c.c_uint32(sought), asked.encode())

    def defined(self, spec: str, argument: str) -> tuple[int, int]:
        """At how many placements of a spec an argument is known, as SystemTap's ``@defined`` asks, and how many there are."""
        defined = _Defined(c.sizeof(_Defined))
        try:
            _ask("defined", self._handle, spec.encode(), argument.encode(), c.byref(defined))
        except Error as error:
            if error.kind != "no-match":
                raise
        return defined.defined, defined.places

    def find(self, pattern: str, args: bool = False) -> list[str]:
        """The probe points that match, as ``stap -l`` prints them; with ``args`` as ``stap -L``. None is an empty list."""
        return self._each(_Text, str, "find", pattern.encode(), c.c_uint32(args))

    def resolve(self, spec: str, *arguments: str, locals: bool = False) -> list[Placement]:
        """Every placement of a spec (``vfs_read``, ``do_open@fs/namei.c``, ``kernel.function("vfs_*").call``; tracepoints:
        ``kernel.trace("sched:sched_switch")``; aliases of tapsets: ``vm.brk``). ``arguments``
        are what to read there: ``file``, ``s->name:string``, ``$retval``; without them all parameters, and with ``locals``
        the local variables. None is an empty list."""
        wanted = (c.c_char_p * len(arguments))(*(a.encode() for a in arguments))
        options = _Options(c.sizeof(_Options), 2 | bool(locals), 0)
        count = c.c_size_t(len(arguments))
        return self._each(_Placement, _placement, "resolve", spec.encode(), wanted, count, c.byref(options))

    def aliases(self, pattern: Optional[str] = None) -> list[str]:
        """The names of the tapsets' aliases that match ``vm.*`` (``*`` within a component, ``**`` over several), sorted;
        without a pattern all that are meant for scripts."""
        return self._each(_Text, str, "aliases", None if pattern is None else pattern.encode())

    def tapset(self, pattern: Optional[str] = None, explained: bool = True, hidden: bool = False) -> list[Definition]:
        """The definitions of the aliases that a pattern matches, as for ``aliases``; if ``explained`` with what becomes of
        their points on this kernel and what handlers have by them. ``hidden`` ones begin with ``_``."""
        flags = c.c_uint32(int(hidden) | 2 * int(explained))
        return self._each(_Definition, _definition, "tapset", None if pattern is None else pattern.encode(), flags)

    def functions(self, pattern: Optional[str] = None, hidden: bool = False) -> list[Function]:
        """The functions of the tapsets that ``task_*`` matches; without a pattern all that are meant for scripts."""
        asked = None if pattern is None else pattern.encode()
        return self._each(_Function, _function, "functions", asked, c.c_uint32(hidden))

    def macros(self, pattern: Optional[str] = None, hidden: bool = False) -> list[Macro]:
        """The macros of the tapsets, the same way."""
        asked = None if pattern is None else pattern.encode()
        return self._each(_Macro, _macro, "macros", asked, c.c_uint32(hidden))

    def check_tapset(self) -> tuple[list[Health], list[Finding]]:
        """Every alias of the tapsets as far as it is of use here, and what is wrong in their functions."""
        findings: list[Finding] = []

        def call(_: object, one: Any) -> int:
            findings.append(_finding(one.contents))
            return 0

        found = c.CFUNCTYPE(c.c_int32, c.c_void_p, c.POINTER(_Finding))(call)
        return self._each(_Health, _health, "check_tapset", between=(found,)), findings

    def check(self, script: str, *arguments: str, guru: bool = False, name: str = "script.stp") -> tuple[str, list[Finding]]:
        """Whether a script is right on this kernel, or a list of probe points (with a ``name`` that does not end with
        ``.stp``): ``resolves``, ``unindexed`` or ``fails``, and its points, then what is wrong in its handlers. ``arguments``
        are those of the script. One that cannot be read is an error of kind ``syntax``."""
        wanted = (c.c_char_p * len(arguments))(*(a.encode() for a in arguments))
        stap = _Stap(c.sizeof(_Stap), c.cast(wanted, c.POINTER(c.c_char_p)), len(arguments), None, int(guru), 0)
        verdict, text = c.c_uint32(), script.encode("utf-8", "surrogateescape")
        found = self._each(_Finding, _finding, "check", os.fsencode(name), text, c.c_size_t(len(text)), c.byref(stap),
                           behind=(c.byref(verdict),))
        return dict(enumerate(("resolves", "unindexed", "fails"))).get(verdict.value, "?"), found

    def lines(self, spec: str) -> list[Line]:
        """The lines of a function or file that have code: ``vfs_read``, ``fs/open.c``, ``vfs_read@fs/read_write.c:460-470``."""
        return self._each(_Line, _line, "lines", spec.encode())

    def address(self, text: str | int, slide: int = 0) -> list[Where]:
        """What stands at an address: a number, ``symbol+0x10``, ``module:symbol+16``. Numbers are those of a kernel that was
        moved by ``slide``. Several answers where symbols of a name cannot be told apart."""
        asked = hex(text) if isinstance(text, int) else text
        return self._each(_Where, _where, "addr", asked.encode(), c.c_uint64(slide))

    def decode(self, lines: Iterable[str]) -> Iterator[str]:
        """The lines of a log with what is known of the frames in them: files, lines, inlined functions."""
        log = _Log(c.sizeof(_Log))
        for line in lines:
            raw = line.rstrip("\n").encode("utf-8", "surrogateescape")
            found = self._each(_Decoded, _decoded, "decode", c.byref(log), raw, c.c_size_t(len(raw)))
            parts, below, at = [], [], 0
            for end, behind, lower in found:
                parts += [raw[at:end], behind]
                below.append(lower)
                at = end
            text = b"".join([*parts, raw[at:]])
            indent = raw[: len(raw) - len(raw.lstrip())]
            yield (text + b"".join(below).replace(b"\n", b"\n" + indent)).decode("utf-8", "surrogateescape")

    def type(self, name: str) -> list[Type]:
        """All definitions of a type: ``struct file``, ``file``, ``gfp_t``, ``unsigned long``."""
        return self._each(_Type, _type, "type", name.encode())

    def member(self, path: str) -> list[Member]:
        """A member by its path: ``struct file.f_path.dentry``, ``task_struct->comm``."""
        return self._each(_Member, _member, "member", path.encode())

    def users(self, name: str) -> list[User]:
        """The functions that take or return a type."""
        return self._each(_User, _user, "users", name.encode())

    def blacklist(self, module: Optional[str] = None) -> list[Refused]:
        """What the kernel refuses to kprobes, in vmlinux or in modules."""
        return self._each(_Refused, _refused, "blacklist", module.encode() if module is not None else None)

    def _summary(self, size: int) -> Any:
        # What stands last in it must be counted, which takes time.
        summary = _Summary(size)
        _ask("stats", self._handle, c.byref(summary))
        return summary

    def _each(self, struct: type, convert: Callable[[Any], Any], name: str, *arguments: Any,
              between: tuple[Any, ...] = (), behind: tuple[Any, ...] = ()) -> list[Any]:
        return _each(struct, convert, name, self._handle, *arguments, between=between, behind=behind)


def kernels(path: str | os.PathLike[str]) -> list[File]:
    """The indexes in a folder: those of kernels by release, then those of programs and libraries."""
    return _each(_File, _file, "kernels", os.fsencode(path))


def _each(struct: type, convert: Callable[[Any], Any], name: str, *arguments: Any,
          between: tuple[Any, ...] = (), behind: tuple[Any, ...] = ()) -> list[Any]:
    found: list[Any] = []
    failed: list[BaseException] = []

    def call(_: object, one: Any) -> int:
        # What is raised here cannot go through the library.
        try:
            found.append(convert(one.contents))
        except BaseException as error:  # noqa: BLE001
            failed.append(error)
        return len(failed)

    callback = c.CFUNCTYPE(c.c_int32, c.c_void_p, c.POINTER(struct))(call)
    try:
        _ask(name, *arguments, callback, *between, None, *behind)
    except Error as error:
        if failed:
            raise failed[0] from None
        # Nothing by that name: a pattern that matches nothing is an answer.
        if error.kind != "no-match":
            raise
    return found


def _ask(name: str, *arguments: Any) -> None:
    error = _Error(c.sizeof(_Error))
    status = getattr(_LIBRARY, f"probeidx_{name}")(*arguments, c.byref(error))
    if status:
        texts = [t.decode("utf-8", "replace") for t in (error.message, error.place, error.remedy)]
        raise Error(str(_LIBRARY.probeidx_status_name(status)), *texts)


def _strings(texts: Any, count: int) -> tuple[str, ...]:
    return tuple(str(texts[i]) for i in range(count))


def _verdict(number: int) -> str:
    return str(_LIBRARY.probeidx_verdict_name(number))


def _steps(steps: Any, count: int) -> tuple[Step, ...]:
    own = (steps[i] for i in range(count))
    return tuple(Step(_OPS[s.op] if s.op < len(_OPS) else "?", s.value, s.size, str(s.name)) for s in own)


def _value(v: Any) -> Value:
    read = _steps(v.steps, v.step_count)
    state = str(_LIBRARY.probeidx_state_name(v.state))
    role = dict(enumerate(("parameter", "local", "return", "raw", "field"))).get(v.role, "?")
    return Value(str(v.name), str(v.type), state, role, str(v.location), str(v.fetch), str(v.expression), read)


def _placement(p: Any) -> Placement:
    calls = (p.inlined_into[i].contents for i in range(p.inlined_into_count))
    return Placement(
        kernel=str(p.kernel), module=str(p.module), function=str(p.function), file=str(p.file), line=p.line,
        instance=str(_LIBRARY.probeidx_instance_name(p.instance)), section=str(p.section), address=p.address,
        symbol=str(p.symbol), offset=p.symbol_offset, anchor=str(p.anchor),
        verdicts={n: _verdict(getattr(p, n)) for n in ("kprobe", "kprobe_events", "kretprobe", "fentry")},
        definition=str(p.definition), instead=str(p.instead),
        inlined_into=tuple(Call(str(x.function), str(x.file), x.line, x.column) for x in calls),
        values=tuple(_value(p.values[i].contents) for i in range(p.value_count)),
        instances=p.instances, reachable=p.reachable, is_unique=bool(p.flags & 1), is_nested=bool(p.flags & 2),
        probe=str(p.probe), instead_anchor=str(p.instead_anchor),
        collides_with=_strings(p.collides_with, p.collides_with_count),
        alias=_alias(p.alias.contents) if p.alias else None,
        tracepoint=_tracepoint(p.tracepoint.contents) if p.tracepoint else None)


def _alias(a: Any) -> Alias:
    through = _strings(a.through, a.through_count)
    return Alias(str(a.name), str(a.point), through, tuple(_local(a.locals[i].contents) for i in range(a.local_count)))


def _local(l: Any) -> Local:
    state = dict(enumerate(("fine", "untyped", "broken"))).get(l.state, "?")
    instead = _strings(l.instead, l.instead_count)
    return Local(str(l.name), str(l.type), state, str(l.copy_of), str(l.variable), str(l.why), instead)


def _tracepoint(t: Any) -> Tracepoint:
    fields = (t.fields[i].contents for i in range(t.field_count))
    known = tuple(Field(str(f.name), str(f.type), f.offset, f.bytes, bool(f.is_signed)) for f in fields)
    return Tracepoint(str(t.system), bool(t.has_event), known if t.has_fields else None, str(t.refusal))


def _missing(m: Any) -> Missing:
    return Missing(str(m.why), _strings(m.near, m.near_count), bool(m.is_known))


_OUTCOMES = "probes nothing not-tried unindexed unasked".split()


def _arm(a: Any) -> Arm:
    through = c.cast(a.through, c.POINTER(c.POINTER(_Arm)))
    return Arm(
        point=str(a.point), condition=str(a.condition), why=str(a.why), probes=a.probes, reachable=a.reachable,
        outcome=_OUTCOMES[a.outcome] if a.outcome < len(_OUTCOMES) else "?", ends=bool(a.flags & 4),
        through=tuple(_arm(through[i].contents) for i in range(a.through_count)))


def _definition(d: Any) -> Definition:
    given = (d.assignments[i].contents for i in range(d.assignment_count))
    groups = (d.groups[i].contents for i in range(d.group_count))
    return Definition(
        names=_strings(d.names, d.name_count), file=str(d.file), line=d.line, comment=str(d.comment),
        arms=tuple(_arm(d.arms[i].contents) for i in range(d.arm_count)),
        assignments=tuple(Assignment(str(g.name), str(g.value), g.line, bool(g.is_behind)) for g in given),
        groups=tuple((g.probes, tuple(_local(g.locals[i].contents) for i in range(g.local_count))) for g in groups))


def _function(f: Any) -> Function:
    parameters = (f.parameters[i].contents for i in range(f.parameter_count))
    return Function(
        str(f.name), tuple((str(p.name), str(p.type)) for p in parameters), str(f.result), _strings(f.marks, f.mark_count),
        str(f.file), f.line, str(f.comment), bool(f.is_private))


def _macro(m: Any) -> Macro:
    return Macro(str(m.name), _strings(m.parameters, m.parameter_count), str(m.body), str(m.file), m.line)


def _health(h: Any) -> Health:
    points = tuple((str(h.points[i]), bool(h.matches[i])) for i in range(h.point_count))
    broken = tuple(_local(h.broken[i].contents) for i in range(h.broken_count))
    return Health(str(h.name), str(h.file), h.line, _STATES[h.state] if h.state < len(_STATES) else "?", points, broken)


def _skipped(s: Any) -> Skipped:
    return Skipped(str(s.path), str(s.kind), str(s.why), s.count, bool(s.is_whole_object))


def _object(o: Any) -> Object:
    build_id = c.string_at(o.build_id.text, o.build_id.length).hex()
    return Object(o.object, str(o.name), str(o.path), build_id, bool(o.flags & 1))


def _file(f: Any) -> File:
    return File(str(f.path), str(f.release), str(f.process), str(f.why))


_STATES = "resolves nothing skipped unindexed fails".split()
_KINDS = "point variable function arity name type untyped control privilege unassigned".split()


def _finding(f: Any) -> Finding:
    kind = _KINDS[f.kind] if f.kind < len(_KINDS) else "?"
    return Finding(
        file=str(f.file), line=f.line, column=f.column, kind=kind, what=str(f.what), why=str(f.why),
        instead=_strings(f.instead, f.instead_count),
        state=dict(enumerate(_STATES)).get(f.state, "?") if kind == "point" else "", breaks=bool(f.breaks),
        addresses=f.addresses, reachable=f.reachable)


def _line(l: Any) -> Line:
    addresses = tuple(l.places[i].address for i in range(l.place_count))
    return Line(str(l.module), str(l.function), str(l.file), l.line, addresses, addresses[l.best], bool(l.is_reachable))


def _where(w: Any) -> Where:
    frames = (w.frames[i] for i in range(w.frame_count))
    chain = tuple(Frame(str(f.function), str(f.file), f.line, f.column, bool(f.is_inlined)) for f in frames)
    return Where(str(w.module), str(w.section), str(w.symbol), w.symbol_offset, w.address, chain)


def _decoded(d: Any) -> tuple[int, bytes, bytes]:
    return d.end, c.string_at(d.behind.text, d.behind.length), c.string_at(d.below.text, d.below.length)


def _size(number: int) -> Optional[int]:
    return None if number == _NO_SIZE else number


def _member(m: Any) -> Member:
    bits = (m.lowest_bit, m.width) if m.width else None
    return Member(str(m.name), str(m.type), m.offset, _size(m.bytes), m.value, bits, _steps(m.steps, m.step_count))


def _type(t: Any) -> Type:
    members = tuple(_member(t.members[i].contents) for i in range(t.member_count))
    return Type(str(t.name), str(t.spelled), str(t.file), t.line, _size(t.bytes), members)


def _user(u: Any) -> User:
    uses = tuple((u.uses[2 * i], u.uses[2 * i + 1]) for i in range(u.use_count))
    objects = tuple(u.objects[i] for i in range(u.object_count))
    return User(str(u.function), str(u.file), u.line, bool(u.is_inlined), uses, objects)


def _refused(r: Any) -> Refused:
    return Refused(str(r.module), str(r.symbol), str(r.section), r.start, r.end, _verdict(r.reason))
