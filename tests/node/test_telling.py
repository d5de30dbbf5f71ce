"""What an open node tells: reports for auditors, events for this process, and names at the front door."""

import json
from datetime import UTC, datetime, timedelta
from queue import Queue

import pytest

import assay
from assay.adapters.bus.inprocess import SubscriptionTakenError
from assay.flows.request import FieldsError
from assay.kernel.instant import instant_of, render_instant
from assay.node import Node
from assay.node.errors import NodeError
from assay.ports.events import OutboxEvent
from assay.verdicts.graph.hash import stamp_versions
from tests.flows._verdicts import graph_document, rule
from tests.node._home import Home
from tests.raising import raises

_LONG_AGO = "2020-01-01T00:00:00Z"


def test_a_report_is_made_of_a_period_and_verifies_as_the_file_that_it_becomes(node: Node) -> None:
    """The end is not in the period, and is now where none is given."""
    receipt = node.append({"said": "hello"})
    content = node.report(_LONG_AGO, every_kind=True, format="json")
    assert assay.parse_report(content).rows[-1].sequence_number == receipt.sequence_number
    assert node.verify(content).holds
    before = render_instant(instant_of(datetime.now(UTC) - timedelta(days=1)))
    assert assay.parse_report(node.report(_LONG_AGO, to=before, every_kind=True, format="json")).rows == ()
    assert assay.parse_report(node.report(_LONG_AGO, subject="nobody", format="json")).rows == ()
    assert node.report(_LONG_AGO, format="html").startswith(b"<!doctype html>")
    for wrong in ("yesterday", "2026-01-01T00:00:00"):
        with pytest.raises(FieldsError):
            node.report(wrong)


def test_a_subscriber_hears_what_was_recorded_and_goes_on_where_it_was(home: Home) -> None:
    """First what it missed, then what comes; opened again, it hears nothing twice that was confirmed."""
    heard: Queue[OutboxEvent] = Queue()
    with assay.open(home.folder) as node:
        node.subscribe("mailer", heard.put)
        with pytest.raises(SubscriptionTakenError):
            node.subscribe("mailer", heard.put)
        node.acting(home.keys["olga"]).register_rule("MAR-1", "Slow down.", domains=["maritime"])
        known = _newest(node)
        assert _positions(heard, known) == list(range(1, known + 1))
    with assay.open(home.folder) as node:
        node.subscribe("mailer", heard.put)
        node.acting(home.keys["olga"]).register_rule("MAR-2", "Stop.", domains=["maritime"])
        assert _positions(heard, _newest(node)) == list(range(known + 1, _newest(node) + 1))
        (facts,) = node.subscribers()
        assert (facts.name, facts.failures) == ("mailer", 0)


@pytest.mark.clause("ski", "11.3")
def test_what_a_graph_should_not_say_any_more_is_in_the_log(
    node: Node, home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    document = json.loads(graph_document(rule("SO2"), compiled_at="2026-02-01T00:00:00Z"))
    document["nodes"]["rules"][0]["track"] = "a"
    written = json.dumps(stamp_versions(document)).encode()
    asked = node.acting(home.keys["olga"]).review_graph(written)
    node.acting(home.keys["rita"]).answer_ticket(asked.ticket.id, "accept", seen=asked.ticket.shown_hash, reason="read")
    signed = node.acting(home.keys["olga"]).release_graph(asked.content_hash)
    loaded = node.acting(home.keys["olga"]).load_graph(signed.document)
    (notice,) = loaded.notices
    assert [one.getMessage() for one in caplog.records if one.name == "assay.ski"] == [
        f"track_deprecated: {notice.message}"
    ]


def _newest(node: Node) -> int:
    return node.tools.database.read(lambda unit: unit.outbox.newest(node.tenant_id))


def _positions(heard: "Queue[OutboxEvent]", last: int) -> list[int]:
    """Of the events as they come, up to the last; each is waited for."""
    found: list[int] = []
    while not found or found[-1] < last:
        found.append(heard.get(timeout=30).position)
    return found


def test_who_only_reads_keeps_no_place(home: Home) -> None:
    with assay.open(home.folder, read_only=True) as node:
        assert node.subscribers() == ()
        with raises(NodeError.read_only):
            node.subscribe("mailer", lambda _event: None)


def test_every_name_of_the_front_door_is_there() -> None:
    assert all(getattr(assay, name) is not None for name in assay.__all__)
    assert assay.__all__ == sorted(assay.__all__)
    with pytest.raises(AttributeError, match="no attribute `clothes`"):
        assay.clothes  # noqa: B018 - that it is not there is the point
