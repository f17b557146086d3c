"""Where exactly can a Linux kernel be probed, and what can be read there?

>>> import probeidx
>>> index = probeidx.open()
>>> for place in index.resolve("vfs_read", "count"):
...     print(place.anchor.text, place.attach["kprobe"], place.var("count").fetch)
_text+3460176 ok count=%dx:u64
"""

from collections.abc import Sequence as _Sequence

from ._errors import Error, NotFound
from ._probeidx import (
    Alias,
    AliasLocal,
    Anchor,
    Built,
    Call,
    Change,
    Checked,
    Coverage,
    Decoded,
    Difference,
    Differences,
    Elsewhere,
    Fact,
    Field,
    Finding,
    History,
    Home,
    Index,
    Instead,
    Level,
    Location,
    Locations,
    Member,
    MemberAt,
    Outcome,
    Passed,
    Placement,
    Placements,
    Reached,
    Source,
    Store,
    Table,
    Type,
    User,
    Variable,
    __version__,
    build,
    open,
)

__all__ = [
    "Alias",
    "AliasLocal",
    "Anchor",
    "Built",
    "Call",
    "Change",
    "Checked",
    "Coverage",
    "Decoded",
    "Difference",
    "Differences",
    "Elsewhere",
    "Error",
    "Fact",
    "Field",
    "Finding",
    "History",
    "Home",
    "Index",
    "Instead",
    "Level",
    "Location",
    "Locations",
    "Member",
    "MemberAt",
    "NotFound",
    "Outcome",
    "Passed",
    "Placement",
    "Placements",
    "Reached",
    "Source",
    "Store",
    "Table",
    "Type",
    "User",
    "Variable",
    "__version__",
    "build",
    "open",
]

for _class in (Placements, Locations, Differences, History, Checked):
    _Sequence.register(_class)
del _class
