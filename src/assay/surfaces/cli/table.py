"""Tables: as wide as the terminal, or aligned columns that nothing cuts where a file or a program reads."""

import io
import sys
from collections.abc import Sequence
from typing import TextIO

from assay.surfaces.cli.acting import columns, plain

__all__ = ["table_text"]


def table_text(heads: Sequence[str], rows: Sequence[Sequence[str]], *, stream: TextIO | None = None) -> str:
    """The table for this stream, standard output unless another is named; what strangers wrote is made harmless."""
    cells = [tuple(" ".join(plain(cell).split()) for cell in row) for row in rows]
    target = stream or sys.stdout
    return _wrapped(heads, cells) if target.isatty() else columns([tuple(heads), *cells])


def _wrapped(heads: Sequence[str], cells: Sequence[tuple[str, ...]]) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    width = Console().width
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for number, head in enumerate(heads):
        is_numeric = bool(cells) and all(row[number].isdigit() for row in cells)
        # What a row is called is typed into the next command: it is kept on one line while there is room for the rest.
        is_whole = number == 0 and max((len(row[0]) for row in cells), default=0) <= width // 2
        table.add_column(head, justify="right" if is_numeric else "left", overflow="fold", no_wrap=is_whole)
    for row in cells:
        table.add_row(*map(Text, row))
    out = io.StringIO()
    # The width of the real terminal; the text goes through `click.echo` like every other.
    Console(file=out, width=width, color_system=None).print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().strip("\n").split("\n"))
