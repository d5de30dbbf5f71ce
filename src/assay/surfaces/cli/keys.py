"""Keys as they are given on the command line: a file, the text itself, or a key id."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.kernel.errors import Error

if TYPE_CHECKING:
    from assay.kernel.key import TrustAnchors

_LONGEST = 16 * 1024

trust_option = click.option(
    "--trust",
    multiple=True,
    metavar="KEY",
    help="A key you trust: a file, a verifier key, PEM, hex, or a sha256: key id. May be repeated.",
)


def read_key_text(given: str) -> str:
    """The content of the file of that name if there is one, else the text as it was given."""
    if not _is_file(given):
        return given.strip()
    with Path(given).open("rb") as file:
        return file.read(_LONGEST).decode("utf-8", errors="replace").strip()


def read_anchors(given: Sequence[str]) -> "TrustAnchors":
    """The keys to trust; one that cannot be read is wrong usage, and says nothing about what is to be verified."""
    from assay.kernel.key import parse_anchors

    try:
        return parse_anchors(read_key_text(text) for text in given)
    except Error as error:
        absent = [text for text in given if _reads_like_a_file(text) and not _is_file(text)]
        told = f"no file is named `{absent[0]}`" if absent else str(error)
        raise click.BadParameter(told, param_hint="--trust") from error


def pinned_origin(given: Sequence[str]) -> str | None:
    """A verifier key names its log: when all keys given name the same one, no other log will do."""
    texts = [read_key_text(text) for text in given]
    names = {text.partition("+")[0] if _is_verifier_key(text) else None for text in texts}
    return names.pop() if len(names) == 1 else None


def read_witnesses(given: Sequence[str]) -> dict[str, bytes]:
    """Witness name -> public key, from verifier keys of witnesses, each name once."""
    from assay.kernel.note import SignatureType, parse_verifier_key

    try:
        keys = [parse_verifier_key(read_key_text(text)) for text in given]
    except Error as error:
        raise click.BadParameter(str(error), param_hint="--witness") from error
    named = {key.name: key.public_key for key in keys}
    if len(named) < len(keys):
        raise click.BadParameter("expected each witness once, got a name twice", param_hint="--witness")
    if any(key.type is not SignatureType.COSIGNATURE for key in keys):
        # Its key hash differs from that of every cosignature, so it would silently never count.
        raise click.BadParameter("expected a witness's key (type 4), got a log's (type 1)", param_hint="--witness")
    return named


def _is_file(given: str) -> bool:
    try:
        return Path(given).is_file()
    except (OSError, ValueError):  # a text too long for a name, or with a NUL: no file has it
        return False


def _reads_like_a_file(given: str) -> bool:
    # No key has a dot but a verifier key, which has `+`; what may be a key is never repeated.
    return "." in given and "+" not in given and given.isprintable()


def _is_verifier_key(text: str) -> bool:
    # Base64 may hold `+` too, but not twice around eight hex digits.
    parts = text.split("+", 2)
    return len(parts) == 3 and len(parts[1]) == 8 and not text.startswith("-----")  # noqa: PLR2004 - name+hash+key
