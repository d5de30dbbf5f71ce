"""Commitments: a record that can lose a value and keep its proof.

body -> seal_fields -> sealed body (logged for ever) + disclosures (kept aside, deletable)
sealed body + disclosures -> open_fields -> the body again

In the sealed body each value is replaced by `{"$commitment": "sha256:..."}`, the digest of the canonical bytes
(`ski-3.0`) of `{"salt": hex, "value": value}`. Without the salt nobody can test a guess, so deleting value and salt
erases the value, while the entry's hash and its Merkle proof stay as they were.
"""

import hmac
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import cast

from msgspec import Raw, Struct

from assay.kernel.canonical import canonical_digest, canonicalize
from assay.kernel.digest import Digest
from assay.kernel.errors import Blame, CommitmentError
from assay.kernel.json_text import CANONICAL_LIMITS, JsonValue, parse_json

COMMITMENT_KEY = "$commitment"
MIN_SALT_SIZE = 16

_SALT = re.compile(r"(?:[0-9a-f]{2})+", re.ASCII)
_POINTER = re.compile(r"(?:/(?:[^/~]|~[01])*)+", re.DOTALL)
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)


class ReservedKeyError(CommitmentError):
    """A body already contains `$commitment`, which only sealing may write."""

    code = "commitment.reserved"


class PointerError(CommitmentError):
    """A pointer is malformed, leads nowhere, or leads into another sealed value."""

    code = "commitment.pointer"


class SaltError(CommitmentError):
    """A salt is too short, malformed, missing or used twice."""

    code = "commitment.salt"


class AbsentCommitmentError(CommitmentError):
    """The body holds no commitment where the disclosure points."""

    code = "commitment.absent"


class MismatchedDisclosureError(CommitmentError):
    """Value and salt are not the ones that were committed to."""

    code = "commitment.mismatch"
    blame = Blame.INPUT


class Disclosure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What opens one commitment: where it stands (RFC 6901), its salt in hex, and the value as JSON text."""

    pointer: str
    salt: str
    value: Raw


def commit(value: object, salt: bytes) -> Digest:
    """The digest that stands for a value; equal values under different salts have unrelated digests."""
    if len(salt) < MIN_SALT_SIZE:
        raise SaltError(f"expected a salt of at least {MIN_SALT_SIZE} bytes, got {len(salt)}")
    return canonical_digest({"salt": salt.hex(), "value": value})


def seal_fields(
    body: Mapping[str, object], pointers: Sequence[str], salts: Sequence[bytes]
) -> tuple[dict[str, JsonValue], tuple[Disclosure, ...]]:
    """Replace the value at each pointer by its commitment; the body given is not changed.

    The caller draws one fresh random salt per pointer: a salt used twice would show which values are equal.
    Pointers are read against the canonical body (NFC keys) and may not lead into one another.
    """
    if len(salts) != len(pointers) or len(set(salts)) != len(salts):
        raise SaltError(f"expected {len(pointers)} different salts, one per pointer, got {len(set(salts))}")
    sealed = _copy(body)
    _refuse_reserved(sealed)
    _refuse_overlap(pointers)
    disclosures = tuple(_seal_one(sealed, pointer, salt) for pointer, salt in zip(pointers, salts, strict=True))
    return sealed, disclosures


def verify_disclosure(body: Mapping[str, object], disclosure: Disclosure) -> None:
    """Raise unless the body commits, at that pointer, to exactly this value and salt."""
    _verify_at(_copy(body), disclosure)


def open_fields(body: Mapping[str, object], disclosures: Iterable[Disclosure]) -> dict[str, JsonValue]:
    """The body with each disclosed value back in place, each verified first; what is not disclosed stays sealed."""
    opened = _copy(body)
    for disclosure in disclosures:
        value = _verify_at(opened, disclosure)
        _put(opened, disclosure.pointer, value)
    return opened


def _copy(body: Mapping[str, object]) -> dict[str, JsonValue]:
    """A fresh JSON copy; canonical bytes refuse everything that is not JSON, and any depth that would not end."""
    return cast("dict[str, JsonValue]", parse_json(canonicalize(body), limits=CANONICAL_LIMITS))


def _seal_one(sealed: dict[str, JsonValue], pointer: str, salt: bytes) -> Disclosure:
    value = _get(sealed, pointer)
    _put(sealed, pointer, {COMMITMENT_KEY: commit(value, salt)})
    return Disclosure(pointer=pointer, salt=salt.hex(), value=Raw(canonicalize(value)))


def _verify_at(body: dict[str, JsonValue], disclosure: Disclosure) -> JsonValue:
    committed = _get(body, disclosure.pointer)
    if not isinstance(committed, dict) or committed.keys() != {COMMITMENT_KEY}:
        raise AbsentCommitmentError(f"expected a commitment at `{disclosure.pointer}`, got something else")
    value = parse_json(bytes(disclosure.value), limits=CANONICAL_LIMITS)
    digest = commit(value, _salt_bytes(disclosure.salt))
    if not hmac.compare_digest(digest.encode(), str(committed[COMMITMENT_KEY]).encode()):
        raise MismatchedDisclosureError(f"the value disclosed for `{disclosure.pointer}` is not the committed one")
    return value


def _salt_bytes(text: str) -> bytes:
    if _SALT.fullmatch(text) is None:
        raise SaltError(f"expected a salt in lower-case hex, got {len(text)} characters of something else")
    return bytes.fromhex(text)


def _refuse_reserved(body: JsonValue) -> None:
    for node in _containers(body):
        if isinstance(node, dict) and COMMITMENT_KEY in node:
            raise ReservedKeyError(f"expected a body without the key `{COMMITMENT_KEY}`, got one")


def _containers(body: JsonValue) -> Iterator[JsonValue]:
    waiting = [body]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, dict):
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _refuse_overlap(pointers: Sequence[str]) -> None:
    """Refuse two pointers of which one leads into the other: the inner value would be lost in the outer commitment."""
    ordered = sorted(pointer + "/" for pointer in pointers)
    for outer, inner in pairwise(ordered):
        if inner.startswith(outer):
            raise PointerError(f"expected separate pointers, got `{inner[:-1]}` within `{outer[:-1]}`")


def _get(body: JsonValue, pointer: str) -> JsonValue:
    node = body
    for token in _tokens(pointer):
        node = _step(node, token, pointer)
    return node


def _put(body: JsonValue, pointer: str, value: JsonValue) -> None:
    *path, last = _tokens(pointer)
    parent = body
    for token in path:
        parent = _step(parent, token, pointer)
    if isinstance(parent, list):
        parent[int(last)] = value
    else:  # `_get` went the same way before, so the parent is a container
        cast("dict[str, JsonValue]", parent)[last] = value


def _step(node: JsonValue, token: str, pointer: str) -> JsonValue:
    if isinstance(node, dict) and token in node:
        return node[token]
    if isinstance(node, list) and _INDEX.fullmatch(token) and int(token) < len(node):
        return node[int(token)]
    raise PointerError(f"expected a value at `{pointer}`, got none for `{token}`")


def _tokens(pointer: str) -> list[str]:
    """RFC 6901; the empty pointer is refused, since a body has to stay an object."""
    if _POINTER.fullmatch(pointer) is None:
        raise PointerError(f"expected a JSON pointer to a field, got `{pointer[:80]}`")
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/")]
