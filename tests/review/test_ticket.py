"""A ticket shows exactly what it hashes, asks in a way that can be answered, and is never edited."""

from typing import Any

import msgspec
import pytest

from assay.identity.errors import IdentityError
from assay.kernel.digest import ZERO_DIGEST, digest_of
from assay.kernel.ids import PrincipalId, TenantId, TicketId, parse_ticket_id
from assay.review.errors import InvalidTicketError
from assay.review.kind import KIND_RULES, OnExpiry, TicketKind
from assay.review.ticket import LONGEST_SHOWN, Ticket, TicketDraft, open_ticket, ticket_id_from
from tests.identity.people import NOON, later
from tests.raising import raises
from tests.review.desk import make_ticket


def fields_of(error: InvalidTicketError) -> set[str]:
    return {problem.field for problem in error.problems}


def test_what_is_shown_is_hashed_byte_for_byte() -> None:
    """The digest is of the UTF-8 text itself, so anyone can compute it again."""
    ticket = make_ticket(shown="Löschen?")
    assert ticket.shown_hash == digest_of("Löschen?".encode())


def test_a_ticket_whose_hash_is_not_of_what_it_shows_is_refused() -> None:
    """Also when a store or a stranger hands it in."""
    text = msgspec.json.encode(make_ticket())
    assert msgspec.json.decode(text, type=Ticket) == make_ticket()
    with pytest.raises(InvalidTicketError, match="shown_hash"):
        msgspec.json.decode(text.replace(b"40}", b"41}"), type=Ticket)
    with pytest.raises(InvalidTicketError, match="shown_hash"):
        msgspec.structs.replace(make_ticket(), shown_hash=ZERO_DIGEST)


@pytest.mark.parametrize("kind", TicketKind)
def test_every_kind_has_a_rule_and_opens_with_its_defaults(kind: TicketKind) -> None:
    """Choices and time-out come from the one table."""
    ticket = make_ticket(kind=kind)
    rule = KIND_RULES[kind]
    assert (ticket.choices, ticket.rejecting, ticket.on_expiry) == (rule.choices, rule.rejecting, rule.expiries[0])


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (TicketKind.APPROVAL, OnExpiry.DENY),
        (TicketKind.ATTESTATION, OnExpiry.STAY_OPEN),
        (TicketKind.ROOT_CAUSE, OnExpiry.STAY_OPEN),
        (TicketKind.RESTORE, OnExpiry.STAY_OPEN),
    ],
)
def test_the_time_out_of_these_kinds_is_not_for_sale(kind: TicketKind, expected: OnExpiry) -> None:
    """An approval that times out is a denial; a held verdict, a root cause and a kill switch wait for a person."""
    assert make_ticket(kind=kind).on_expiry is expected
    for other in set(OnExpiry) - {expected}:
        with pytest.raises(InvalidTicketError, match="on_expiry"):
            make_ticket(kind=kind, on_expiry=other, default_choice=KIND_RULES[kind].choices[0])


@pytest.mark.clause("pramana", "10.1")
def test_a_root_cause_offers_the_three_categories() -> None:
    """Routing, application and rule failure are not collapsed."""
    assert make_ticket(kind=TicketKind.ROOT_CAUSE).choices == ("routing_failure", "application_failure", "rule_failure")


def test_no_kind_with_a_veto_can_time_out_into_a_yes() -> None:
    """Silence never approves."""
    for rule in KIND_RULES.values():
        assert not rule.veto or OnExpiry.DEFAULT_CHOICE not in rule.expiries
        assert set(rule.rejecting) <= set(rule.choices)
        assert not rule.veto or 0 < len(rule.rejecting) < len(rule.choices)


def test_every_problem_is_named_at_once() -> None:
    """A refused ticket lists all that is wrong, field by field."""
    draft = TicketDraft(
        kind=TicketKind.VALIDATION,
        title="two\nlines",
        shown="",
        eligible_roles=(),
        opened_by=PrincipalId("nobody"),
        requested_by=PrincipalId("Nobody"),
        about="",
        quorum=0,
        choices=("Yes", "no", "no"),
        rejecting=("never",),
        due_at=NOON,
        on_expiry=OnExpiry.DEFAULT_CHOICE,
        default_choice="perhaps",
    )
    with pytest.raises(InvalidTicketError) as caught:
        open_ticket(draft, id=TicketId("tkt"), tenant_id=TenantId("Acme"), at=NOON)
    assert caught.value.code == "review.ticket"
    assert fields_of(caught.value) == {
        *("id", "tenant_id", "opened_by", "requested_by", "title", "about", "shown", "choices", "rejecting"),
        *("eligible_roles", "quorum", "default_choice", "due_at"),
    }


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("choices", {"choices": ()}),
        ("choices", {"choices": ("approve",)}),
        ("choices", {"choices": ("reject",)}),
        ("choices", {"rejecting": ()}),
        ("rejecting", {"rejecting": ("reject", "reject")}),
        ("quorum", {"quorum": True}),
        ("quorum", {"quorum": -(10**5000)}),
        ("shown", {"shown": "\ud800"}),
        ("shown", {"shown": "x" * (LONGEST_SHOWN + 1)}),
        ("title", {"title": ""}),
        ("title", {"title": " "}),
        ("title", {"title": "x" * 301}),
        ("about", {"about": "x" * 501}),
        ("eligible_roles", {"eligible_roles": ("Ops Team",)}),
        ("default_choice", {"default_choice": "reject"}),
        ("due_at", {"due_at": later(hours=-1)}),
    ],
    ids=range(16),
)
def test_each_flaw_is_refused_by_its_field(field: str, changes: dict[str, Any]) -> None:
    """An approval must offer a way to accept and a way to reject."""
    with pytest.raises(InvalidTicketError) as caught:
        make_ticket(**changes)
    assert field in fields_of(caught.value)


def test_a_default_choice_needs_its_time_out() -> None:
    """A default without a due time would never come; with one, it is allowed where the kind allows it."""
    changes: dict[str, Any] = {
        "kind": TicketKind.VALIDATION,
        "on_expiry": OnExpiry.DEFAULT_CHOICE,
        "default_choice": "reject",
    }
    assert make_ticket(**changes).default_choice == "reject"
    with pytest.raises(InvalidTicketError, match="due_at"):
        make_ticket(**changes, due_at=None)
    with pytest.raises(InvalidTicketError, match="default_choice"):
        make_ticket(**{**changes, "default_choice": None})


def test_a_room_may_word_the_choices_itself() -> None:
    """The usual rejection is still known; another wording is named in the draft."""
    assert make_ticket(choices=("ship", "reject")).rejecting == ("reject",)
    assert make_ticket(choices=("ship", "hold"), rejecting=("hold",)).rejecting == ("hold",)


def test_ids_come_from_random_bytes() -> None:
    """Sixteen of them, and the form is the kernel's."""
    assert parse_ticket_id(ticket_id_from(b"\xff" * 16))
    assert ticket_id_from(bytes(16)) != ticket_id_from(bytes(15) + b"\1")
    with raises(IdentityError.entropy):
        ticket_id_from(b"short")
