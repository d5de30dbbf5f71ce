"""The demonstration of truth: a flood that machines may call, a dam on which people must decide, and the proof."""

import json
import shutil
from collections.abc import Iterator, Sequence
from decimal import Decimal
from hashlib import sha256
from pathlib import Path

from msgspec.structs import replace

from assay.adapters.validators.engines import NamedEngines
from assay.adapters.validators.examine import examine_evidence
from assay.adapters.validators.rules import RuleValidator
from assay.flows.identity.sessions import check_password
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.tools import Tools
from assay.flows.truth.climb_ladder import climb_key
from assay.flows.truth.compile_truth import compile_truth
from assay.flows.truth.replay_truth import replay_truth
from assay.flows.truth.state_entry import state_value
from assay.flows.truth.states import prove_truth, show_history
from assay.flows.truth.votes import OpenQuestion, VoteReceipt
from assay.kernel.bundle import Bundle, parse_bundle, render_bundle
from assay.kernel.digest import digest_of
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import render_instant
from assay.operations.shown.truth import state_line
from assay.ports.validator import EvidenceFact, Judgement, Question
from assay.surfaces.cli.demo_people import PASSWORD, VOTERS, Credentials, gather_people, release_laws
from assay.surfaces.cli.demo_step import HELD, REFUSED, Step, act, run_elsewhere
from assay.truth.evidence import EvidenceRef
from assay.truth.state import render_truth_state
from assay.truth.status import TruthStatus
from assay.wiring import init_node, open_node

_TENANT = TenantId("default")
_PLACE = {"lat": 4.175, "lon": 73.509}
_FLOOD, _DAM = "earth.flood.v1", "earth.dam_breach.v1"
_LEVELS = (1.2, 1.3, 1.25, 1.35)


class _StandIn:
    """Where a deployment has a vision model, this has an opinion: it shows the ladder, and judges nothing."""

    name, version = "local-vision", "demo"

    def validate(self, _question: Question) -> Judgement:
        return Judgement(score=Decimal("0.95"), failed_checks=(), engine_version=self.version)


_ENGINES = NamedEngines((RuleValidator(), _StandIn()))


def run_flood(node: Path, auditor: Path) -> Iterator[Step]:
    """Run on a node of its own; the steps come as they are done."""
    init_node(node, origin="demo.example/flood")
    auditor.mkdir()
    with open_node(node) as (tools, _):
        people = gather_people(tools, _TENANT)
        yield release_laws(tools, people)
        yield _call_flood(tools, people)
        dam = _report(tools, people, _DAM, [{"present": True, "level": 4.5}, {"present": True, "level": 5}])
        yield _wait_for_people(tools, dam)
        question = act(tools, people.chief, "question.show", key=dam)
        yield _refuse_machine(tools, people, question)
        yield from _let_people_vote(tools, question)
        yield _replay(tools, dam)
        yield _prove(tools, node, auditor, dam)
    yield _verify_elsewhere(auditor)
    yield from _forge(auditor)


def _call_flood(tools: Tools, people: Credentials) -> Step:
    """The monitor lane: enough trusted reports, and machines that agree, are a verified state."""
    payloads = [{"severity": "high", "water_level_meters": level} for level in _LEVELS]
    key = _report(tools, people, _FLOOD, payloads)
    done = compile_truth(tools, _TENANT, key, at=tools.clock.now())
    line = state_line(state_value(done.state))
    words = f"{len(payloads)} reports, the rules, and a stand-in for a vision model: {line}, signed"
    return Step("A flood", words, done.state.status is TruthStatus.VERIFIED_TRUE)


def _report(tools: Tools, people: Credentials, claim_type: str, payloads: Sequence[dict[str, object]]) -> str:
    """Each reporter at the same place and time, with a reading as evidence; then the ladder."""
    at, facts, key = tools.clock.now(), dict[str, EvidenceFact](), ""
    for reporter, payload in zip(people.reporters, payloads, strict=False):
        content = json.dumps({"by": reporter, **payload}, sort_keys=True).encode() + b" " * 2048
        ref = EvidenceRef(
            uri=f"https://evidence.example/{reporter.replace(':', '-')}-{claim_type}",
            sha256=sha256(content).hexdigest(),
            mime_type="application/json",
        )
        facts[ref.sha256] = examine_evidence(ref, content)
        given = {
            "observation_id": f"{claim_type}-{reporter.replace(':', '-')}",
            "claim_type": claim_type,
            "reported_at": render_instant(at),
            "reporter_id": reporter,
            "reporter_context": {"standing": "authority", "trust_score": 1, "source_type": "human"},
            "geo": _PLACE,
            "payload": payload,
            "evidence_refs": [{"uri": ref.uri, "sha256": ref.sha256, "mime_type": ref.mime_type}],
        }
        key = act(tools, people.gateway, "observation.record", observation=given).truthkey
    climb_key(tools, _TENANT, key, _ENGINES, at=tools.clock.now(), facts=facts)
    return key


def _wait_for_people(tools: Tools, key: str) -> Step:
    done = compile_truth(tools, _TENANT, key, at=tools.clock.now())
    words = f"a breached dam is critical: {state_line(state_value(done.state))}; a ticket is on the review desk"
    return Step("Wait for people", words, done.state.status is TruthStatus.PENDING_HUMAN_REVIEW)


def _refuse_machine(tools: Tools, people: Credentials, question: OpenQuestion) -> Step:
    """An API key does not show that a person votes."""
    try:
        _vote(tools, question, people.gateway)
    except Error as error:
        return Step("A machine votes", f"refused, {error.code}", is_right=True)
    return Step("A machine votes", "it was counted", is_right=False)


def _let_people_vote(tools: Tools, question: OpenQuestion) -> Iterator[Step]:
    expected = (TruthStatus.LEANING_TRUE, TruthStatus.VERIFIED_TRUE)
    for name, status in zip(VOTERS, expected, strict=True):
        token, _ = check_password(tools, _TENANT, PrincipalId(name), PASSWORD, at=tools.clock.now())
        done = _vote(tools, question, token)
        found = done.code if done.state is None else done.state["status"]
        words = f"{name} logs in, reads the claim and ratifies what was shown: {found}"
        yield Step("Vote", words, found == status)
    history = show_history(tools, _TENANT, question.truthkey, at=tools.clock.now())
    before, after = history[0].state, history[-1].state
    words = f"before: {before.status}, {before.confidence:.2f}; after: {after.status} by {after.verification_basis}, "
    yield Step(
        "Before and after", f"{words}{after.confidence:.2f}; nothing was edited", len(history) == 1 + len(VOTERS)
    )


def _vote(tools: Tools, question: OpenQuestion, credential: str) -> VoteReceipt:
    words = "seen with my own eyes"
    seen = {"truthkey": question.truthkey, "seen": question.shown_hash}
    done: VoteReceipt = act(tools, credential, "vote.cast", **seen, vote_type="RATIFY", reason=words)
    return done


def _replay(tools: Tools, key: str) -> Step:
    found = [replay_truth(tools, _TENANT, truthkey=key, version=version) for version in range(1, 2 + len(VOTERS))]
    words = f"{len(found)} states compiled again from the ledger's entries alone: the same bytes"
    return Step("Replay", words, all(one.holds for one in found))


def _prove(tools: Tools, node: Path, auditor: Path, key: str) -> Step:
    sign_checkpoint(tools, _TENANT, at=tools.clock.now())
    bundle = prove_truth(tools, _TENANT, truthkey=key)
    (auditor / "state-bundle.json").write_bytes(render_bundle(bundle))
    state = show_history(tools, _TENANT, key, at=tools.clock.now())[-1].state
    (auditor / "state.json").write_bytes(render_truth_state(state))
    for name in ("ledger", "truth"):
        shutil.copy(node / "keys" / f"{name}.key.pub", auditor / f"{name}.pub")
    words = f"the state, its proof and the {len(bundle.attachments)} entries it was compiled from, in one file"
    return Step("Prove", words, is_right=True)


def _verify_elsewhere(auditor: Path) -> Step:
    code, finding = run_elsewhere(auditor, "truth", "verify", "state-bundle.json", "--trust", "ledger.pub")
    words = f"another process, with that file and one key: compiled again and the same, exit {code}"
    return Step("Verify offline", words, code == HELD and finding["replay"]["holds"] is True)


def _forge(auditor: Path) -> Iterator[Step]:
    """Another claim in the state; and another observation in the proof, with every hash beside it put right."""
    state = (auditor / "state.json").read_text().replace('"reports":2', '"reports":3').encode()
    proof = render_bundle(_with_another_level(parse_bundle((auditor / "state-bundle.json").read_bytes())))
    forgeries = (("the claim of the signed state", state, "truth.pub"), ("an observation", proof, "ledger.pub"))
    for title, content, key in forgeries:
        (auditor / "forged.json").write_bytes(content)
        code, finding = run_elsewhere(auditor, "truth", "verify", "forged.json", "--trust", key)
        problems = finding.get("checks") or finding.get("replay", {}).get("problems") or [{}]
        why = next((one["code"] for one in problems if one.get("code")), "nothing")
        yield Step("Forge", f"{title} changed: refused, {why}, exit {code}", code == REFUSED)
    (auditor / "forged.json").unlink()


def _with_another_level(bundle: Bundle) -> Bundle:
    contents = [(one, one.content.replace(b'"level":4.5', b'"level":0.5')) for one in bundle.attachments]
    changed = tuple(replace(one, content=content, sha256=digest_of(content)) for one, content in contents)
    return replace(bundle, attachments=changed)
