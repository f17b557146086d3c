"""From the structs of the library to answers. Private: use the package."""

from __future__ import annotations

import ctypes as c
from typing import Any, Optional

from ._library import _Arm, _LIBRARY, _NO_SIZE
from .answers import (
    Alias, Arm, Assignment, Call, Definition, Field, File, Finding, Frame, Function, Health, Line, Local, Macro, Member, Missing, Object, Placement, Refused, Skipped, Step, Tracepoint, Type, User, Value, Where,
)

_OPS = "register constant address returned passed add read read_user bits bits_signed in_place".split()


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
_KINDS = "point variable function arity name type untyped control privilege unassigned regex assumed".split()


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
