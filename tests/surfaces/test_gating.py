"""Claims from Python: pure without a node, on record with one, and a decorator that lets nothing else out."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import assay
from assay.claims.bundle import Decision, EvidencePointer, Uncertainty, UncertaintyMethod
from assay.claims.decide import Outcome
from assay.flows.claims.decide_claims import GatedClaims
from assay.identity.risk import RiskTier
from assay.kernel.instant import parse_instant
from assay.kernel.ledger import EntryKind
from assay.surfaces.gating import HeldBackError
from tests.adapters.inference.loopback import Answer, Asked, served
from tests.claims.making import bundle, document, tier_claim
from tests.contract._kit import refused
from tests.flows._claims import AGENT, ClaimsDesk, copied_claims, opened_claims

_SURE = Uncertainty(method=UncertaintyMethod.SEMANTIC_ENTROPY, value=0.1, interpretation="answers agree")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("claims")
    with opened_claims(folder):
        return folder


@pytest.fixture
def desk(template: Path, tmp_path: Path) -> Iterator[ClaimsDesk]:
    with opened_claims(copied_claims(template, tmp_path)) as opened:
        yield opened


def test_without_a_node_gating_is_pure() -> None:
    """In any form of a bundle; nothing above writing passes, since nothing is recorded and nobody can approve."""
    for given in (document(), bundle()):
        assert assay.gate(given).decision is Decision.PUBLISH
    assert assay.gate("{}").decision is Decision.REFUSE
    assert assay.gate(b"no json").findings[0].code == "invalid"
    strict = 'id: strict\nversion: "1"\nevidence: {least_confidence: 0.95}\n'
    assert assay.gate(document(), policy=strict).decision is Decision.DEFER
    assert assay.gate(document(tier_claim(RiskTier.WRITE_LIMITED))).decision is Decision.REFUSE
    for tier in (RiskTier.MODIFY, RiskTier.DELETE, RiskTier.PRIVILEGE):
        done = assay.gate(document(tier_claim(tier)), risk_ceiling="PRIVILEGE")
        assert done.decision in (Decision.DEFER, Decision.ESCALATE)


def test_with_a_node_a_decision_is_on_record(desk: ClaimsDesk) -> None:
    """An open node, or the folder of one that nobody has open; an agent without a key is nobody."""
    done = assay.gate(desk.document(), node=desk.tools, credential=desk.agent)
    assert (done.decision, done.is_new) == (Decision.PUBLISH, True)
    assert len(desk.entries(EntryKind.CLAIMS_DECIDED)) == 1
    with refused("claims.no_credential"):
        assay.gate(desk.document(), node=desk.tools, credential=None)
    assert isinstance(done, GatedClaims)


def test_a_folder_is_opened_for_one_call(template: Path, tmp_path: Path) -> None:
    folder = copied_claims(template, tmp_path)
    key = (folder / "agent.key").read_text()
    first = assay.gate(document(), node=folder / "node", credential=key)
    again = assay.gate(document(), node=str(folder / "node"), credential=key)
    assert (first.is_new, again.is_new, again.bundle_hash) == (True, False, first.bundle_hash)


def _says_yes(asked: Asked) -> Answer:
    told: dict[str, object] = {"data": [{"id": "m"}], "version": "1"}
    if asked.path.endswith("/completions"):
        said = {"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}
        told = {"choices": [said], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}
    return Answer(200, iter([json.dumps(told).encode()]))


@pytest.mark.clause("claimbundle", "semantic-entropy")
def test_a_policy_that_requires_it_has_the_nodes_own_model_asked_from_python_too(
    template: Path, tmp_path: Path
) -> None:
    """By a folder and by an open node: the agent need not ask, and cannot ask something else instead."""
    folder = copied_claims(template, tmp_path)
    with opened_claims(folder) as desk:
        desk.policy('id: asked\nversion: "1"\nuncertainty: {require_computed: true}\n')
        made = [desk.document(id=f"5b0d0c1e-6d5c-4a3e-9b57-1f6f0c1d010{number}") for number in range(2)]
    with served(_says_yes) as server:
        with (folder / "node" / "assay.toml").open("a") as config:
            config.write(f'[models.general]\nbackend = "vllm"\nmodel = "m"\nurl = "{server.address.url}"\n')
        done = assay.gate(made[0], node=folder / "node", credential=desk.agent)
        assert (done.decision, done.outcome.reason) == (Decision.PUBLISH, "all gates passed")
        with assay.open(folder / "node", credential=desk.agent) as node:
            assert node.gate(made[1]).decision is Decision.PUBLISH
    assert sum(one.path.endswith("/completions") for one in server.asked) >= 2


@pytest.mark.clause("claimbundle", "semantic-entropy")
def test_a_claimed_function_is_as_uncertain_as_the_nodes_own_model_about_its_question(
    template: Path, tmp_path: Path
) -> None:
    """What the function does not say is computed; the same question again costs nothing, and a budget ends it."""
    folder = copied_claims(template, tmp_path)
    with opened_claims(folder) as desk:
        agent = desk.agent
    with served(_says_yes) as server:
        with (folder / "node" / "assay.toml").open("a") as config:
            config.write(f'[models.general]\nbackend = "vllm"\nmodel = "m"\nurl = "{server.address.url}"\n')
            config.write("[claims]\nanswers_per_day = 5\n")

        @assay.claimed(origin_agent="ai:surveyor", node=folder / "node", credential=agent)
        def depth(question: str) -> assay.Claimed[int]:
            return assay.Claimed(value=30, statement="The river is 30 m deep.", question=question)

        assert depth("Is the river deep?") == 30
        asked = sum(one.path.endswith("/completions") for one in server.asked)
        assert 1 <= asked <= 5
        with assay.open(folder / "node", credential=agent) as node:
            assert node.estimate("Is it deep?").value == 0.0
            assert node.estimate("Is it deep?").value == 0.0
            with pytest.raises(assay.Error) as spent:
                node.estimate("Is it wide?")
        assert spent.value.code == "claims.estimate_budget"


def test_a_claimed_function_returns_on_publish_and_raises_otherwise() -> None:
    """Whatever is left out is the stricter choice: without an uncertainty nothing is published."""

    @assay.claimed(origin_agent="ai:reader")
    def depth(river: str, *, is_sure: bool) -> assay.Claimed[float]:
        """How deep."""
        said = f"The {river} is 30 m deep."
        if is_sure:
            return assay.Claimed(value=30.0, statement=said, uncertainty=_SURE)
        return assay.Claimed(value=30.0, statement=said)

    assert depth("Elbe", is_sure=True) == 30.0
    assert (depth.__name__, depth.__doc__) == ("depth", "How deep.")
    with pytest.raises(HeldBackError, match="DEFER") as caught:
        depth("Elbe", is_sure=False)
    assert caught.value.decision is Decision.DEFER
    assert isinstance(caught.value.gated, Outcome)
    assert caught.value.bundle.claims[0].statement == "The Elbe is 30 m deep."


@pytest.mark.clause("claimbundle", "gate-recommendations")
def test_a_caveat_reaches_whoever_gets_the_value() -> None:
    """EXPLAIN: proceed, and add the note to the output; where nobody takes the note, the value is held back."""
    taken: list[str] = []
    doubtful = Uncertainty(method=UncertaintyMethod.SEMANTIC_ENTROPY, value=0.6)

    def depth() -> assay.Claimed[float]:
        return assay.Claimed(value=30.0, statement="The Elbe is 30 m deep.", uncertainty=doubtful)

    assert assay.claimed(origin_agent="ai:reader", on_caveats=taken.extend)(depth)() == 30.0
    assert [one.startswith("depth is uncertain") for one in taken] == [True]
    with pytest.raises(HeldBackError, match="depth is uncertain") as caught:
        assay.claimed(origin_agent="ai:reader")(depth)()
    assert caught.value.decision is Decision.PUBLISH


def test_a_claimed_fact_needs_its_evidence() -> None:
    seen = EvidencePointer(
        source="https://data.example.org/rivers.csv",
        source_confidence=0.9,
        evidence_hash="ab" * 32,
        retrieved_at=parse_instant("2026-01-01T00:00:00Z"),
    )

    caveats: list[str] = []

    @assay.claimed(
        origin_agent="ai:reader", claim_type="FACT", if_wrong_cost="a boat runs aground", on_caveats=caveats.extend
    )
    def fact(*pointers: EvidencePointer) -> assay.Claimed[str]:
        return assay.Claimed(value="deep", statement="It is deep.", uncertainty=_SURE, evidence=pointers)

    assert fact(seen) == "deep"
    assert caveats == ["fact: this node never saw the content of `https://data.example.org/rivers.csv`"]
    with pytest.raises(HeldBackError, match="expected evidence for a FACT"):
        fact()


def test_what_a_claimed_function_would_do_waits_for_people_on_a_node(desk: ClaimsDesk) -> None:
    """The error carries the bundle; once it is approved, the same bundle is published, once."""

    @assay.claimed(origin_agent=AGENT, risk_tier="DELETE", node=desk.tools, credential=desk.agent)
    def purge() -> assay.Claimed[list[str]]:
        return assay.Claimed(value=["a"], statement="Delete record a.", uncertainty=_SURE, tool_arguments=("a",))

    with pytest.raises(HeldBackError) as caught:
        purge()
    gated = caught.value.gated
    assert isinstance(gated, GatedClaims)
    assert caught.value.decision is Decision.ESCALATE
    now = desk.tools.clock.now()
    approved = desk.decide(desk.find(gated.tickets[0].ticket_id), "user:otto", at=now).gated
    assert approved is not None
    assert approved.decision is Decision.PUBLISH
    again = assay.gate(
        caught.value.bundle, node=desk.tools, credential=desk.agent, tool_arguments=caught.value.tool_arguments
    )
    assert (again.decision, again.is_new) == (Decision.PUBLISH, False)


def test_importing_the_package_loads_nothing_of_this() -> None:
    """Names are found when they are asked for, and unknown ones are not."""
    script = "import assay, sys; assert 'msgspec' not in sys.modules; assay.gate; assert 'msgspec' in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    with pytest.raises(AttributeError, match="no_such"):
        assay.no_such  # noqa: B018  that is what is tried
