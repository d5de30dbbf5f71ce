"""An event has the members of the text; its type goes by three names and means one thing."""

import json
from typing import Any

import pytest

from assay.delivery.errors import DeliveryError
from assay.delivery.sense import StandardEvent, parse_event, render_event
from tests.raising import raises


def _event(**changes: Any) -> str:  # noqa: ANN401  any field
    fields: dict[str, Any] = {
        "event_type": "query.answered",
        "service": "org.harbour.ukc",
        "timestamp": "2026-01-07T12:00:00Z",
        "payload": {"authenticity_level": "PRAMANA-2"},
    }
    return json.dumps({name: value for name, value in (fields | changes).items() if value is not ...})


@pytest.mark.clause("pramana", "7.3")
def test_the_seven_standard_events_are_those_of_the_text() -> None:
    assert [str(one) for one in StandardEvent] == [
        "query.received", "query.answered", "phala.generated", "rca.triggered", "rca.closed",
        "slm.training_pair_captured", "slm.finetuning_triggered",
    ]  # fmt: skip


@pytest.mark.clause("pramana", "7.3")
@pytest.mark.parametrize("name", ["event_type", "type", "event"])
def test_an_event_is_read_under_each_name_and_written_under_one(name: str) -> None:
    changes: dict[str, Any] = {"event_type": ..., name: "query.answered"}
    event = parse_event(_event(**changes))
    assert json.loads(_event()) == render_event(event)


def test_an_event_may_be_timed_to_the_nanosecond() -> None:
    event = parse_event(_event(timestamp="2026-01-07T12:00:00.000001999Z"))
    assert render_event(event)["timestamp"] == "2026-01-07T12:00:00.000001Z"


@pytest.mark.parametrize(
    "changes",
    [
        {"event_type": ...},
        {"type": "rca.closed"},
        {"event_type": ""},
        {"service": ...},
        {"service": "\u0000"},
        {"timestamp": "now"},
        {"payload": []},
        {"payload": ...},
        {"more": 1},
    ],
    ids=str,
)
def test_any_other_event_is_refused(changes: dict[str, Any]) -> None:
    with raises(DeliveryError.event):
        parse_event(_event(**changes))
