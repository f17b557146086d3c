"""The C library: its structs, and how it is asked. Private: use the package."""

from __future__ import annotations

import ctypes as c
import os
from typing import Any, Callable


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
    ("written_by", c.c_char * 32), ("direct_calls", c.c_uint64))
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


class Error(Exception):
    """A question that has no answer: ``kind`` (``no-match``, ``usage``, ``no-index`` ...), ``message``, ``place``, ``remedy``."""

    def __init__(self, kind: str, message: str, place: str, remedy: str) -> None:
        self.kind, self.message, self.place, self.remedy = kind, message, place, remedy
        head = f"{place}: " if place else ""
        super().__init__(head + message + (f"; {remedy}" if remedy else ""))


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
