"""What is known, now and then; what age leaves of it; and the map of it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from assay.flows.errors import NotFoundError
from assay.flows.truth.compile_truth import compile_truth, expire_truth
from assay.flows.truth.states import map_truth, show_history, show_truth
from assay.kernel.ledger import EntryKind
from assay.truth.status import TruthStatus
from tests.flows._node import TENANT
from tests.flows._truth import TruthDesk, critical_flood, opened_truth
from tests.truth.records import contract_text


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TruthDesk]:
    with opened_truth(tmp_path) as one:
        one.people()
        for name in ("user:ann", "user:eve", "user:fay"):
            one.observe(name)
        one.score(local_vision=0.95)
        yield one


@pytest.mark.clause("kaori", "17")
def test_what_was_known_at_an_instant_is_the_last_state_compiled_by_then(desk: TruthDesk) -> None:
    """Late news changes what is known, not what was known."""
    first = desk.compile("12:40")
    desk.observe("user:gus", {"severity": "critical", "water_level_meters": 4}, reported="12:58", at="15:00")
    desk.compile("15:01")
    now = show_truth(desk.tools, TENANT, desk.truthkey, at=desk.now("15:02"))
    then = show_truth(desk.tools, TENANT, desk.truthkey, at=desk.now("15:02"), known_at=desk.now("13:00"))
    assert (now.version, then.version, then.state) == (2, 1, first.state)
    assert [one.version for one in show_history(desk.tools, TENANT, desk.truthkey, at=desk.now("15:02"))] == [1, 2]
    with pytest.raises(NotFoundError):
        show_truth(desk.tools, TENANT, desk.truthkey, at=desk.now("15:02"), known_at=desk.now("12:00"))
    with pytest.raises(NotFoundError):
        show_truth(desk.tools, TENANT, "earth:fire:h3:1:surface:2026-01-07T12:00Z", at=desk.now("15:02"))


def test_confidence_ages_when_it_is_read_and_the_signed_state_stays(desk: TruthDesk) -> None:
    """Halved for each half-life of six hours since the bucket's end; stale where something new is in no state yet."""
    state = desk.compile("12:40").state
    fresh = show_truth(desk.tools, TENANT, desk.truthkey, at=desk.now("13:00"))
    assert (fresh.confidence_now, fresh.is_stale, fresh.is_expired) == (state.confidence, False, False)
    aged = show_truth(desk.tools, TENANT, desk.truthkey, at=desk.now("20:00"))
    assert aged.confidence_now == (state.confidence / 2).quantize(Decimal("0.000001"))
    assert aged.state == state
    desk.observe("user:ben", at="20:00")
    assert show_truth(desk.tools, TENANT, desk.truthkey, at=desk.now("20:00")).is_stale
    assert show_truth(desk.tools, TENANT, desk.truthkey, at=desk.now("3T13:00")).is_expired


def test_states_whose_validity_ended_expire_by_a_new_state(desk: TruthDesk) -> None:
    """Once; nobody's standing changes by that."""
    desk.compile("12:40")
    assert expire_truth(desk.tools, TENANT, at=desk.now("18:00")).compiled == ()
    done = expire_truth(desk.tools, TENANT, at=desk.now("2T13:01"))
    assert (done.compiled, done.stuck) == ((desk.truthkey,), ())
    latest = show_truth(desk.tools, TENANT, desk.truthkey, at=desk.now("2T13:02"))
    assert (latest.state.status, latest.version) == (TruthStatus.EXPIRED, 2)
    assert expire_truth(desk.tools, TENANT, at=desk.now("2T14:00")).compiled == ()


def test_a_window_that_is_over_gets_its_final_state(tmp_path: Path) -> None:
    """Though nobody asks: the sweep compiles what people left open."""
    with opened_truth(tmp_path, contract=critical_flood()) as desk:
        desk.people()
        desk.observe("user:ann", claim_type="earth.flood.v2")
        desk.compile("12:40")
        assert expire_truth(desk.tools, TENANT, at=desk.now("18:39")).compiled == ()
        assert expire_truth(desk.tools, TENANT, at=desk.now("18:41")).compiled == (desk.truthkey,)
        state = show_truth(desk.tools, TENANT, desk.truthkey, at=desk.now("18:42")).state
        assert state.status is TruthStatus.INCONCLUSIVE
        assert desk.entries(EntryKind.TICKET_SETTLED)[-1]["reason"] == "INCONCLUSIVE by TIMEOUT_DEFAULT"


def test_a_key_that_cannot_be_compiled_holds_up_no_other(desk: TruthDesk) -> None:
    """It is told, with its code, and tried again at the next sweep."""
    desk.compile("12:40")
    other = desk.observe("user:ann", reported="11:10")
    compile_truth(desk.tools, TENANT, other.truthkey, at=desk.now("12:41"))
    # One of the two was compiled for a time that the sweep has not come to.
    desk.compile("2T23:30", force=True)
    swept = expire_truth(desk.tools, TENANT, at=desk.now("2T23:00"))
    assert (swept.compiled, swept.stuck) == ((other.truthkey,), ())


def test_the_map_has_a_feature_for_each_key(desk: TruthDesk) -> None:
    """Cells as polygons, artefacts without a place; the status, the claim and what age left of the confidence."""
    state = desk.compile("12:40").state
    artefact: dict[str, Any] = {
        "observation_id": "art-1",
        "claim_type": "meta.research_artifact.v1",
        "geo": None,
        "artifact": {"content_hash": "ABCDEF0123456789abcdef0123456789aaaa", "provided_id": None},
        "payload": {},
    }
    name = "research_artifact_v1"
    desk.release(name, text=contract_text(name))
    observed = desk.observe("user:eve", reported="12:11", **artefact)
    compile_truth(desk.tools, TENANT, observed.truthkey, at=desk.now("12:41"))
    collection = json.loads(json.dumps(map_truth(desk.tools, TENANT, at=desk.now("20:00"))))
    assert collection["type"] == "FeatureCollection"
    flood, research = collection["features"]
    assert (flood["id"], flood["geometry"]["type"]) == (desk.truthkey, "Polygon")
    ring = flood["geometry"]["coordinates"][0]
    assert ring[0] == ring[-1]
    assert flood["properties"]["status"] == state.status.value
    assert flood["properties"]["confidence_now"] < flood["properties"]["confidence"]
    assert (research["id"], research["geometry"]) == (observed.truthkey, None)
    only = map_truth(desk.tools, TENANT, at=desk.now("20:00"), claim_type="earth.flood.v1")
    assert [one["id"] for one in only["features"]] == [desk.truthkey]
    assert map_truth(desk.tools, TENANT, at=desk.now("20:00"), known_at=desk.now("12:00"))["features"] == []


def test_a_sweep_tells_what_it_could_not_compile(desk: TruthDesk) -> None:
    """A node without a truth key can sign nothing; the keys stay due."""
    desk.compile("12:40")
    swept = expire_truth(replace(desk.tools, truth_signer=None), TENANT, at=desk.now("2T13:01"))
    assert (swept.compiled, [one.code for one in swept.stuck]) == ((), ["key.no_truth_key"])
    assert expire_truth(desk.tools, TENANT, at=desk.now("2T13:01")).compiled == (desk.truthkey,)
