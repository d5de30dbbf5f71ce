"""Knowledge graphs in files: read whole, and written as an author would keep them."""

from pathlib import Path

import click
import msgspec

from assay.kernel.json_text import JsonValue
from assay.surfaces.cli.output import Call
from assay.surfaces.cli.sink import open_file_sink
from assay.surfaces.cli.text_file import read_bytes
from assay.verdicts.graph.parse import GRAPH_LIMITS

_HASH = "sha256:"

file_argument = click.argument(
    "file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False, allow_dash=False)
)

output_option = click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    default="-",
    metavar="FILE",
    help="A new file; else standard output.",
)


def read_graph_file(path: Path) -> bytes:
    return read_bytes(path, largest=GRAPH_LIMITS.max_bytes)


def is_hash(text: str) -> bool:
    """Whether a name is a hash, or the beginning of one, and no file."""
    return text.startswith(_HASH)


def graph_text(document: JsonValue) -> bytes:
    """Indented, in the order it was made: for people to read and to keep under version control."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def put_graph(call: Call, text: bytes, output: Path, facts: dict[str, object], words: str) -> None:
    """To standard output as it is (with `--json` under `graph`), or into a new file."""
    if str(output) == "-":
        call.answer({**facts, "graph": msgspec.Raw(text)}, text.decode().removesuffix("\n"))
        call.say(words)
        return
    with open_file_sink(output) as put:
        put(output.name, text)
    call.answer({**facts, "output": str(output)}, f"wrote {output}: {words}")
