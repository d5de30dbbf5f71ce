"""Promises kept: each answer that callers were given, found again by GET and in the ledger, once and nothing beside it.

book -> what should be there, by kind and name;  ledger, lists of `/api/v1` -> what is there;  they are the same
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx

from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.tools import Tools
from assay.kernel.ledger import EntryKind
from assay.ports.ledger_store import StoredEntry
from tests.delivering import recount_rules
from tests.faults._callers import PREFIX, Book, Told
from tests.faults._work import Asked, bundle_id
from tests.flows._node import TENANT

__all__ = ["expect_kept", "expect_listed", "promised"]

Fact = tuple[str, str]
_PAGE = 500
_SHOWN = 5
# What is recorded under the very key of its request.
_KINDS: dict[str, tuple[str, ...]] = {
    "/entries": (EntryKind.NOTE,),
    "/observations": (EntryKind.OBSERVATION_RECORDED,),
    "/telemetry": (EntryKind.VERDICT, EntryKind.VERDICT_HELD),
}
# Of each kind that callers ask for: where in the entry's body its name stands.
_NAMES: dict[str, Callable[[Any], str]] = {
    EntryKind.NOTE: lambda body: body["note"]["name"],
    EntryKind.OBSERVATION_RECORDED: lambda body: body["record"]["observation_id"],
    EntryKind.VERDICT: lambda body: body["telemetry"]["telemetry_id"],
    EntryKind.VERDICT_HELD: lambda body: body["telemetry"]["telemetry_id"],
    EntryKind.CLAIMS_RECEIVED: lambda body: body["bundle"]["id"],
    EntryKind.TICKET_ANSWERED: lambda body: body["ticket_id"],
    EntryKind.OUTCOME_REPORTED: lambda body: body["signal_id"],
}


def expect_kept(tools: Tools, book: Book, *, after: int) -> None:
    """The ledger holds, counters equal a recount, and what came after an entry is what was promised, each once."""
    report = audit_ledger(tools, TENANT, full=True)
    assert report.holds, report.message
    recount = recount_rules(tools, TENANT)
    assert recount.holds, recount.problems
    rows = tools.database.read(lambda unit: {row.sequence_number: row for row in unit.ledger.entries(TENANT)})
    broken = [one for told in book.told.values() for one in _broken(told, rows)]
    assert not broken, broken[:_SHOWN]
    stored = Counter(_stored(row) for number, row in rows.items() if number > after and row.kind in _NAMES)
    wanted = Counter(promised(book))
    lost, beside = wanted - stored, stored - wanted
    assert not lost, f"lost: {list(lost)[:_SHOWN]}"
    assert not beside, f"twice, or never asked for: {list(beside)[:_SHOWN]}"


def expect_listed(client: httpx.Client, book: Book) -> None:
    """Every promise is found by GET, in pages, and none of them twice."""
    wanted = set(promised(book))
    for kind, (path, name_of) in _LISTS.items():
        names = Counter(name for item in _items(client, path) if (name := name_of(item)) is not None)
        twice = [name for name, times in names.items() if times > 1]
        lost = {name for one, name in wanted if one == kind} - names.keys()
        assert not twice, f"{path}: listed twice: {twice[:_SHOWN]}"
        assert not lost, f"{path}: not listed: {list(lost)[:_SHOWN]}"


def promised(book: Book) -> Iterator[Fact]:
    """What the ledger must hold after all answers, kept or lost on the way."""
    for told in book.told.values():
        yield from _facts(told.asked, told.answer)
    for asked in book.unheard.values():
        yield from _facts(asked, None)


def _facts(asked: Asked, answer: Any) -> list[Fact]:  # noqa: ANN401  any JSON
    """What a change leaves in the ledger under a name of its own.

    A state, or another decision about a bundle, is not among them: whoever else asks brings the same about.
    """
    match asked.path.strip("/").split("/"):
        case ["tickets", ticket_id, "answers"]:
            return [(EntryKind.TICKET_ANSWERED, ticket_id)]
        case ["outcomes"]:
            return [(EntryKind.OUTCOME_REPORTED, answer["signal_id"])]
        case ["observations:bulk"]:
            return [(EntryKind.OBSERVATION_RECORDED, one["receipt"]["observation_id"]) for one in answer]
        case ["outcomes:bulk"]:
            return [(EntryKind.OUTCOME_REPORTED, one["receipt"]["signal_id"]) for one in answer]
        case ["claims"]:
            return [(EntryKind.CLAIMS_RECEIVED, bundle_id(asked.key))]
    return [(kind, asked.key) for kind in _KINDS.get(asked.path, ())]


def _stored(row: StoredEntry) -> Fact:
    return row.kind, _NAMES[row.kind](json.loads(row.text)["body"])


def _broken(told: Told, rows: Mapping[int, StoredEntry]) -> list[str]:
    """The places that an answer named, and that hold something else."""
    places = _places(told.asked, told.answer)
    return [
        f"{told.asked.path} {told.asked.key}: entry {number}"
        for number, text in places
        if number not in rows or (rows[number].entry_hash != text and text not in rows[number].text.decode())
    ]


def _places(asked: Asked, answer: Any) -> list[tuple[int, str]]:  # noqa: ANN401  any JSON
    """Entries that an answer names, each with its hash or a text in it."""
    match asked.path.strip("/").split("/"):
        case ["telemetry"]:
            return [(one["sequence_number"], one["entry_hash"]) for one in answer["verdicts"]]
        case ["tickets", *_]:
            return [(answer["answered"]["receipt"]["sequence_number"], answer["answered"]["answer"]["signature"])]
        case ["claims", *_]:
            return [(answer["sequence_number"], answer["bundle_hash"])]
        case ["states", *_]:
            return [(answer["sequence_number"], answer["state"]["security"]["state_hash"])]
        case ["observations:bulk" | "outcomes:bulk"]:
            return [_receipt(one["receipt"]) for one in answer]
    return [_receipt(answer)]


def _receipt(answer: Any) -> tuple[int, str]:  # noqa: ANN401  any JSON
    return answer["sequence_number"], next(
        answer[name] for name in ("observation_id", "signal_id", "entry_hash") if name in answer
    )


def _answered(item: Any) -> str | None:  # noqa: ANN401  any JSON
    ticket_id: str = item["ticket"]["id"]
    return ticket_id if item["settlement"]["counted"] else None


def _items(client: httpx.Client, path: str) -> Iterator[Any]:
    cursor: str | None = ""
    while cursor is not None:
        page = client.get(f"{PREFIX}{path}&limit={_PAGE}" + (f"&cursor={cursor}" if cursor else "")).json()
        yield from page["items"]
        cursor = page["next"]


# Where each kind is listed, and the name of an item there.
_LISTS: dict[str, tuple[str, Callable[[Any], str | None]]] = {
    EntryKind.NOTE: ("/entries?kind=note", lambda item: item["body"]["note"]["name"]),
    EntryKind.OBSERVATION_RECORDED: ("/observations?", lambda item: item["observation_id"]),
    EntryKind.VERDICT: ("/verdicts?rule_id=SO2", lambda item: item["telemetry_id"]),
    EntryKind.VERDICT_HELD: ("/verdicts?rule_id=NOX", lambda item: item["telemetry_id"]),
    EntryKind.CLAIMS_RECEIVED: ("/claims?", lambda item: item["bundle_id"]),
    EntryKind.TICKET_ANSWERED: ("/tickets?settled=true", _answered),
    EntryKind.OUTCOME_REPORTED: ("/outcomes?", lambda item: item["signal_id"]),
}
