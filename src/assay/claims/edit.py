"""A reviewer's edit of a bundle that waits: what may be changed, and what was.

bundle + edit -> document of the bundle in its place;   two bundles -> each change with its text before and after
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType, to_builtins

from assay.claims.bundle import Claim, ClaimBundle
from assay.kernel.canonical import canonical_json
from assay.kernel.instant import Instant, render_instant


class BundleEdit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The claims as they should be, all of them, and the tool arguments where they change too."""

    claims: tuple[dict[str, Any], ...]
    tool_arguments: tuple[str, ...] | UnsetType = UNSET


class ClaimChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One change; `field` is `claim` where a whole claim came or went, and `claim_id` None for tool arguments.

    `before` and `after` are JSON, None where there is nothing.
    """

    field: str
    claim_id: str | None = None
    before: str | None = None
    after: str | None = None


def edited_document(bundle: ClaimBundle, edit: BundleEdit, *, at: Instant) -> dict[str, Any]:
    """The document of the bundle that takes the place: the same id and agent, asking for the same people."""
    return {
        "id": bundle.id,
        "timestamp": render_instant(at),
        "origin_agent": bundle.origin_agent,
        "claims": list(edit.claims),
        "required_approvals": list(bundle.required_approvals),
    }


def find_changes(
    before: ClaimBundle,
    after: ClaimBundle,
    arguments_before: tuple[str, ...] = (),
    arguments_after: tuple[str, ...] = (),
) -> tuple[ClaimChange, ...]:
    """Every difference between two bundles, by claim id and field, then that of the tool arguments."""
    old, new = ({one.id: one for one in bundle.claims} for bundle in (before, after))
    found = [change for name in sorted({*old, *new}) for change in _changes(name, old.get(name), new.get(name))]
    if arguments_before != arguments_after:
        texts = canonical_json(list(arguments_before)), canonical_json(list(arguments_after))
        found.append(ClaimChange(field="tool_arguments", before=texts[0], after=texts[1]))
    return tuple(found)


def _changes(name: str, old: Claim | None, new: Claim | None) -> Iterator[ClaimChange]:
    if old is None or new is None:
        yield ClaimChange(
            field="claim",
            claim_id=name,
            before=None if old is None else _text(to_builtins(old)),
            after=None if new is None else _text(to_builtins(new)),
        )
        return
    was, now = to_builtins(old), to_builtins(new)
    for field in Claim.__struct_fields__:
        if was[field] != now[field]:
            yield ClaimChange(field=field, claim_id=name, before=_text(was[field]), after=_text(now[field]))


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
