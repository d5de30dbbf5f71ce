"""Text for a terminal: aligned columns, and foreign text without what could move the cursor."""

from collections.abc import Sequence


def columns(rows: Sequence[tuple[str, ...]]) -> str:
    """Align rows in columns; an empty list is an empty text."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines)


def plain(text: str) -> str:
    """Escape characters of foreign text that could move the cursor or hide other text."""
    return "".join(one if one.isprintable() or one in "\n\t" else one.encode("unicode_escape").decode() for one in text)
