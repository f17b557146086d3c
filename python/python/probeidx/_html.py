"""What notebooks show. Names come from files that nobody vouches for: all of them are escaped."""

from __future__ import annotations

from html import escape
from itertools import islice
from typing import Any, Iterable, List, Optional, Sequence

MOST = 100
"""More rows than these are counted, not shown."""


def _cell(value: object) -> str:
    return "" if value is None else escape(str(value))


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]], count: int, caption: str = "") -> str:
    html: List[str] = ["<table>"]
    if caption:
        html.append(f"<caption>{_cell(caption)}</caption>")
    html.append("<thead><tr>" + "".join(f"<th>{_cell(head)}</th>" for head in heads) + "</tr></thead><tbody>")
    for row in islice(rows, MOST):
        html.append("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>")
    html.append("</tbody></table>")
    if count > MOST:
        html.append(f"<p>and {count - MOST} more</p>")
    return "".join(html)


def _at(symbol: Optional[str], offset: Optional[int]) -> Optional[str]:
    return None if symbol is None or offset is None else f"{symbol}+{offset:#x}"


def _line(file: Optional[str], line: Optional[int]) -> Optional[str]:
    return f"{file}:{line}" if file and line else None


def placements(found: Any) -> str:
    heads = ["function", "declared", "instance", "symbol", "module", "kprobe", "fentry", "variables"]

    def rows() -> Iterable[Sequence[object]]:
        for p in found:
            values = ", ".join(f"{v.name}: {v.location or v.state}" for v in p.vars)
            yield (
                p.function,
                _line(p.file, p.line),
                p.instance,
                _at(p.symbol, p.offset),
                p.module or "vmlinux",
                p.attach.get("kprobe"),
                p.attach.get("fentry"),
                values,
            )

    return _table(heads, rows(), len(found))


def placement(p: Any) -> str:
    head = f"{p.function}, {p.instance}, {_at(p.symbol, p.offset) or hex(p.address)} in {p.module or 'vmlinux'}"
    html = [f"<p><b>{_cell(head)}</b> {_cell(_line(p.file, p.line))}</p>"]
    for call in p.inlined_into:
        html.append(f"<p>inlined into {_cell(call.function)} at {_cell(_line(call.file, call.line))}</p>")
    html.append(_table(["mechanism", "verdict"], p.attach.items(), len(p.attach)))
    rows = [(v.name, v.type, v.state, v.location, v.fetch) for v in p.vars]
    html.append(_table(["variable", "type", "state", "location", "fetch"], rows, len(rows)))
    return "".join(html)


def locations(found: Any) -> str:
    rows = ((at.asked, _at(at.symbol, at.offset), at.module, at.function, _line(at.file, at.line), at.why) for at in found)
    return _table(["asked", "symbol", "module", "function", "line", ""], rows, len(found))


def callers(found: Any) -> str:
    def rows() -> Iterable[Sequence[object]]:
        for c in found:
            sites = ", ".join(_line(site.file, site.line) or hex(site.address) for site in c.sites)
            yield (c.function, c.kind, c.caller, c.module or "vmlinux", len(c.sites), sites)

    return _table(["function", "by", "caller", "module", "sites", ""], rows(), len(found))


def type_(shown: Any) -> str:
    def members(of: Any, depth: int) -> Iterable[Sequence[object]]:
        for m in of.members:
            bits = "" if m.bit_size is None else f":{m.bit_size}"
            yield (m.offset, m.size, "\u2003" * depth + m.type, f"{m.name or ''}{bits}")
            yield from members(m, depth + 1)

    head = f"{shown.kind} {shown.name or ''}, {shown.size} bytes"
    if shown.enumerators:
        return _table(["name", "value"], shown.enumerators, len(shown.enumerators), head)
    rows = list(members(shown, 0))
    return _table(["offset", "size", "type", "member"], rows, len(rows), head)


def differences(found: Any) -> str:
    def rows() -> Iterable[Sequence[object]]:
        for d in found:
            changes = "; ".join(f"{c.what} {c.name or ''}: {c.before} → {c.after}" for c in d.changes)
            yield (d.change, d.subject, d.name, changes)

    return _table(["change", "", "name", "changes"], rows(), len(found))


def outcomes(found: Any) -> str:
    def rows() -> Iterable[Sequence[object]]:
        for o in found:
            yield (o.file, o.program, o.kernel, o.state, "; ".join(f.reason for f in o.findings))

    return _table(["file", "program", "kernel", "state", "findings"], rows(), len(found))


def history(found: Any) -> str:
    rows = ((f.name, f.what, "absent" if f.absent else f.value, f.since, f.until, len(f.kernels)) for f in found)
    return _table(["name", "what", "value", "since", "until", "kernels"], rows, len(found))


def index(of: Any) -> str:
    rows = [
        ("release", of.release),
        ("architecture", of.architecture),
        ("distribution", of.distribution),
        ("build id", of.build_id),
        ("modules", len(of.modules)),
        ("path", of.path),
    ]
    return _table(["", ""], rows, len(rows))
