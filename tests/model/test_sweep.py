"""Within its limits the judge calls nothing CLEAR that is not; beyond them it refuses, and says so."""

import pytest

from assay.flows.model.sweep_model import sweep_model
from assay.model.form import SECOND, limit_rows
from assay.model.judge import judge
from assay.model.sweep.cover import beyond_limits, sweep_cases
from assay.verdicts.case import open_case, parse_case
from assay.verdicts.prompt import FIRST_TEMPLATE_ID
from assay.verdicts.reason import build_request
from tests.model.networks import ROOT, earlier_engine, shipped_engine
from tests.scale import scale

_FAMILIES = {
    "sets",
    "mixed sets",
    "sets in exemptions",
    "conditions",
    "exemptions",
    "obligations",
    "digits",
    "scales",
    "ranges",
}


@pytest.mark.clause("ski", "5.2")
@pytest.mark.timeout(7200)
def test_no_case_within_the_limits_is_wrongly_called_clear() -> None:
    """In the long run all of them; in the short one each 397th, which is prime to every cycle of the sweep."""
    found = sweep_model(shipped_engine(), every=scale(397, 1))
    assert {one.family for one in found.families} == _FAMILIES
    assert {one.family: one.examples for one in found.families if one.silent_clears} == {}
    assert found.refused == 0
    assert found.beyond_refused == found.beyond
    # What is wrong at all is stricter than right, or another answer than CLEAR, and only among very many obligations.
    assert found.wrong <= found.cases // 100


def test_each_limit_has_a_case_just_beyond_it() -> None:
    places = {one.place for one in beyond_limits(SECOND.limits)}
    assert places == {name for name in SECOND.limits.__struct_fields__ if name != "symbols"}


def test_the_old_holes_are_closed_or_beyond_the_limits() -> None:
    """The 29th member of a set of texts was not found in version 0.1.0; its weights and template still show that."""
    members = [f"t{number}" for number in range(40)]
    case = parse_case(
        {
            "obligations": [{"id": "ob", "type": "must_not_be_one_of", "metric": "m", "value": members}],
            "measurement": {"m": members[28]},
        }
    )
    opened = open_case(case)
    verdicts = []
    for template_id in (FIRST_TEMPLATE_ID, SECOND.template_id):
        asked = build_request(opened.docket, opened.telemetry, opened.facts, seed=0, template_id=template_id)
        verdicts.append(judge(earlier_engine(), asked.prompt, bytes(asked.grammar)).text.rpartition('"verdict":')[2])
    assert verdicts == ['"CLEAR"}', '"FLAG"}']


def test_a_sweep_has_every_size_and_every_position() -> None:
    places = {one.place for one in sweep_cases(SECOND.limits) if one.family == "sets"}
    for size in range(1, SECOND.limits.members + 1):
        for at in range(size + 2):
            assert str(("must_not_be_one_of", "text", size, at)) in places


def test_the_documentation_states_the_limits_that_the_code_has() -> None:
    page = (ROOT / "docs" / "model.md").read_text(encoding="utf-8")
    for words, most in limit_rows(SECOND.limits):
        assert f"| {words} | {most} |" in page


def test_the_weights_of_this_release_read_the_upper_end_of_a_range() -> None:
    """The weights of version 0.1.0 called this breach CLEAR, and still do: what they decided is replayed as it was."""
    case = {
        "obligations": [{"id": "ob", "type": "must_be_within", "metric": "m", "value": [-867.9, 867.9]}],
        "measurement": {"m": 887.3},
    }
    opened = open_case(parse_case(case))
    asked = build_request(opened.docket, opened.telemetry, opened.facts, seed=0)
    verdicts = [
        judge(engine, asked.prompt, bytes(asked.grammar)).text.rpartition('"verdict":')[2]
        for engine in (earlier_engine(), shipped_engine())
    ]
    assert verdicts == ['"CLEAR"}', '"FLAG"}']
