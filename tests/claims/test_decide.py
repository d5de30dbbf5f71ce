"""The chain decides, stops at the first gate that does not pass, and can only fail closed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.claims.bundle import ClaimBundle, ClaimType, Decision, GateName, Recommendation, bundle_hash, render_bundle
from assay.claims.decide import Outcome, decided_bundle, gate_bundles, gate_document, run_gates
from assay.claims.errors import ClaimsError
from assay.claims.finding import Finding, FindingCode, render_findings, strictest
from assay.claims.gate import Gate, GateAnswer, GateFacts, standard_gates
from assay.claims.guardian import BuiltInGuardian, Guardian, Suspect, ThreatReport
from assay.claims.parse_bundle import Reading, check_bundle, parse_bundle
from assay.claims.policy import DEFAULT_POLICY, ClaimsPolicy, Mode, policy_hash
from assay.identity.risk import RiskTier
from tests.claims.making import HASH, approval, bundle, claim, document, example, facts, tier_claim

_GATES = standard_gates([BuiltInGuardian()])
_WATCHING = ClaimsPolicy(mode=Mode.AUDIT_ONLY)


def _run(subject: ClaimBundle, policy: ClaimsPolicy = DEFAULT_POLICY, **changes: Any) -> Outcome:  # noqa: ANN401  any of the facts
    return run_gates(subject, _GATES, facts(**changes), policy)


@pytest.mark.clause("claimbundle", "fact")
def test_the_specifications_first_example_waits_for_a_whole_hash() -> None:
    """Its evidence hash has 32 digits: DEFER, naming it; with 64 digits it is published."""
    fact = example("fact")
    short = fact["evidence_pointers"][0]["evidence_hash"]
    outcome = _run(bundle(fact))
    assert (outcome.decision, outcome.stopped_by) == (Decision.DEFER, GateName.EVIDENCE)
    assert len(short) == 32
    assert f"got 32: `{short}`" in outcome.reason
    fact["evidence_pointers"][0]["evidence_hash"] = HASH
    whole = _run(bundle(fact))
    assert (whole.decision, whole.reason, whole.stopped_by) == (Decision.PUBLISH, "all gates passed", None)


@pytest.mark.clause("claimbundle", "gate-recommendations")
@pytest.mark.clause("claimbundle", "decision")
def test_the_specifications_second_example_is_deferred_and_names_the_security_team() -> None:
    """Required approvals are filled though the uncertainty gate stopped it."""
    outcome = _run(bundle(example("decision")))
    assert (outcome.decision, outcome.stopped_by) == (Decision.DEFER, GateName.UNCERTAINTY)
    assert outcome.required_approvals == ("security_team",)


def test_an_empty_chain_refuses() -> None:
    """Nothing asked is nothing allowed."""
    for policy in (DEFAULT_POLICY, _WATCHING):
        outcome = run_gates(bundle(), (), facts(), policy)
        assert (outcome.decision, outcome.reason) == (Decision.REFUSE, "no gates configured")


@pytest.mark.parametrize("wrong", [document(claims=[]), document(claim(risk_tier="UNKNOWN")), {}])
def test_empty_and_invalid_bundles_are_refused(wrong: dict[str, Any]) -> None:
    """Also an unknown tier, and also under a policy that only watches; the reason says everything."""
    for policy in (DEFAULT_POLICY, _WATCHING):
        finding = check_bundle(wrong)
        outcome = gate_document(finding, _GATES, facts(), policy)
        assert outcome.decision is Decision.REFUSE
        assert outcome.bundle_hash is None
        assert outcome.required_approvals == ()
        assert finding.problems[0].message in outcome.reason


def test_a_sound_document_goes_through_the_gates() -> None:
    outcome = gate_document(check_bundle(document()), _GATES, facts(), DEFAULT_POLICY)
    assert outcome.decision is Decision.PUBLISH
    assert outcome.bundle_hash == bundle_hash(bundle())
    assert outcome.policy_hash == policy_hash(DEFAULT_POLICY)


def test_the_chain_stops_at_the_first_gate_that_does_not_pass() -> None:
    """Later gates are not asked, and the trail shows which were."""
    outcome = _run(bundle(claim(evidence_pointers=[])), submitter="ai:other")
    assert [answer.gate for answer in outcome.answers] == [GateName.EVIDENCE]
    outcome = _run(bundle(), submitter="ai:other")
    assert [answer.gate for answer in outcome.answers] == [GateName.EVIDENCE, GateName.UNCERTAINTY, GateName.SECURITY]


@pytest.mark.parametrize("fault", [ValueError("x"), KeyError("x"), RecursionError(), ZeroDivisionError()])
@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("policy", [DEFAULT_POLICY, _WATCHING], ids=["enforce", "audit_only"])
def test_a_fault_inside_any_gate_refuses(fault: Exception, place: int, policy: ClaimsPolicy) -> None:
    """No exception publishes, whichever gate raises it and whatever the mode."""

    def broken(_bundle: ClaimBundle, _facts: GateFacts, _policy: ClaimsPolicy) -> GateAnswer:
        raise fault

    gates = list(_GATES)
    gates[place] = (gates[place][0], broken)
    outcome = run_gates(bundle(), gates, facts(), policy)
    assert (outcome.decision, outcome.stopped_by) == (Decision.REFUSE, gates[place][0])
    assert outcome.findings[-1].code is FindingCode.FAULT


def test_a_guardian_that_cannot_answer_defers() -> None:
    """A person may look instead; so does a chain without any guardian."""

    class Absent:
        name = "absent"

        def examine(self, _suspect: object) -> Any:  # noqa: ANN401  it never answers
            raise ClaimsError.guardian_unavailable("expected an answer, got none")

    for guardians in ([Absent()], []):
        outcome = run_gates(bundle(), standard_gates(guardians), facts(), DEFAULT_POLICY)
        assert (outcome.decision, outcome.stopped_by) == (Decision.DEFER, GateName.ADVERSARIAL)
        assert "claims.guardian_unavailable" in outcome.reason


@pytest.mark.parametrize(
    "answer",
    [
        GateAnswer(gate=GateName.EVIDENCE, passed=True, decision=Decision.DEFER, reason="both"),
        GateAnswer(gate=GateName.EVIDENCE, passed=False, decision=Decision.PUBLISH, reason="neither"),
        GateAnswer(gate=GateName.SECURITY, passed=True, decision=Decision.PUBLISH, reason="another's"),
    ],
)
def test_a_gate_that_contradicts_itself_is_a_fault(answer: GateAnswer) -> None:
    """It failed and said publish, or answered in another's name."""

    def odd(_bundle: ClaimBundle, _facts: GateFacts, _policy: ClaimsPolicy) -> GateAnswer:
        return answer

    outcome = run_gates(bundle(), [(GateName.EVIDENCE, odd)], facts(), DEFAULT_POLICY)
    assert outcome.decision is Decision.REFUSE


@pytest.mark.clause("claimbundle", "gate-recommendations")
@given(
    said=st.lists(st.sampled_from(list(Recommendation)), min_size=1, max_size=4),
    values=st.lists(st.floats(min_value=0, max_value=1), min_size=4, max_size=4),
    watching=st.booleans(),
    declared=st.sampled_from(list(Decision)),
)
def test_a_declared_refusal_is_never_published(
    said: list[Recommendation], values: list[float], declared: Decision, *, watching: bool
) -> None:
    """In whichever claim, at whatever value, enforced or only watched."""
    claims = [
        claim(
            id=f"c-{place}",
            uncertainty={"method": "confidence_score", "value": value, "gate_recommendation": str(one)},
        )
        for place, (one, value) in enumerate(zip(said, values, strict=False))
    ]
    outcome = _run(bundle(*claims, decision=str(declared)), _WATCHING if watching else DEFAULT_POLICY)
    if Recommendation.REFUSE in said or declared is Decision.REFUSE:
        assert outcome.decision is Decision.REFUSE
    elif not watching:
        strict = Recommendation.DEFER in said or max(values[: len(said)]) > 0.75
        assert outcome.decision is (Decision.DEFER if strict else Decision.PUBLISH)


def test_watching_publishes_and_says_what_would_have_been() -> None:
    """The trail is the same as if it were enforced."""
    subject = bundle(claim(risk_tier="DELETE"))
    enforced, watched = _run(subject), _run(subject, _WATCHING)
    assert (watched.decision, watched.would_be) == (Decision.PUBLISH, Decision.ESCALATE)
    assert enforced.would_be is None
    assert watched.answers == enforced.answers
    assert watched.stopped_by is GateName.HUMAN_APPROVAL
    assert watched.reason.startswith("audit only, would be ESCALATE: human_approval_gate: ")
    assert _run(bundle(), _WATCHING).would_be is None


@pytest.mark.clause("claimbundle", "structure")
def test_the_decided_bundle_carries_decision_reason_approvals_and_trail() -> None:
    """Its hash is that of what was submitted, and it reads back."""
    subject = bundle(tier_claim(RiskTier.DELETE), tier_claim(RiskTier.PRIVILEGE))
    other = approval(bundle(), "board")
    given_facts = facts(approvals=(approval(subject, "ops_team", reason="seen"), other))
    outcome = run_gates(subject, _GATES, given_facts, DEFAULT_POLICY)
    decided = decided_bundle(subject, outcome, given_facts)
    assert (decided.decision, decided.required_approvals) == (Decision.ESCALATE, ("ops_team", "security_team"))
    assert decided.audit_trail.gates_passed == tuple(GateName)[:4]
    assert decided.audit_trail.gates_failed == (GateName.HUMAN_APPROVAL,)
    assert [one.approver for one in decided.audit_trail.human_approvals] == ["user:ops_team"]
    assert bundle_hash(decided) == bundle_hash(subject)
    assert parse_bundle(render_bundle(decided), reading=Reading.STRICT) == decided


def test_a_bundle_that_was_decided_is_decided_again_in_the_same_way() -> None:
    """What gates wrote into it does not count as what its agent asked."""
    subject = bundle(claim(risk_tier="DELETE"))
    given_facts = facts(approvals=(approval(subject, "ops_team"),))
    first = decided_bundle(subject, _run(subject), facts())
    assert first.decision is Decision.ESCALATE
    assert run_gates(first, _GATES, given_facts, DEFAULT_POLICY).decision is Decision.PUBLISH


@pytest.mark.clause("claimbundle", "structure")
def test_every_gate_decision_is_itself_a_bundle_with_one_decision() -> None:
    """Each cites what it gated by hash, is a strict bundle, and has the same id when it is made again."""
    subject = bundle(claim(risk_tier="DELETE"))
    outcome = _run(subject)
    made = gate_bundles(subject, outcome, node_agent="service:node")
    assert [one.claims[0].id for one in made] == list(GateName)
    assert len({one.id for one in made}) == 5
    for one in made:
        assert parse_bundle(render_bundle(one), reading=Reading.STRICT) == one
        [only] = one.claims
        assert (only.claim_type, only.risk_tier) == (ClaimType.DECISION, RiskTier.READ_ONLY)
        assert only.evidence_pointers[0].evidence_hash == bundle_hash(subject).removeprefix("sha256:")
    assert "human_approval_gate answers ESCALATE" in made[-1].claims[0].statement
    assert gate_bundles(subject, outcome, node_agent="service:node") == made


def test_the_strictest_decision_is_by_rank() -> None:
    assert strictest(Decision) is Decision.REFUSE
    assert strictest((Decision.DEFER, Decision.ESCALATE)) is Decision.ESCALATE
    assert strictest(()) is Decision.PUBLISH


def test_many_findings_stay_one_short_line() -> None:
    found = Finding(code=FindingCode.TIER, message="too high", decision=Decision.REFUSE)
    assert render_findings([found] * 12).endswith("; and 2 more")


def test_gates_are_asked_with_what_they_are_given() -> None:
    """A chain of one's own works as the standard one does."""
    seen: list[str] = []

    def noting(subject: ClaimBundle, given_facts: GateFacts, policy: ClaimsPolicy) -> GateAnswer:
        seen.append(f"{subject.id} {given_facts.submitter} {policy.id}")
        return GateAnswer(
            gate=GateName.EVIDENCE, passed=True, decision=Decision.PUBLISH, reason="noted", caveats=("hm",)
        )

    gates: list[tuple[GateName, Gate]] = [(GateName.EVIDENCE, noting)]
    outcome = run_gates(bundle(), gates, facts(), DEFAULT_POLICY)
    assert seen == [f"{bundle().id} ai:surveyor default"]
    assert outcome.caveats == ("hm",)


class _Broken:
    name = "broken"

    def __init__(self, error: Exception) -> None:
        self._error = error

    def examine(self, suspect: Suspect) -> ThreatReport:  # noqa: ARG002  it looks at nothing
        raise self._error


@pytest.mark.parametrize("pointers", [[], None], ids=["behind another finding", "alone"])
@pytest.mark.parametrize(
    ("subject", "guardian", "decision"),
    [
        ({"uncertainty": {"method": "semantic_entropy", "value": 0.1, "gate_recommendation": "REFUSE"}},
         BuiltInGuardian(), Decision.REFUSE),
        ({}, _Broken(ClaimsError.guardian_unavailable("down")), Decision.DEFER),
        ({}, _Broken(RuntimeError("a bug")), Decision.REFUSE),
    ],
)  # fmt: skip
def test_a_policy_that_only_watches_asks_every_gate_and_waves_through_no_refusal_or_silence(
    subject: dict[str, Any], guardian: Guardian, decision: Decision, pointers: list[object] | None
) -> None:
    """Also where an earlier gate found something that it does wave through."""
    given = bundle(claim(**subject, **({} if pointers is None else {"evidence_pointers": pointers})))
    outcome = run_gates(given, standard_gates([guardian]), facts(), _WATCHING)
    assert (outcome.decision, outcome.would_be) == (decision, None)
    assert [answer.gate for answer in outcome.answers] == list(GateName)


def test_what_would_have_been_decided_is_the_strictest_of_all_gates() -> None:
    """A DELETE without evidence would wait for people, not only for evidence."""
    outcome = _run(bundle(claim(risk_tier="DELETE", evidence_pointers=[])), _WATCHING)
    assert (outcome.decision, outcome.would_be) == (Decision.PUBLISH, Decision.ESCALATE)
    assert outcome.stopped_by is GateName.HUMAN_APPROVAL
    assert [finding.code for finding in outcome.findings] == ["no_evidence", "approval_missing"]


@pytest.mark.clause("claimbundle", "gate-recommendations")
def test_a_caveat_is_in_the_reason_of_the_bundle_that_is_published() -> None:
    """EXPLAIN adds an uncertainty note to the output: whoever reads the decided bundle reads it."""
    subject = bundle(claim(uncertainty={"method": "semantic_entropy", "value": 0.6}))
    outcome = _run(subject)
    assert outcome.decision is Decision.PUBLISH
    (caveat,) = outcome.caveats
    assert caveat in decided_bundle(subject, outcome, facts()).reason


def test_a_decision_binds_the_arguments_of_the_tools_it_is_about() -> None:
    one, other = _run(bundle(), tool_arguments=("a", "b")), _run(bundle(), tool_arguments=("b", "a"))
    assert one.arguments_hash is not None
    assert one.arguments_hash != other.arguments_hash
    assert _run(bundle()).arguments_hash is None
