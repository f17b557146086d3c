"""The exceptions."""

from __future__ import annotations

from typing import List, Optional


class Error(Exception):
    """A failure. Its text is the line that the command line prints.

    ``kind`` is what ``--json`` calls it: ``usage``, ``no-match``, ``io``, ``no-index``, ``index-too-old``,
    ``index-too-new``, ``index-damaged``, ``changed``, and others; ``internal`` for a fault of probeidx itself.
    """

    kind: str
    place: Optional[str]
    """Where it happened: a path, a section, an offset, or a line."""
    remedy: Optional[str]
    """What to do about it."""
    path: Optional[str]
    """The file in which it happened."""

    def __init__(
        self,
        text: str,
        kind: str = "internal",
        place: Optional[str] = None,
        remedy: Optional[str] = None,
        path: Optional[object] = None,
    ) -> None:
        super().__init__(text)
        self.kind = kind
        self.place = place
        self.remedy = remedy
        self.path = None if path is None else str(path)


class NotFound(Error, LookupError):
    """Nothing matches. The text says why, as far as it is known."""

    suggestions: List[str]
    """Similar names, the nearest first."""

    def __init__(
        self,
        text: str,
        suggestions: Optional[List[str]] = None,
        remedy: Optional[str] = None,
        place: Optional[str] = None,
    ) -> None:
        super().__init__(text, "no-match", place, remedy)
        self.suggestions = suggestions or []
