"""What can be written of a signal before it is counted: by whoever brings it, and not by the one writer for all.

signal -> make_ready -> its text, and its event as it is where counting it opens nothing
"""

from typing import NamedTuple

from msgspec import Raw

from assay.delivery.outcome import Signal, render_phala
from assay.delivery.plain import plain_bytes
from assay.delivery.rule import RuleId
from assay.delivery.sense import SenseEvent, StandardEvent, render_event
from assay.flows.delivery.delivery_entry import text_of
from assay.kernel.ledger import Event

_MOST_REPEATED = 16
_GENERATED = StandardEvent.PHALA_GENERATED.value


class ReadySignal(NamedTuple):
    """A signal, its text, and the `phala.generated` of its rule if nothing opens, is suspected or batched.

    `usual` is None for a signal of several rules: each would repeat the names of all.
    """

    signal: Signal
    text: str
    usual: Event | None


def make_ready(signal: Signal, *, service: str) -> ReadySignal:
    usual = generated_event(signal, signal.rule_ids[0], service=service) if len(signal.rule_ids) == 1 else None
    return ReadySignal(signal, text_of(signal), usual)


def generated_event(
    signal: Signal,
    rule_id: RuleId,
    *,
    service: str,
    rca_triggered: bool = False,
    two_wrong: bool = False,
    batch_id: str | None = None,
) -> Event:
    """`phala.generated` of one rule (PRAMANA 7.3)."""
    phala = render_phala(signal, rule_id, rca_triggered=rca_triggered, two_wrong=two_wrong, batch_id=batch_id)
    if len(signal.rule_ids) > _MOST_REPEATED:
        # Each rule has an event: what is not of that rule alone would be in the entry as often as there are rules.
        phala = {name: value for name, value in phala.items() if name not in ("rule_ids", "query_context")}
    told = render_event(SenseEvent(event_type=_GENERATED, service=service, at=signal.received_at, payload=phala))
    return Event(type=_GENERATED, subject=rule_id, body=Raw(plain_bytes(told)))
