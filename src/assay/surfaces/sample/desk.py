"""The review desk of the sample: tickets of every urgency, some claimed, commented, drafted and escalated."""

from datetime import timedelta

from assay.kernel.instant import Instant, render_instant
from assay.surfaces.sample.stage import Stage

_QUESTIONS = (
    ("Does the new tide table replace the old one?", "The gauge at Maassluis was moved in May."),
    ("Is the berth plan of week {n} complete?", "Two ships have no assigned berth."),
    ("May the camera at pier {n} be taken out of the contract?", "It has sent nothing for nine days."),
    ("Is the pilot's note of day {n} about the same ship?", "The name differs by one letter."),
)


def fill_desk(stage: Stage) -> str:
    """Open tickets with different due times; a few are claimed, assigned, commented, drafted, answered and undone."""
    ids: list[str] = []
    for number in range(stage.size.tickets):
        title, shown = _QUESTIONS[number % len(_QUESTIONS)]
        due = Instant(stage.clock.now() + timedelta(hours=2 + number * 5))
        opened = stage.do(
            "user:olga",
            "ticket.open",
            title=title.format(n=number + 1),
            shown={"note": shown},
            eligible_roles=("reviewer",),
            due_at=render_instant(due),
        )
        ids.append(opened.id)
    for number, ticket_id in enumerate(ids[:6]):
        stage.do("user:sam", "ticket.claim", ticket_id=ticket_id)
        stage.do("user:sam", "ticket.comment", ticket_id=ticket_id, text=f"asked the harbour master, call {number + 1}")
    stage.do("user:sam", "ticket.release", ticket_id=ids[5])
    stage.do("user:rita", "ticket.assign", ticket_id=ids[6], person="user:eve")
    stage.do("user:rita", "ticket.prioritise", ticket_id=ids[7], priority="urgent")
    stage.do("user:rita", "draft.keep", ticket_id=ids[8], choice="approve", reason="the gauge data agree so far")
    stage.do("user:rita", "view.keep", name="Due soon", filter={"priority": "urgent"})
    tickets = {ticket_id: stage.do("user:sam", "ticket.show", ticket_id=ticket_id).ticket for ticket_id in ids[:3]}
    for ticket_id, ticket in tickets.items():
        stage.do(
            "user:sam",
            "ticket.answer",
            ticket_id=ticket_id,
            choice=ticket.choices[0],
            seen=ticket.shown_hash,
            reason="confirmed by phone",
        )
    _hold(stage)
    return f"{stage.size.tickets} tickets on the desk"


def _hold(stage: Stage) -> None:
    """Answers that can be undone for a while: one took effect, one is undone, one still waits."""
    for subject in ("service:bridge", "service:plant", "service:relay"):
        ticket = stage.do("user:olga", "tier.request", principal_id=subject, to_tier=2, reason="writes berths")
        seen = {"ticket_id": ticket.id, "choice": ticket.choices[0], "seen": ticket.shown_hash, "reason": "as agreed"}
        stage.do("user:ada", "ticket.answer", **seen)
        if subject == "service:plant":
            stage.do("user:ada", "ticket.undo", ticket_id=ticket.id, reason="asked for the wrong service")
        if subject == "service:bridge":
            stage.clock.advance(timedelta(minutes=20))
            stage.local("tickets.settle")
