"""The gist of a ticket is taken from its text, and says nothing that the text does not say in one way alone."""

import json

from assay.review.kind import TicketKind
from assay.surfaces.console.gist import gist_of

_LONG = {"contexts": [{"n": n, "outcome": "failure"} for n in range(40)]}


def _shown(**fields: object) -> str:
    return json.dumps({**_LONG, **fields})


def test_short_values_are_told_by_name_in_the_order_of_the_text() -> None:
    """One level down too; lists, what is absent, and long texts are left to the text itself."""
    told = gist_of(
        _shown(
            reason="failures",
            signals=3,
            held=False,
            rule={"rule_id": "R-1", "deep": {"a": 1}},
            none=None,
            text="x" * 500,
        ),
        TicketKind.APPROVAL,
    )
    assert told == [("reason", "failures"), ("signals", "3"), ("held", "no"), ("rule rule_id", "R-1")]


def test_what_could_mislead_has_no_gist() -> None:
    """A name that stands twice has two values, of which a reader would see one; other texts are shown as they are."""
    twice = _shown(records=40)[:-1] + ', "records": 4000}'
    assert gist_of(twice, TicketKind.APPROVAL) == []
    assert gist_of("a text that is long " * 100, TicketKind.APPROVAL) == []
    assert gist_of(json.dumps(["a" * 300, "b" * 300, "c" * 300]), TicketKind.APPROVAL) == []


def test_what_is_seen_at_a_glance_has_none() -> None:
    assert gist_of('{"records":40}', TicketKind.APPROVAL) == []


def test_it_stays_short_however_many_values_there_are() -> None:
    assert len(gist_of(_shown(**{f"n{n}": n for n in range(100)}), TicketKind.APPROVAL)) == 16
