"""How operations about the node itself are shown on the command line."""

from assay.kernel.cloudevent import CloudEvent

_SHORT = 100


def event_line(event: CloudEvent) -> str:
    """An event in one line: position, time, type, subject."""
    return f"{event.id:>8}  {event.time:<27}  {event.type:<28}  {event.subject}"[: _SHORT * 2]
