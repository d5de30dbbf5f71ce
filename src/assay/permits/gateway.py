"""The table of a gateway: which tools of others' servers may be called, as what, and by which definition.

definition of a tool -> its hash;  table + tool + arguments -> the first row that fits, or none: then nothing is called
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from assay.identity.risk import RiskTier
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest, digest_of
from assay.permits.errors import PermitError
from assay.permits.mandate import ArgumentLimit, limit_problems, outside

MOST_ROWS = 2000
_TOOL = re.compile(r"[A-Za-z0-9_.-]{1,128}", re.ASCII)
_LONGEST_TEXT = 2000
_CLAIM_TYPES = ("DECISION", "FACT", "INFERENCE")


class ToolRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How calls of a tool are taken. `tool` is its name with the prefix of its server, `files__read_file`.

    `when` limits the calls that the row is about; without it the row takes every call. `says` is what approvers read,
    with arguments in braces.
    """

    tool: str
    definition_hash: Digest
    tier: RiskTier
    when: tuple[ArgumentLimit, ...] = ()
    claim_type: str = "DECISION"
    says: str = ""
    if_wrong: str = ""


def hash_definition(definition: Mapping[str, Any]) -> Digest:
    """What is pinned: everything that a server says of a tool, its description and schemas included."""
    return digest_of(canonicalize({name: value for name, value in definition.items() if value is not None}))


def find_row(rows: tuple[ToolRow, ...], tool: str, arguments: Mapping[str, Any]) -> ToolRow | None:
    """The first row that takes this call."""
    return next((row for row in rows if row.tool == tool and _fits(row, arguments)), None)


def find_opened(before: tuple[ToolRow, ...], after: tuple[ToolRow, ...]) -> tuple[str, ...]:
    """The tools that a table may let do more than the one before: new ones, and those whose rows differ.

    A tool that lost all its rows is refused from then on, so it opens nothing.
    """
    known = {row.tool: tuple(one for one in before if one.tool == row.tool) for row in before}
    wanted = {row.tool: tuple(one for one in after if one.tool == row.tool) for row in after}
    return tuple(sorted(tool for tool, rows in wanted.items() if rows != known.get(tool)))


def _fits(row: ToolRow, arguments: Mapping[str, Any]) -> bool:
    return all(
        limit.is_optional if limit.argument not in arguments else outside(limit, arguments[limit.argument]) is None
        for limit in row.when
    )


def verify_rows(rows: tuple[ToolRow, ...]) -> None:
    """Raise with everything that is wrong with a table."""
    problems = tuple(_problems(rows))
    if problems:
        raise PermitError.gateway_table("; ".join(problems[:20]))


def _problems(rows: tuple[ToolRow, ...]) -> Iterator[str]:
    if len(rows) > MOST_ROWS:
        yield f"expected at most {MOST_ROWS} rows, got {len(rows)}"
    pinned: dict[str, Digest] = {}
    for row in rows[:MOST_ROWS]:
        if _TOOL.fullmatch(row.tool) is None:
            yield f"expected a tool of 1 to 128 of `A-Z a-z 0-9 _ . -`, got `{row.tool[:80]}`"
        if row.claim_type not in _CLAIM_TYPES:
            expected = ", ".join(_CLAIM_TYPES)
            yield f"`{row.tool}`: expected one of {expected} as `claim_type`, got `{row.claim_type[:80]}`"
        if max(len(row.says), len(row.if_wrong)) > _LONGEST_TEXT:
            yield f"`{row.tool}`: expected texts of at most {_LONGEST_TEXT} characters"
        if pinned.setdefault(row.tool, row.definition_hash) != row.definition_hash:
            yield f"`{row.tool}`: expected one definition for all of its rows"
        for limit in row.when:
            yield from (f"`{row.tool}`: {problem}" for problem in limit_problems(limit))
