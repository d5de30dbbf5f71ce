"""What an entry can be found by: every short text, whole number and truth value in it, under the name it stands under.

entry text -> terms_of -> `kind=verdict`, `rule_id=EN-1`, `day=2026-03-01`, …;   term -> term_key, which indexes sort by

Terms follow from the proven text alone, so anybody who holds the entries finds the same ones. Personal values are not
among them: an entry has commitments in their place.
"""

from hashlib import sha256

import msgspec

from assay.kernel.errors import Blame, ProofError

# Two terms that share sixteen bytes would share a line of the index; nothing is hidden by that.
KEY_SIZE = 16
MAX_TERM = 256
# What every entry has and nobody searches for; its day stands for its timestamp.
_PLACE = frozenset({"previous_hash", "profile", "schema_version", "sequence_number", "tenant_id", "timestamp"})
_DAY = len("2026-03-01")


class TermError(ProofError):
    """What to search for is not of the form `name=value`, or too long to be in any index."""

    code = "search.term"
    blame = Blame.USAGE


def parse_term(text: str) -> str:
    """A term as somebody wrote it; one that no entry could have is refused, and not answered with nothing."""
    name, separator, value = text.partition("=")
    if not (name and separator and value):
        raise TermError(f"expected `name=value`, got `{text[:80]}`")
    if len(text) > MAX_TERM:
        raise TermError(f"expected a term of at most {MAX_TERM} characters, got {len(text)}")
    return text


def term_key(term: str) -> bytes:
    return sha256(term.encode()).digest()[:KEY_SIZE]


def terms_of(text: bytes) -> frozenset[str]:
    """All terms of an entry; members of its body count as its own, however deep, and a list is all of its items."""
    document: dict[str, object] = msgspec.json.decode(text, type=dict[str, object])
    terms = [f"day={str(document['timestamp'])[:_DAY]}"]
    for name, value in document.items():
        if name not in _PLACE:
            _collect(name, value, terms)
    return frozenset([term for term in terms if len(term) <= MAX_TERM])


def _collect(name: str, value: object, terms: list[str]) -> None:
    if isinstance(value, str):
        if value:
            terms.append(f"{name}={value}")
    elif isinstance(value, dict):
        for inner, item in value.items():
            _collect(inner, item, terms)
    elif isinstance(value, list):
        for item in value:
            _collect(name, item, terms)
    elif isinstance(value, bool):
        terms.append(f"{name}={'true' if value else 'false'}")
    elif isinstance(value, int):
        terms.append(f"{name}={value}")
