"""Figures count what came in by every door, and an answer that is only given again counts nothing."""

import json
import re
from collections.abc import Iterator

import pytest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from assay.adapters.sql.errors import UnavailableError
from tests.surfaces.http.v1._whole import Whole

PREFIX = "/api/v1"


def _figure(whole: Whole, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", whole.get("/metrics").text, re.MULTILINE)
    return float(found[1]) if found else 0.0


@pytest.mark.parametrize("key", [{}, {"idempotency_key": "a note that is counted once"}])
def test_notes_are_counted_once_each(whole: Whole, key: dict[str, str]) -> None:
    path = f"{PREFIX}/entries"
    name = 'assay_appends_total{tenant="default"}'
    before, named = _figure(whole, name), {one: f"{text} {path}" for one, text in key.items()}
    quoted = {one: text.replace(" ", "-") for one, text in named.items()}
    for _ in range(2):
        assert whole.post(path, {"note": {"counted": path}}, **quoted).status_code == 201
    assert _figure(whole, name) - before == (1 if key else 2)


def test_observations_and_states_are_counted_by_what_became_of_them(whole: Whole) -> None:
    names = [f'assay_observations_total{{outcome="{one}",tenant="default"}}' for one in ("recorded", "repeated")]
    names.append('assay_observations_total{outcome="refused",tenant="default"}')
    names.append('assay_truth_states_total{cause="request",tenant="default"}')
    before = [_figure(whole, name) for name in names]
    first, second = whole.observation(6100), whole.observation(6101)
    done = whole.post(f"{PREFIX}/observations", first, "sensor")
    assert whole.post(f"{PREFIX}/observations", first, "sensor").status_code == 200
    lines = b"\n".join([json.dumps(second).encode(), json.dumps(first).encode(), b"{"])
    headers = {"x-api-key": whole.keys["sensor"], "content-type": "application/x-ndjson"}
    assert whole.client.post(f"{PREFIX}/observations:bulk", content=lines, headers=headers).status_code == 200
    for _ in range(2):
        assert whole.post(f"{PREFIX}/states/{done.json()['truthkey']}/compile", None).status_code in (200, 201)
    after = [_figure(whole, name) for name in names]
    assert [now - then for now, then in zip(after, before, strict=True)] == [2, 2, 1, 1]


class _Away(Collector):
    """As if the database could not be reached."""

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        raise UnavailableError("the server cannot be reached")


def test_figures_that_the_process_counts_are_shown_while_the_database_is_away(whole: Whole) -> None:
    stored, away = whole.client.app.state.desk.metrics.stored, _Away()
    assert "assay_ledger_entries" in whole.get("/metrics").text
    stored.register(away)
    try:
        shown = whole.get("/metrics")
    finally:
        stored.unregister(away)
    assert (shown.status_code, "assay_http_request_seconds" in shown.text) == (200, True)
    assert "assay_ledger_entries" not in shown.text
