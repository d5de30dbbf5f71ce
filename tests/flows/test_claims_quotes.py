"""Quotes on a node: they come with a bundle, are on record beside it, and are held against what is kept here."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from assay.claims.bundle import Decision
from assay.claims.finding import FindingCode
from assay.claims.passage import SupportResult
from assay.flows.claims.evidence import CheckQuote, check_quote, check_quote_in
from assay.kernel.ledger import EntryKind
from tests.acting import caller_of
from tests.claims.making import pointer
from tests.contract._kit import refused
from tests.flows._claims import ClaimsDesk, copied_claims, opened_claims

_TEXT = b"The river is 30 m deep at the bridge. It was measured in May."
_HASH = sha256(_TEXT).hexdigest()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("claims")
    with opened_claims(folder):
        return folder


@pytest.fixture
def desk(template: Path, tmp_path: Path) -> Iterator[ClaimsDesk]:
    with opened_claims(copied_claims(template, tmp_path)) as opened:
        yield opened


def _quoting(desk: ClaimsDesk, quote: str, **changes: object) -> dict[str, object]:
    named = pointer(evidence_hash=_HASH, quote=quote, **changes)
    return desk.document(desk.claim(evidence_pointers=[named]))


@pytest.mark.clause("claimbundle", "fact")
def test_a_fact_with_a_quote_that_is_not_there_is_deferred_and_says_so(desk: ClaimsDesk) -> None:
    desk.attach(_TEXT)
    gated = desk.gate(_quoting(desk, "The river is 45 m deep at the bridge."))
    assert gated.decision is Decision.DEFER
    assert FindingCode.NOT_FOUND in {one.code for one in gated.outcome.findings}
    assert "the quote is not in `https://data.example.org/rivers.csv`" in gated.outcome.reason
    # No reviewer is asked: only another quote, or another source, helps.
    assert gated.tickets == ()


def test_a_quote_is_on_record_beside_the_bundle_and_may_not_change(desk: ClaimsDesk) -> None:
    desk.attach(_TEXT)
    first = _quoting(desk, "The river is 30 m deep at the bridge.", offset=0)
    gated = desk.gate(first)
    assert (gated.decision, gated.outcome.caveats) == (Decision.PUBLISH, ())
    (entry,) = desk.entries(EntryKind.CLAIMS_RECEIVED)
    quote = {"offset": 0, "place": 0, "quote": "The river is 30 m deep at the bridge."}
    assert entry["context"]["passages"] == {"c-1": [quote]}
    (seen,) = desk.shown(gated.bundle_hash).passages["c-1"]
    assert (seen.result, seen.sentences) == (SupportResult.SUPPORTED, ("The river is 30 m deep at the bridge.",))
    assert not desk.gate(first).is_new
    # As the node renders it, without the quote, it may come back.
    assert not desk.gate(desk.document(desk.claim(evidence_pointers=[pointer(evidence_hash=_HASH)]))).is_new
    with refused("claims.received_otherwise"):
        desk.gate(_quoting(desk, "It was measured in May."))


def test_a_reviewer_is_shown_the_quote_and_may_decide_about_a_contradiction(desk: ClaimsDesk) -> None:
    desk.attach(_TEXT)
    named = pointer(evidence_hash=_HASH, quote="The river is 30 m deep at the bridge.")
    gated = desk.gate(desk.document(desk.claim(statement="The river is 13 m deep.", evidence_pointers=[named])))
    assert [one.code for one in gated.outcome.findings] == [FindingCode.CONTRADICTED]
    (asked,) = gated.tickets
    ticket = desk.find(asked.ticket_id)
    assert '    quoting: "The river is 30 m deep at the bridge."' in ticket.shown
    assert "has another number or unit" in ticket.shown
    done = desk.decide(ticket, "user:rita", "resume").gated
    assert done is not None
    assert done.decision is Decision.PUBLISH
    assert "resumed by user:rita" in done.outcome.reason


def test_a_selector_is_on_record_as_it_came(desk: ClaimsDesk) -> None:
    desk.attach(_TEXT)
    gated = desk.gate(_quoting(desk, "The river is 30 m deep at the bridge.", selector={"page": 1}))
    assert gated.decision is Decision.PUBLISH
    (entry,) = desk.entries(EntryKind.CLAIMS_RECEIVED)
    assert entry["context"]["passages"]["c-1"][0]["selector"] == {"page": 1}


def test_one_quote_is_checked_by_itself(desk: ClaimsDesk) -> None:
    desk.attach(_TEXT)
    asked = CheckQuote(statement="The river is 30 m deep.", quote="30 m deep at the bridge", evidence_hash=_HASH)
    caller = caller_of(desk.tools, desk.agent, at=desk.at(minutes=1))
    found = check_quote(desk.tools, caller, asked)
    assert found.is_supported
    assert (found.offset, found.passage) == (13, ("The river is 30 m deep at the bridge.",))
    unknown = CheckQuote(statement="It is deep.", quote="it is deep there", evidence_hash="cd" * 32)
    assert check_quote(desk.tools, caller, unknown).result is SupportResult.ABSENT
    unnamed = CheckQuote(statement="It is deep.", quote="it is deep there")
    assert check_quote(desk.tools, caller, unnamed).result is SupportResult.ABSENT
    assert check_quote_in(unnamed, _TEXT).result is SupportResult.NOT_FOUND
