"""`assay review`: the review desk."""

import click

from assay.surfaces.cli.lazy import Entrance, LazyGroup

__all__ = ["review"]

_HERE = "assay.surfaces.cli"
_ENTRANCES = {
    "list": Entrance(f"{_HERE}.review_read:list_", "the tickets that wait, the most urgent first"),
    "show": Entrance(f"{_HERE}.review_read:show", "what a ticket shows, and what was said to it"),
    "timeline": Entrance(f"{_HERE}.review_read:timeline", "everything that happened to a ticket, with its entries"),
    "progress": Entrance(f"{_HERE}.review_read:progress", "how reviewers get on"),
    "answer": Entrance(f"{_HERE}.review_answer:answer", "answer a ticket, as a person"),
    "undo": Entrance(f"{_HERE}.review_answer:undo", "take an answer back before it counts"),
    "draft": Entrance(f"{_HERE}.review_answer:draft", "keep a draft for yourself"),
    "bulk": Entrance(f"{_HERE}.review_answer:bulk", "answer many tickets, each bound to what it showed"),
    "claim": Entrance(f"{_HERE}.review_act:claim", "work on a ticket for a while"),
    "release": Entrance(f"{_HERE}.review_act:release", "give a ticket back"),
    "assign": Entrance(f"{_HERE}.review_act:assign", "say whose a ticket is"),
    "priority": Entrance(f"{_HERE}.review_act:priority", "say how soon a ticket should be looked at"),
    "comment": Entrance(f"{_HERE}.review_act:comment", "add words to a ticket, signed and erasable"),
    "view": Entrance(f"{_HERE}.review_view:view", "saved filters: save, list, drop"),
    "open": Entrance(f"{_HERE}.review_open:open_", "open an approval from a file"),
    "settle": Entrance(f"{_HERE}.review_open:settle", "the sweep: settle what is due, tell what soon will be"),
}


@click.group(cls=LazyGroup, entrances=_ENTRANCES)
def review() -> None:
    """The review desk: every question to a person, bound by hash to what that person was shown."""
