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
from typing import Any, Callable, Iterable, Iterator, Optional

from ._convert import (
    _decoded, _definition, _file, _finding, _function, _health, _line, _macro, _member, _missing, _object, _placement,
    _refused, _skipped, _type, _user, _where,
)
from ._library import (
    Error, _ask, _each, _Decoded, _Defined, _Definition, _File, _Finding, _Function, _Health, _LIBRARY, _Line, _Log,
    _Macro, _Member, _Missing, _Object, _Options, _Placement, _Refused, _Section, _Skipped, _Stap, _Summary, _Text,
    _Type, _User, _Where,
)
from .answers import (
    Alias, Arm, Assignment, Call, Definition, Field, File, Finding, Frame, Function, Health, Line, Local, Macro,
    Member, Missing, Object, Placement, Refused, Skipped, Step, Tracepoint, Type, User, Value, Where,
)

__all__ = [
    "Error", "Index", "Placement", "Alias", "Local", "Tracepoint", "Field", "Value", "Step", "Call", "Line", "Frame", "Where",
    "Type", "Member", "User", "Refused", "Finding", "Missing", "Definition", "Arm", "Assignment", "Function", "Macro", "Health",
    "Skipped", "Object", "File", "kernels", "version",
]


def version() -> str:
    """The version of the library that is loaded, such as ``0.1.0``."""
    number = _LIBRARY.probeidx_version()
    return f"{number >> 16}.{number >> 8 & 255}.{number & 255}"


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
