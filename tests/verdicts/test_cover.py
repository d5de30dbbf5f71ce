"""The coverage register knows every subject that no rule speaks about."""

import pytest

from assay.verdicts.cover import open_gaps, register_mapped, register_unmapped
from assay.verdicts.telemetry import parse_telemetry
from tests.verdicts.judging import GRAPH, record


@pytest.mark.clause("ski", "9.2")
def test_an_unmapped_subject_is_counted_with_what_it_sends() -> None:
    entry = register_unmapped(None, record({"a": 1}, at="2026-03-02T12:00:00Z"))
    late = parse_telemetry({**record({"b": 1}, at="2026-03-01T12:00:00Z", name="t-2").document, "jurisdiction": "DE"})
    entry = register_unmapped(entry, late)
    assert (entry.subject, entry.records, entry.last_telemetry_id) == ("stack-1", 2, "t-2")
    assert (entry.metrics, entry.jurisdictions) == (("a", "b"), ("DE",))
    assert entry.first_seen_at < entry.last_seen_at


def test_a_gap_closes_with_a_graph_and_opens_again_without() -> None:
    entry = register_unmapped(None, record({"a": 1}))
    mapped = register_mapped(entry, GRAPH)
    assert open_gaps([mapped]) == ()
    again = register_unmapped(mapped, record({"a": 1}))
    assert open_gaps([mapped, again, entry]) == (again, entry)
