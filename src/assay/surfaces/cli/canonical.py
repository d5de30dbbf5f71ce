"""`assay canonical`: the bytes that are hashed."""

from typing import IO

import click

from assay.surfaces.cli.output import Call, Command


@click.command(cls=Command)
@click.option(
    "--profile",
    type=click.Choice(["ski-3.0", "kaori-2.1"]),
    default="ski-3.0",
    show_default=True,
    help="Which rules make one text of one value.",
)
@click.option("--hash", "only_hash", is_flag=True, help="Print SHA-256 of the bytes, as 64 hex digits.")
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@click.pass_obj
def canonical(call: Call, profile: str, only_hash: bool, file: IO[bytes]) -> None:  # noqa: FBT001 - click's own
    """Print the canonical bytes of the JSON text in FILE, exactly: no line feed is added.

    The text is read strictly: duplicate keys, lone surrogates, integers beyond 2^53 - 1 and trailing text
    are refused with exit code 3. Other numbers are those of binary64.
    """
    from assay.kernel.canonical import Profile, canonical_hash, canonicalize
    from assay.kernel.json_text import Limits, parse_json

    value = parse_json(file.read(Limits().max_bytes + 1))
    content, digest = canonicalize(value, Profile(profile)), canonical_hash(value, Profile(profile))
    if call.as_json:
        call.answer({"profile": profile, "canonical": content.decode(), "sha256": digest}, "")
    elif only_hash:
        click.echo(digest)
    else:
        click.echo(content, nl=False)
