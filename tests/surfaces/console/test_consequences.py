"""What follows is told of every choice that a ticket offers by itself."""

from datetime import UTC, datetime, timedelta

import pytest

from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.review.kind import KIND_RULES, OnExpiry, TicketKind
from assay.review.ticket import TICKET_ENTROPY_BYTES, Ticket, TicketDraft, open_ticket, ticket_id_from
from assay.surfaces.console.consequences import CONSEQUENCES, silence_words, who_decides
from assay.surfaces.console.times import ago, moment

_AT = Instant(datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC))


def ticket_of(kind: TicketKind = TicketKind.APPROVAL, **changes: object) -> Ticket:
    fields: dict[str, object] = {
        "kind": kind,
        "title": "delete",
        "shown": "all of it",
        "eligible_roles": ("reviewer",),
        "opened_by": PrincipalId("service:node"),
        **changes,
    }
    draft = TicketDraft(**fields)  # type: ignore[arg-type]  # the fields of a draft
    return open_ticket(draft, id=ticket_id_from(b"1" * TICKET_ENTROPY_BYTES), tenant_id=TenantId("t"), at=_AT)


@pytest.mark.parametrize("kind", list(TicketKind))
def test_every_choice_of_every_kind_says_what_follows(kind: TicketKind) -> None:
    """A new kind or choice without words is noticed here, not by a reviewer."""
    assert set(CONSEQUENCES[kind]) == set(KIND_RULES[kind].choices)
    assert all(words.endswith(".") for words in CONSEQUENCES[kind].values())


def test_how_answers_become_a_decision_is_told_as_it_will_be_counted() -> None:
    assert who_decides(ticket_of()) == "One person decides."
    assert who_decides(ticket_of(quorum=2)) == "2 people must choose the same; one rejection is enough."
    assert who_decides(ticket_of(TicketKind.ROOT_CAUSE, quorum=2)) == "2 people must choose the same."
    assert who_decides(ticket_of(TicketKind.VALIDATION)).startswith("Votes are weighted")


def test_silence_is_told_with_its_hour_and_zone() -> None:
    due = Instant(_AT + timedelta(days=2))
    assert silence_words(ticket_of()) == "It waits until somebody decides."
    assert silence_words(ticket_of(due_at=due)) == "Without a decision by 2026-03-03 12:00:00 UTC it is denied."
    stays = ticket_of(TicketKind.RESTORE, due_at=due)
    assert silence_words(stays) == "It is due 2026-03-03 12:00:00 UTC, and stays open after that."
    fixed = {"on_expiry": OnExpiry.DEFAULT_CHOICE, "default_choice": "ratify", "due_at": due}
    assert silence_words(ticket_of(TicketKind.VALIDATION, **fixed)).endswith("it is settled as ratify.")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s ago"),
        (119, "119 s ago"),
        (120, "2 min ago"),
        (7199, "119 min ago"),
        (7200, "2 h ago"),
        (-172_799, "in 47 h"),
        (-172_800, "in 2 d"),
    ],
)
def test_how_far_away_a_moment_is_hides_less_than_half_of_it(seconds: int, words: str) -> None:
    """What is due in 47 hours is not due in one day."""
    assert ago(Instant(_AT - timedelta(seconds=seconds)), _AT) == words


def test_a_moment_has_its_zone() -> None:
    assert (moment(_AT), moment("2026-03-01T14:00:00+02:00"), moment(None)) == (
        "2026-03-01 12:00:00 UTC",
        "2026-03-01 12:00:00 UTC",
        "–",
    )
