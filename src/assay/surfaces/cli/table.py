"""Tables: as wide as the terminal, or aligned columns that nothing cuts where a file or a program reads.

On a terminal too narrow for its longest words a row becomes a block of lines: no id, hash or time is ever torn.
"""

import io
import os
import shutil
import sys
from collections.abc import Sequence
from typing import TextIO

from assay.surfaces.cli.acting import columns, plain

# Between two columns, and around all of them.
_GAP = 3


def table_text(heads: Sequence[str], rows: Sequence[Sequence[str]], *, stream: TextIO | None = None) -> str:
    """The table for this stream, standard output unless another is named; what strangers wrote is made harmless."""
    cells = [tuple(" ".join(plain(cell).split()) for cell in row) for row in rows]
    target = stream or sys.stdout
    if not target.isatty():
        return columns([tuple(heads), *cells])
    width = shutil.get_terminal_size().columns
    return _wrapped(heads, cells, width) if _least_width(heads, cells) <= width else _blocks(heads, cells)


def _least_width(heads: Sequence[str], cells: Sequence[tuple[str, ...]]) -> int:
    """What a table needs in which no word is torn."""
    longest = [
        max(len(word) for cell in column for word in cell.split() or [""]) for column in zip(heads, *cells, strict=True)
    ]
    return sum(longest) + _GAP * len(longest)


def _blocks(heads: Sequence[str], cells: Sequence[tuple[str, ...]]) -> str:
    """One line for each cell that says something."""
    rows = [[(head, cell) for head, cell in zip(heads, row, strict=True) if cell not in ("", "-")] for row in cells]
    width = max(map(len, heads))
    return "\n\n".join("\n".join(f"{head:<{width}}  {cell}" for head, cell in row) for row in rows)


def _wrapped(heads: Sequence[str], cells: Sequence[tuple[str, ...]], width: int) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for number, head in enumerate(heads):
        is_numeric = bool(cells) and all(row[number].isdigit() for row in cells)
        table.add_column(head, justify="right" if is_numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    out = io.StringIO()
    # The width of the real terminal; the text goes through `click.echo` like every other.
    is_plain = bool(os.environ.get("NO_COLOR"))
    colours = Console(file=out, width=width, color_system=None if is_plain else "standard", force_terminal=not is_plain)
    colours.print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().strip("\n").split("\n"))
