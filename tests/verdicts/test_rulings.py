"""The rulings that changed, by vectors written from the text; and what the first ones recorded, as it was."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from assay.verdicts.docket import UNRULED
from assay.verdicts.govern import settle_held, strictest
from assay.verdicts.graph.graph import NoticeCode
from assay.verdicts.prompt import FIRST_TEMPLATE_ID
from assay.verdicts.reason import build_request
from assay.verdicts.reread import reread_docket
from assay.verdicts.rulings import Rulings
from assay.verdicts.telemetry import parse_telemetry
from assay.verdicts.window import window_facts
from tests.verdicts.judging import vector_cases
from tests.verdicts.rulings import (
    SUBJECT,
    Judged,
    dockets_of,
    document_of,
    judge_reply,
    judged_case,
    opened,
    record_of,
    reply_to,
    sliced,
    verdict_or_held,
)

_PLACES = json.loads(
    (Path(__file__).parents[1] / "vectors" / "verdicts" / "rulings" / "jurisdiction.json").read_text()
)["jurisdictions"]
_PYTHON = re.compile(r"\\x|\b(None|True|False|dict|int|str|float|bool|NoneType)\b|\\\\'")
_NOTICED = {"effective_date": NoticeCode.IN_FORCE_ALWAYS, "risk_tier": NoticeCode.DEFAULT_TIER}


def _is_as_written(found: Judged, case: dict[str, Any]) -> None:
    status = found.verification.result.status
    assert (found.verification.expected, status) == (case["expected"], case["status"])
    assert verdict_or_held(found.ruling) == case["governed"]
    if "attested" in case:
        assert settle_held(found.ruling, status, is_attested=True).verdict == case["attested"]


@pytest.mark.clause("ski", "4.5")
@pytest.mark.clause("ski", "5.4")
@pytest.mark.parametrize("case", vector_cases("rulings/agreed"), ids=lambda case: case["name"])
def test_a_status_follows_from_what_is_determined(case: dict[str, Any]) -> None:
    """A breach is one whatever else is missing, and what is missing is listed."""
    found = judged_case(case)
    _is_as_written(found, case)
    told = "\n".join(found.verification.result.divergences)
    assert all(f"`{name}`" in told for name in case["listed"]), told


@pytest.mark.clause("ski", "3.4")
@pytest.mark.clause("ski", "5.4")
@pytest.mark.parametrize("case", vector_cases("rulings/jurisdiction"), ids=lambda case: case["name"])
def test_a_jurisdiction_in_doubt_is_at_best_discretionary(case: dict[str, Any]) -> None:
    """Never CLEAR, at any tier, where scoped obligations are in force; what is known of the rest is still judged."""
    found = judged_case(case, _PLACES)
    assert [check.obligation_id for check in found.docket.checks] == case["applied"]
    _is_as_written(found, case)
    notes = "\n".join(found.envelope.notes)
    assert ("jurisdiction.doubt" in notes) is (case["doubt"] is not None)
    assert case["doubt"] is None or case["doubt"] in notes


@pytest.mark.clause("ski", "4.1")
@pytest.mark.parametrize("case", vector_cases("rulings/order"), ids=lambda case: case["name"])
def test_one_verdict_for_each_rule_in_the_order_of_strictness(case: dict[str, Any]) -> None:
    telemetry = record_of(case["measurement"], subject=case.get("subject", SUBJECT))
    dockets = dockets_of(sliced(document_of(case["rules"]), telemetry))
    judged = [judge_reply(docket, telemetry, reply_to(docket, telemetry, "honest")) for docket in dockets]
    assert {one.docket.rule_id: one.envelope.verdict.value for one in judged} == case["verdicts"]
    assert strictest(one.ruling for one in judged).verdict == case["strictest"]
    is_noted = any("slice.empty" in note for one in judged for note in one.envelope.notes)
    assert is_noted is (case["name"] == "mapped, and no obligation in force")


@pytest.mark.clause("ski", "11.2")
@pytest.mark.parametrize("case", vector_cases("rulings/flat"), ids=lambda case: case["name"])
def test_flat_graphs_are_read_as_their_users_write_them(case: dict[str, Any]) -> None:
    telemetry = parse_telemetry(case["record"])
    graph = opened(case["graph"])
    told = {notice.code for notice in graph.notices}
    assert {name for name, code in _NOTICED.items() if code in told} == set(case["notices"])
    dockets = dockets_of(sliced(case["graph"], telemetry))
    judged = [judge_reply(docket, telemetry, reply_to(docket, telemetry, "honest")) for docket in dockets]
    assert {one.docket.rule_id: one.verification.expected.value for one in judged} == case["verdicts"]
    tiers = {one.docket.rule_id: one.docket.tier.value for one in judged}
    assert tiers == {**tiers, **case.get("tiers", {})}
    lines = "\n".join(line for one in judged for line in one.verification.result.divergences)
    assert all(name in lines for name in case.get("unknown", ()))


@pytest.mark.clause("ski", "8.1")
@pytest.mark.parametrize("case", vector_cases("rulings/first"), ids=lambda case: case["name"])
def test_what_the_first_rulings_recorded_comes_out_again(case: dict[str, Any]) -> None:
    """Prompt, grammar, verifier and governor, byte for byte; the present rulings are not asked."""
    telemetry = parse_telemetry(case["record"])
    found = sliced(case["graph"], telemetry, Rulings.FIRST)
    dockets = dockets_of(found, Rulings.FIRST)
    assert [docket.rule_id for docket in dockets] == [one["rule_id"] for one in case["recorded"]]
    for docket, recorded in zip(dockets, case["recorded"], strict=True):
        request = build_request(
            docket, telemetry, window_facts(docket.plans, telemetry, ()), seed=0, template_id=FIRST_TEMPLATE_ID
        )
        judged = judge_reply(docket, telemetry, recorded["reply"])
        assert to_builtins(
            {
                "rule_id": docket.rule_id,
                "subject": found.subject_id,
                "reply": recorded["reply"],
                "prompt_hash": request.prompt_hash,
                "grammar_hash": request.grammar_hash,
                "verifier_result": judged.verification.result,
                "judgements": judged.verification.judgements,
                "expected": judged.verification.expected,
                "ruling": judged.ruling,
            }
        ) == {
            **recorded,
            "judgements": tuple(recorded["judgements"]),
            "verifier_result": {
                **recorded["verifier_result"],
                "divergences": tuple(recorded["verifier_result"]["divergences"]),
            },
        }


@pytest.mark.clause("ski", "7.5")
@pytest.mark.parametrize("declared", [None, "Germny", "de"])
def test_a_prompt_says_that_a_jurisdiction_is_in_doubt(declared: str | None) -> None:
    """So that a third party who has the prompt alone comes to the same choices."""
    [case] = [one for one in vector_cases("rulings/jurisdiction") if one["name"] == "mistyped"]
    telemetry = record_of(case["measurement"], declared)
    rule = {"id": "r1", "tier": "medium", "obligations": case["obligations"]}
    [docket] = dockets_of(sliced(document_of([rule], _PLACES), telemetry))
    request = build_request(docket, telemetry, {}, seed=0)
    again = reread_docket(request.prompt)
    assert (again.doubt, again.choices, again.grammar.hash) == (docket.doubt, docket.choices, docket.grammar.hash)
    assert build_request(again, telemetry, {}, seed=0) == request
    assert ("\njurisdiction: " in request.prompt) is (declared != "de")


@pytest.mark.clause("ski", "4.5")
@pytest.mark.parametrize("case", vector_cases("rulings/first"), ids=lambda case: case["name"])
def test_no_divergence_shows_a_value_as_python_writes_it(case: dict[str, Any]) -> None:
    telemetry = parse_telemetry(case["record"])
    for docket in dockets_of(sliced(case["graph"], telemetry)):
        said = next((one["reply"] for one in case["recorded"] if one["rule_id"] == docket.rule_id), "{}")
        for line in judge_reply(docket, telemetry, said).verification.result.divergences:
            assert _PYTHON.search(line) is None, line


def test_an_unmapped_subject_has_no_rule() -> None:
    [docket] = dockets_of(sliced(document_of([]), record_of({}, subject="elsewhere")))
    assert (docket.rule_id, docket.doubt) == (UNRULED, None)
