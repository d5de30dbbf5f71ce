"""Thousands of rules, records and lying replies, judged by us and by a second verifier that shares none of our code."""

import json
from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from assay.verdicts.envelope import Verdict
from assay.verdicts.govern import settle_held
from tests.scale import scale
from tests.verdicts import oracle
from tests.verdicts.rulings import dockets_of, document_of, judge_reply, record_of, sliced, verdict_or_held

_CASES = scale(3000, 30_000)
_METRICS = ("a", "b", "c")
_TEXTS = ("coal", "gas", "oil")
_PLACES = (None, None, "de", "DE", "Bavaria", "us", "Germny", "eu", "")
_NODES = [
    {"id": "eu", "name": "EU"},
    {"id": "de", "name": "De", "parent": "eu"},
    {"id": "by", "name": "Bavaria", "parent": "de"},
    {"id": "us", "name": "US"},
]


def _number(random: Random) -> float:
    return random.choice((random.randint(-3, 12), random.randint(0, 100) / 10, 10, 0))


def _obligation(random: Random, name: str, *, converts: bool) -> dict[str, Any]:
    kind = random.choice(
        ("must_not_exceed",) * 4
        + ("must_be_at_least", "must_be_below", "must_be_above", "must_be_within")
        + ("must_be_one_of", "must_not_be_one_of", "must", "must_not", "should", "must_be_recorded_within")
        + oracle.HUMAN
    )
    one: dict[str, Any] = {"id": name, "type": kind, "metric": random.choice(_METRICS)}
    if kind == "must_be_within":
        one["value"] = sorted((_number(random), _number(random)))
    elif kind in ("must_be_one_of", "must_not_be_one_of"):
        one["value"] = random.sample(_TEXTS, random.randint(1, 3))
    elif kind in ("must", "must_not", "should"):
        one["value"] = random.choice((True, False, "coal"))
    elif kind == "must_be_recorded_within":
        one["value"] = 60
    elif kind != "discretionary":
        one["value"] = _number(random)
    if kind.startswith(("must_not_exceed", "must_be_at")) and random.random() < 0.3:
        one["unit"], one["converts"] = random.choice(("kg", "lb")), converts
    if random.random() < 0.2 and kind not in oracle.HUMAN:
        one["exemptions"] = random.sample(("start_up == true", "as the inspector sees fit"), random.randint(1, 2))
    if random.random() < 0.3:
        one["scope"] = [random.choice(tuple(oracle.PLACES))]
    return one


def _measurement(random: Random) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for metric in _METRICS:
        if random.random() < 0.8:
            value = random.choice((_number(random), _number(random), _number(random), *_TEXTS, True, False))
            has_unit = oracle.is_number(value) and random.random() < 0.4
            found[metric] = {"value": value, "unit": random.choice(("kg", "lb"))} if has_unit else value
    if random.random() < 0.4:
        found["start_up"] = random.choice((True, False, 1))
    return found


def _truth(one: Mapping[str, Any], measurement: dict[str, Any]) -> dict[str, Any]:
    """What an honest model asserts of one obligation."""
    window = {"window_seconds": one["value"]} if one["type"] == "must_be_recorded_within" else {}
    return {
        "predicate": one["type"],
        "metric": one["metric"],
        "value": one["value"],
        "observed": oracle.observed(one, measurement),
        "satisfied": oracle.opinion(one, measurement).truth is True,
        "obligation_id": one["id"],
        **window,
    }


def _lie(random: Random, reply: dict[str, Any], versions: dict[str, str]) -> None:  # noqa: C901  one branch, one lie
    """One change; a reply may carry several, or none."""
    claims: list[dict[str, Any]] = reply["formalizable_assertions"]
    claim = random.choice(claims) if claims else None
    lie = random.choice(
        ("verdict", "flip", "observed", "value", "predicate", "omit", "twice", "outside", "window", "cite")
    )
    if lie == "verdict":
        reply["verdict"] = random.choice(tuple(Verdict)).value
    elif lie == "cite":
        name = random.choice(tuple(versions))
        role = random.choice(("obligation", "exemption_considered"))
        reply["kg_citations"].append({"node_id": name, "version": random.choice((versions[name], "v0")), "role": role})
    elif claim is None or lie == "outside":
        given = {"predicate": "must_not_exceed", "metric": "a", "value": 9, "observed": 1, "satisfied": True}
        claims.append({**given, "obligation_id": "elsewhere"})
    elif lie == "omit":
        claims.remove(claim)
    elif lie == "twice":
        claims.append(dict(claim))
    elif lie == "flip":
        claim["satisfied"] = not claim["satisfied"]
    elif lie == "observed":
        claim["observed"] = random.choice((None, 0, 5, 11, "coal", True))
    elif lie == "value" and claim["predicate"] in ("must_not_exceed", "must_be_at_least"):
        claim["value"] = _number(random)
    elif lie == "predicate" and claim["predicate"] in ("must_not_exceed", "must_be_at_least", "must_be_below"):
        claim["predicate"] = random.choice(("must_not_exceed", "must_be_at_least", "must_be_above"))
    elif lie == "window":
        claim["window_seconds"] = 3600


@pytest.mark.clause("ski", "5.3")
@pytest.mark.clause("ski", "5.4")
@pytest.mark.clause("ski", "9.3")
def test_a_second_verifier_agrees_and_no_lie_clears_a_breach() -> None:
    """Verdict, status and ruling are the same; a breach of a medium or high rule is never CLEAR, attested or not."""
    random, statuses = Random(20261118), Counter[str]()  # noqa: S311  the same cases in every run
    for number in range(_CASES):
        converts = random.random() < 0.5
        obligations = [_obligation(random, f"o{place}", converts=converts) for place in range(random.randint(1, 4))]
        tier, measurement = random.choice(("low", "medium", "high")), _measurement(random)
        declared = random.choice(_PLACES)
        written = [{key: part for key, part in one.items() if key != "converts"} for one in obligations]
        units = [{"from": "lb", "to": "kg", "factor": "0.45359237"}] if converts else []
        rule = {"id": "r1", "tier": tier, "obligations": written}
        document = document_of([rule], _NODES, unit_conversions=units)
        telemetry = record_of(measurement, declared)
        [docket] = dockets_of(sliced(document, telemetry))
        versions = {node["id"]: node["version"] for node in document["nodes"]["obligations"]}
        applied, is_doubtful = oracle.applying(obligations, _known(declared))
        formal = [one for one in applied if one["type"] not in oracle.HUMAN]
        outcomes = [oracle.opinion(one, measurement).outcome for one in applied]
        kinds = [one["type"] for one in applied]
        reply: dict[str, Any] = {
            "reasoning": "",
            "formalizable_assertions": [_truth(one, measurement) for one in formal],
            "kg_citations": [
                {"node_id": one["id"], "version": versions[one["id"]], "role": "obligation"} for one in applied
            ],
            "verdict": oracle.verdict_of(kinds, outcomes, is_doubtful=is_doubtful),
        }
        for _ in range(random.choice((0, 0, 1, 1, 2, 3))):
            _lie(random, reply, versions)
        wanted = oracle.judge(obligations, tier, measurement, _known(declared), reply, versions)
        found = judge_reply(docket, telemetry, json.dumps(reply))
        result = found.verification.result
        told = (number, obligations, measurement, declared, reply, result)
        assert sorted(docket.by_id) == wanted.applied, told
        assert (found.verification.expected, result.status) == (wanted.expected, wanted.status), told
        assert verdict_or_held(found.ruling) == wanted.governed, told
        statuses[result.status] += 1
        final = found.ruling if tier != "high" else settle_held(found.ruling, result.status, is_attested=True)
        assert wanted.attested is None or final.verdict == wanted.attested, told
        if tier != "low" and wanted.has_breach:
            assert final.verdict is not Verdict.CLEAR, told
        if is_doubtful:
            assert final.verdict is not Verdict.CLEAR, told
    assert min(statuses.values()) > _CASES // 50, statuses


def _known(declared: str | None) -> str | None:
    """The generator names one jurisdiction by its name alone."""
    return "by" if declared == "Bavaria" else declared
