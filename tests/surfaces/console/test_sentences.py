"""Sentences: every kind of entry has one, odd bodies break nothing, and titles are about the thing."""

from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from assay.flows.ledger.activity import DECISIONS, ListActivity, activity, describe_body
from assay.flows.review.ticket_titles import key_title, ticket_title
from assay.kernel.ledger import EntryKind
from assay.review.kind import TicketKind
from assay.surfaces.console.bodies import word_diff
from assay.surfaces.console.places import entry_path
from assay.surfaces.console.titles import ruling_words
from tests.acting import looking
from tests.flows._verdicts import opened_verdicts, rule
from tests.surfaces.console.test_consequences import ticket_of


@pytest.mark.parametrize("kind", list(EntryKind))
@pytest.mark.parametrize("body", [{}, {"ruling": None, "bundle": [], "state": 3, "rules": {}}, {"title": "<b>" * 200}])
def test_an_odd_body_gets_a_sentence_too(kind: EntryKind, body: dict[str, object]) -> None:
    sentence = describe_body(kind, body)
    assert sentence.text
    assert len(sentence.text) < 400
    assert entry_path(kind, sentence.about, 7).startswith("/")


def test_every_group_of_decisions_is_of_kinds_that_exist() -> None:
    kinds = [kind for group in DECISIONS.values() for kind in group]
    assert len(kinds) == len(set(kinds))
    # Nobody learns from the stream that an open ticket has answers.
    assert EntryKind.TICKET_ANSWERED not in kinds


def test_decisions_are_listed_as_sentences_page_by_page(tmp_path: Path) -> None:
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(rule("so2-limit"))
        for number in range(5):
            desk.decide({"so2": 60 + number}, name=f"r-{number}")
        caller = looking(None, at=desk.tools.clock.now())
        first = activity(desk.tools, caller, ListActivity(group="verdicts", limit=3))
        rest = activity(desk.tools, caller, ListActivity(group="verdicts", limit=3, cursor=first.next))
        texts = [one.text for one in (*first.items, *rest.items)]
    assert len(texts) == 5
    assert all("FLAG" in text and "breached" in text for text in texts)
    assert [text.rpartition("record ")[2] for text in texts] == [f"r-{number})" for number in (4, 3, 2, 1, 0)]


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("high tier waits for a person", "High risk: needs attestation"),
        ("medium tier, and the verifier: AGREED", "Medium risk; verifier agrees"),
        ("low tier honours the model; the verifier: DIVERGED", "Low risk: model verdict accepted; verifier disagrees"),
        ("attested, but the verifier: UNVERIFIABLE", "Attested, but verifier could not check it"),
        ("not attested", "Not attested"),
    ],
)
def test_a_ruling_is_a_sentence(reason: str, words: str) -> None:
    assert ruling_words(reason) == words


@pytest.mark.parametrize(
    ("kind", "title", "about", "words"),
    [
        (TicketKind.RESTORE, "restore bookings after firing 1", "bookings#1", "Restore “bookings” (switch fired)"),
        (TicketKind.TIER_CHANGE, "change the tier of a from 0 to 2", None, "Change the tier of a from 0 to 2"),
        (TicketKind.ATTESTATION, "attest FLAG for x under y", None, "Attest FLAG for x under y"),
        (TicketKind.APPROVAL, "Is {0} a title?", None, "Is {0} a title?"),
        (
            TicketKind.APPROVAL,
            'approve as ops: DELETE by ai:a: "Delete {x}."',
            None,
            "ai:a asks to delete: Delete {x}.",
        ),
    ],
)
def test_a_title_is_about_the_thing(kind: TicketKind, title: str, about: str | None, words: str) -> None:
    assert ticket_title(changed(ticket_of(kind), title=title, about=about)) == words


def test_a_truth_key_is_read_as_what_and_when() -> None:
    key = "earth:dam_breach:h3:88196ba21bfffff:surface:2026-11-15T16:00Z"
    assert key_title(key) == "Dam breach, 2026-11-15 16:00 UTC"
    assert key_title("anything else") == "anything else"


def test_words_that_change_are_marked_and_nothing_is_lost() -> None:
    before, after = "at least 10 % of the draught.", "at least 15 % of the draught, always."
    change = word_diff("rule", before, after)
    assert " ".join(words for how, words in change.runs if how != "added") == before
    assert " ".join(words for how, words in change.runs if how != "removed") == after
    assert ("removed", "10") in change.runs
    long = "a line\n" * 2000
    assert word_diff("rule", long, long + "one more\n").runs[-1] == ("added", "one more\n")
