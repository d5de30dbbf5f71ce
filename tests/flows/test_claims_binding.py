"""What people answer about a bundle binds all of it: texts, arguments, findings, policy; its agent can take it back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from assay.claims.bundle import Decision, UncertaintyMethod
from assay.claims.decide import arguments_hash
from assay.claims.estimate.estimate import Cost, Estimate, make_estimate
from assay.claims.finding import FindingCode
from assay.flows.claims.claims_facts import active_policy
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.identity.principal import PrincipalChange
from assay.identity.risk import RiskTier
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import render_instant
from assay.kernel.ledger import EntryKind
from tests.acting import amend_principal, disable_principal
from tests.claims.making import pointer
from tests.contract._kit import refused
from tests.flows._claims import ClaimsDesk, copied_claims, opened_claims
from tests.flows._node import TENANT
from tests.flows._people import ADMIN


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("claims")
    with opened_claims(folder):
        return folder


@pytest.fixture
def desk(template: Path, tmp_path: Path) -> Iterator[ClaimsDesk]:
    with opened_claims(copied_claims(template, tmp_path)) as opened:
        yield opened


def _id(number: int) -> str:
    return str(UUID(int=number, version=4))


def test_nobody_is_asked_about_a_bundle_that_cannot_be_shown_whole(desk: ClaimsDesk) -> None:
    """A text that an approver never saw is never approved: the bundle is refused, and can be sent in parts."""
    # Each of these characters is written out, so that what is shown is twice as long as what came.
    padding = [desk.claim(id=f"c{number}", statement=f"s{chr(0x202E) * 15_000}") for number in range(16)]
    gated = desk.gate(desk.document(*padding, desk.claim(RiskTier.DELETE, id="last")))
    assert (gated.decision, gated.tickets) == (Decision.REFUSE, ())
    assert gated.outcome.findings[-1].code is FindingCode.NOT_SHOWABLE
    assert desk.entries(EntryKind.CLAIMS_DECIDED)[-1]["bundle_hash"] == gated.bundle_hash


def test_an_approver_sees_arguments_and_times_and_nothing_that_hides_or_turns_text_around(desk: ClaimsDesk) -> None:
    """The hash of the arguments is in what is shown, and in the decision that is recorded."""
    turned = "wire 1 EUR \u202eRUE 0001\u2066 to XX99\u200b"
    arguments = {"tool_arguments": (turned,)}
    gated = desk.gate(desk.document(desk.claim(RiskTier.DELETE, statement=turned)), submission=arguments)
    shown = desk.find(gated.tickets[0].ticket_id).shown
    bound = arguments_hash((turned,))
    assert f"tool arguments: 1, hash {bound}" in shown
    assert 'tool argument 0: "wire 1 EUR \\u202eRUE 0001\\u2066 to XX99\\u200b"' in shown
    assert f"retrieved at {render_instant(desk.at(hours=-1))}" in shown
    assert shown.replace("\n", "").isprintable()
    assert desk.entries(EntryKind.CLAIMS_DECIDED)[-1]["outcome"]["arguments_hash"] == bound
    done = desk.decide(desk.find(gated.tickets[0].ticket_id), "user:otto").gated
    assert done is not None
    assert (done.decision, done.outcome.arguments_hash) == (Decision.PUBLISH, bound)


def test_a_bundle_is_not_published_for_other_arguments_than_it_came_with(desk: ClaimsDesk) -> None:
    made = desk.document()
    assert desk.gate(made, submission={"tool_arguments": ("a",)}).decision is Decision.PUBLISH
    assert desk.gate(made, submission={"tool_arguments": ("a",)}).decision is Decision.PUBLISH
    for others in (("b",), ("a", "a"), ()):
        with refused("claims.received_otherwise"):
            desk.gate(made, submission={"tool_arguments": others})


def test_a_reviewer_is_asked_again_about_findings_that_came_with_another_policy(desk: ClaimsDesk) -> None:
    """What let weak evidence pass lets no unlisted source pass; the new question names both."""
    weak = desk.claim(RiskTier.DELETE)
    weak["evidence_pointers"] = [pointer(retrieved_at=render_instant(desk.at(hours=-1)), source_confidence=0.5)]
    gated = desk.gate(desk.document(weak))
    resumed = desk.decide(desk.find(gated.tickets[0].ticket_id), "user:rita", "resume").gated
    assert resumed is not None
    assert resumed.decision is Decision.ESCALATE
    desk.policy('id: strict\nversion: "2"\nevidence: {allow: ["host:trusted.example"]}\n', at=desk.at(minutes=4))
    again = desk.decide(desk.find(resumed.tickets[0].ticket_id), "user:otto", at=desk.at(minutes=5)).gated
    assert again is not None
    assert again.decision is Decision.DEFER
    (asked,) = [one for one in again.tickets if one.role is None]
    shown = desk.find(asked.ticket_id).shown
    assert "found: weak_evidence" in shown
    assert "found: unlisted_source" in shown
    done = desk.decide(desk.find(asked.ticket_id), "user:rita", "resume", at=desk.at(minutes=6)).gated
    assert done is not None
    assert done.decision is Decision.PUBLISH


def test_an_open_question_about_earlier_findings_does_not_stand_for_later_ones(desk: ClaimsDesk) -> None:
    unsure = {"method": "semantic_entropy", "value": 0.9}
    gated = desk.gate(desk.document(desk.claim(uncertainty=unsure)))
    desk.policy('id: p\nversion: "2"\nthreat_above: 0.6\n', at=desk.at(minutes=2))
    later = desk.resume(gated.bundle_hash, at=desk.at(minutes=3))
    first, second = (desk.find(one.ticket_id) for one in later.tickets)
    stale = desk.decide(first, "user:rita", "resume", at=desk.at(minutes=4)).gated
    assert stale is not None
    assert stale.decision is Decision.DEFER
    done = desk.decide(second, "user:rita", "resume", at=desk.at(minutes=5)).gated
    assert done is not None
    assert done.decision is Decision.PUBLISH


def _says(said: str, value: float = 0.0) -> Estimate:
    return make_estimate(
        UncertaintyMethod.SEMANTIC_ENTROPY,
        value,
        interpretation="one meaning in 5 answers",
        cost=Cost(answers=5),
        judge="rules",
        answer=said,
    )


@pytest.mark.parametrize(("said", "decision"), [("Yes.", Decision.PUBLISH), ("No.", Decision.DEFER)])
def test_a_required_estimate_is_by_the_policys_question_and_on_record(
    desk: ClaimsDesk, said: str, decision: Decision
) -> None:
    """Whatever question the agent would rather have asked; a model that surely says no affirms nothing."""
    desk.policy('id: c\nversion: "1"\nuncertainty: {require_computed: true, question: "True? {statement}"}\n')
    asked: list[str] = []

    def estimator(question: str) -> Estimate:
        asked.append(question)
        return _says(said)

    own = {"questions": {"c-1": "What is 1 + 1?"}}
    gated = desk.gate(desk.document(), submission=own, estimator=estimator)
    assert gated.decision is decision
    [question] = asked
    assert question.splitlines()[0] == 'True? "The river is 30 m deep."'
    context = desk.entries(EntryKind.CLAIMS_RECEIVED)[-1]["context"]
    assert context["questions"] == {"c-1": question}
    assert context["estimates"]["c-1"]["answer"] == said


def test_an_answer_to_the_agents_question_is_not_enough_for_a_policy_that_came_later(desk: ClaimsDesk) -> None:
    own = {"questions": {"c-1": "What is 1 + 1?"}}
    made = desk.document(desk.claim(uncertainty={"method": "semantic_entropy", "value": 0.9}))
    gated = desk.gate(made, submission=own, estimator=lambda _: _says("2"))
    desk.policy('id: c\nversion: "1"\nuncertainty: {require_computed: true}\n', at=desk.at(minutes=2))
    later = desk.resume(gated.bundle_hash, at=desk.at(minutes=3))
    assert FindingCode.NOT_COMPUTED in {one.code for one in later.outcome.findings}


def test_whatever_breaks_in_an_estimator_the_bundle_is_on_record_and_deferred(desk: ClaimsDesk) -> None:
    """Also where it returns what is no estimate."""

    def broken(_question: str) -> Estimate:
        raise OverflowError

    def silent(_question: str) -> Any:  # noqa: ANN401  what no estimator should return
        return None

    for number, (estimator, fault) in enumerate(((broken, "OverflowError"), (silent, "TypeError"))):
        made = desk.document(id=_id(20 + number))
        gated = desk.gate(made, submission={"questions": {"c-1": "?"}}, estimator=estimator)
        assert gated.decision is Decision.DEFER
        assert desk.entries(EntryKind.CLAIMS_RECEIVED)[-1]["context"]["estimate_problem"] == f"fault: {fault}"


def test_an_agent_takes_its_bundle_back(desk: ClaimsDesk) -> None:
    """The same bundle with REFUSE is refused for good; an approval that comes later publishes nothing."""
    made = desk.document(desk.claim(RiskTier.DELETE))
    waiting = desk.gate(made)
    back = desk.gate({**made, "decision": "REFUSE"})
    assert (back.decision, back.outcome.findings[0].code) == (Decision.REFUSE, FindingCode.DECLARED_REFUSE)
    late = desk.decide(desk.find(waiting.tickets[0].ticket_id), "user:otto").gated
    assert late is not None
    assert late.decision is Decision.REFUSE
    published = desk.document(id=_id(2))
    assert desk.gate(published).decision is Decision.PUBLISH
    assert desk.gate({**published, "decision": "REFUSE"}).decision is Decision.PUBLISH


def test_more_people_cannot_be_asked_for_in_silence(desk: ClaimsDesk) -> None:
    """The agent is told to put a bundle that names them in its place."""
    made = desk.document(desk.claim(RiskTier.DELETE))
    desk.gate(made)
    with refused("claims.received_otherwise"):
        desk.gate({**made, "required_approvals": ["security_team"]})
    other = {**made, "id": _id(3), "required_approvals": ["security_team"]}
    placed = desk.gate(other)
    assert placed.outcome.required_approvals == ("ops_team", "security_team")


def test_an_answer_does_not_outlive_its_givers_right_to_act(desk: ClaimsDesk) -> None:
    """Somebody else is asked in the place of whoever was disabled before the bundle was published."""
    desk.policy(
        'id: two\nversion: "1"\napprovals:\n  by_tier:\n    DELETE: [{role: ops_team, people: 2}]\n'
        "    PRIVILEGE: [{role: security_team, people: 1}]\n"
    )
    _, (ticket,) = desk.waiting()
    desk.decide(ticket, "user:otto")
    disable_principal(desk.tools, TENANT, PrincipalId("user:otto"), by=ADMIN, at=desk.at(minutes=4))
    done = desk.decide(ticket, "user:oda", at=desk.at(minutes=5)).gated
    assert done is not None
    assert done.decision is Decision.ESCALATE
    assert "does not count: disabled" in done.outcome.reason
    (again,) = [desk.find(one.ticket_id) for one in done.tickets]
    last = desk.decide(again, "user:both", at=desk.at(minutes=6)).gated
    assert last is not None
    assert last.decision is Decision.PUBLISH


@pytest.mark.clause("claimbundle", "risk-tiers")
def test_an_approval_falls_with_the_role_it_was_given_in(desk: ClaimsDesk) -> None:
    """Whoever left the team before the bundle was published does not stand for it: somebody else is asked."""
    desk.policy(
        'id: two\nversion: "1"\napprovals:\n  by_tier:\n    DELETE: [{role: ops_team, people: 2}]\n'
        "    PRIVILEGE: [{role: security_team, people: 1}]\n"
    )
    _, (ticket,) = desk.waiting()
    desk.decide(ticket, "user:otto")
    left = PrincipalChange(roles=("reviewer",))
    amend_principal(desk.tools, TENANT, PrincipalId("user:otto"), left, by=ADMIN, at=desk.at(minutes=4))
    done = desk.decide(ticket, "user:oda", at=desk.at(minutes=5)).gated
    assert done is not None
    assert done.decision is Decision.ESCALATE
    assert "does not count: no_role" in done.outcome.reason
    (again,) = [desk.find(one.ticket_id) for one in done.tickets]
    last = desk.decide(again, "user:both", at=desk.at(minutes=6)).gated
    assert last is not None
    assert last.decision is Decision.PUBLISH


def test_a_reviewer_who_is_none_any_more_has_let_nothing_pass(desk: ClaimsDesk) -> None:
    unsure = desk.claim(uncertainty={"method": "semantic_entropy", "value": 0.9})
    waiting = desk.gate(desk.document(unsure))
    ticket = desk.find(waiting.tickets[0].ticket_id)
    left = PrincipalChange(roles=("ops_team",))
    # As where the process ends after the answer's commit: the bundle is not gated again with it yet.
    desk.answer(ticket, desk.session("user:rita"), "resume", follow_ups=ROOM_FOLLOW_UPS, reason="looked at it")
    amend_principal(desk.tools, TENANT, PrincipalId("user:rita"), left, by=ADMIN, at=desk.at(minutes=4))
    assert desk.resume(waiting.bundle_hash).decision is Decision.DEFER


def test_a_new_thread_does_not_hide_what_its_agent_did_before(desk: ClaimsDesk) -> None:
    tiers = (RiskTier.READ_ONLY, RiskTier.READ_ONLY, RiskTier.PRIVILEGE)
    done = [
        desk.gate(desk.document(desk.claim(tier), id=_id(number)), submission={"thread": f"fresh-{number}"})
        for number, tier in enumerate(tiers, 10)
    ]
    assert [one.decision for one in done] == [Decision.PUBLISH, Decision.PUBLISH, Decision.ESCALATE]
    assert done[-1].outcome.caveats == ("tier_hopping in session: from READ_ONLY to PRIVILEGE",)


def test_going_back_to_an_earlier_policy_is_refused_and_says_how(desk: ClaimsDesk) -> None:
    """Nobody believes that a policy is in force which is not."""
    first, second = 'id: p\nversion: "1"\nthreat_above: 0.3\n', 'id: p\nversion: "2"\nthreat_above: 0.9\n'
    desk.policy(first)
    desk.policy(second, at=desk.at(seconds=31))
    assert not desk.policy(second, at=desk.at(seconds=32)).is_new
    with refused("claims.policy_released"):
        desk.policy(first, at=desk.at(seconds=33))
    assert desk.read(lambda unit: active_policy(unit, TENANT)).version == "2"


def test_a_bundle_too_large_for_the_ledger_leaves_a_refusal(desk: ClaimsDesk) -> None:
    claims = [desk.claim(id=f"c{number}", statement="s" * 16_000) for number in range(80)]
    with refused("ledger.entry_size"):
        desk.gate(desk.document(*claims))
    assert desk.entries(EntryKind.CLAIMS_REFUSED)[-1]["code"] == "ledger.entry_size"
