"""The extension of evidence pointers, taken out of a document before the bundle is read.

JSON value -> pointers without `quote`, `offset`, `selector` + passages by claim id
What is left is a bundle of the specification: its hash and what strict readers see are the same with or without.
"""

from collections.abc import Mapping
from typing import Any

from assay.claims._read import Members, Reader
from assay.claims.passage import Passage, Selector
from assay.claims.problem import ClaimProblemCode, pointer_to

_NAMES = frozenset({"quote", "offset", "selector"})
_QUOTE, _NAME = 16 * 1024, 1024
_MOST = 2**53


def take_passages(reader: Reader, value: object) -> tuple[object, dict[str, tuple[Passage, ...]]]:
    """The document without the extension, and the passages; the document itself where it has none."""
    claims = value.get("claims") if isinstance(value, Mapping) else None
    if not isinstance(claims, list | tuple) or not any(_is_extended(claim) for claim in claims):
        return value, {}
    passages: dict[str, tuple[Passage, ...]] = {}
    plain: list[object] = []
    for place, claim in enumerate(claims):
        if not _is_extended(claim):
            plain.append(claim)
            continue
        where = pointer_to(pointer_to("", "claims"), place)
        found = tuple(_read_passages(reader, claim["evidence_pointers"], pointer_to(where, "evidence_pointers")))
        if isinstance(claim.get("id"), str) and found:
            passages[claim["id"]] = found
        plain.append({**claim, "evidence_pointers": [_without(one) for one in claim["evidence_pointers"]]})
    return {**value, "claims": plain}, passages  # type: ignore[dict-item]  # it is a mapping, or it had no claims


def _is_extended(claim: object) -> bool:
    pointers = claim.get("evidence_pointers") if isinstance(claim, Mapping) else None
    return isinstance(pointers, list | tuple) and any(
        isinstance(one, Mapping) and not _NAMES.isdisjoint(one) for one in pointers
    )


def _without(pointer: object) -> object:
    if not isinstance(pointer, Mapping):
        return pointer
    return {name: value for name, value in pointer.items() if name not in _NAMES}


def _read_passages(reader: Reader, pointers: list[Any], base: str) -> list[Passage]:
    found = [
        _read_passage(reader, place, one, pointer_to(base, place))
        for place, one in enumerate(pointers)
        if isinstance(one, Mapping) and not _NAMES.isdisjoint(one)
    ]
    return [one for one in found if one is not None]


def _read_passage(reader: Reader, place: int, value: Mapping[str, object], pointer: str) -> Passage | None:
    before = len(reader.problems)
    members = Members(reader, value, pointer)
    fields: dict[str, Any] = {"place": place, "quote": members.text("quote", longest=_QUOTE)}
    if members.says("offset"):
        fields["offset"] = members.whole("offset", low=0, high=_MOST)
    if members.says("selector"):
        fields["selector"] = _read_selector(reader, members)
    if "offset" in fields and "selector" in fields:
        reader.tell(pointer, ClaimProblemCode.FORM, "expected offset or selector, got both")
    return Passage(**fields) if len(reader.problems) == before else None


def _read_selector(reader: Reader, passage: Members) -> Selector | None:
    members = reader.members(passage.raw("selector"), passage.at("selector"), Selector.__struct_fields__)
    if members is None:
        return None
    before = len(reader.problems)
    fields: dict[str, Any] = {}
    for name in ("page", "row"):
        if members.says(name):
            fields[name] = members.whole(name, low=1, high=_MOST)
    for name in ("pointer", "column"):
        if members.says(name):
            fields[name] = members.text(name, longest=_NAME)
    if sorted(fields) not in (["page"], ["pointer"], ["column", "row"]):
        told = "expected `page`, `pointer`, or `row` and `column`"
        reader.tell(members.pointer, ClaimProblemCode.FORM, f"{told}, got {', '.join(sorted(fields)) or 'nothing'}")
    return Selector(**fields) if len(reader.problems) == before else None
