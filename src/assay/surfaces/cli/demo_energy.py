"""The demonstration of verdicts: a reviewed, signed graph, the judge on telemetry, a person's word, the replay."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from assay.adapters.keyfile import KeyFileSigner, create_key_file
from assay.adapters.node_folder import replace_file
from assay.adapters.toml_text import set_toml_value
from assay.flows.identity.authenticate import authenticate
from assay.flows.identity.sessions import check_password
from assay.flows.ledger.prove_record import prove_record
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.request import MOST_ITEMS
from assay.flows.review.answer_review import answer_review
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.tools import Tools
from assay.flows.verdicts.change_graphs import ReleasedGraph
from assay.flows.verdicts.coverage import check_agreement
from assay.flows.verdicts.evaluate import evaluate_stream
from assay.flows.verdicts.explain_verdict import VerdictExplainer
from assay.flows.verdicts.read_verdicts import Decided, HeldVerdict, ListHeld, show_verdict
from assay.flows.verdicts.read_verdicts import held as held_verdicts
from assay.flows.verdicts.replay_verdict import replay_verdicts
from assay.identity.caller import local_caller
from assay.kernel.bundle import render_bundle
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId, TenantId
from assay.operations.dispatch import Dispatcher
from assay.operations.parse import parse_request
from assay.operations.shown.verdicts import standing_word
from assay.operations.table import BY_NAME
from assay.review.draft import Reply
from assay.surfaces.cli.demo_people import PASSWORD, VOTERS, Credentials, gather_people
from assay.surfaces.cli.demo_step import HELD, REFUSED, Step, run_elsewhere
from assay.surfaces.cli.shipped import find_shipped
from assay.surfaces.cli.verdict_text import rule_line
from assay.verdicts.replay import ReplayResult, summarise_replays
from assay.wiring import CONFIG_FILE, init_node, open_evaluation, open_node

_TENANT = TenantId("default")
_REVIEWER, _ATTESTER = VOTERS
# A line of each verdict: the records that are shown, of all that are judged.
_SHOWN = ("en-03", "en-07", "en-15", "en-18", "en-20")
_TOLD = frozenset({"FLAG", "DISCRETIONARY", "NULL_STALE", "NULL_UNMAPPED", "HELD"})
_BREAKDOWN = "en-18"


def run_energy(node: Path, auditor: Path) -> Iterator[Step]:
    """Run on a node of its own; the steps come as they are done."""
    init_node(node, origin="demo.example/energy")
    auditor.mkdir()
    signer = _trust_new_key(node)
    with open_node(node) as (opened, config), open_evaluation(node, config, opened) as evaluation:
        tools = evaluation.tools
        people = gather_people(tools, _TENANT)
        released = _release(tools, people, signer)
        yield _refuse_change(tools, people, released)
        yield _use(tools, people, released)
        yield from _judge(tools, people)
        yield _refuse_sender(tools, people)
        yield from _attest(tools)
        yield _compare(tools)
        yield _replay(tools)
        yield _agree(tools)
        yield _prove(tools, node, auditor)
    yield from _verify_elsewhere(auditor)


def _trust_new_key(node: Path) -> KeyFileSigner:
    """The operator's own key for graphs is the only one whose signature this node believes."""
    signer = create_key_file(node / "keys" / "graph.key")
    path = node / CONFIG_FILE
    text = set_toml_value(path.read_text(encoding="utf-8"), "trust", "anchors", [signer.public_key.hex()])
    replace_file(path, text.encode())
    return signer


def _release(tools: Tools, people: Credentials, signer: KeyFileSigner) -> ReleasedGraph:
    """Handed in by the operator, read and accepted by a reviewer, then signed."""
    document = find_shipped("graphs/energy.json").read_bytes()
    asked = _perform(tools, "graph.review", people.chief, document=document)
    reply = Reply(choice="accept", seen=asked.ticket.shown_hash, reason="read against the Directive")
    reviewer = authenticate(tools, _session(tools, _REVIEWER), at=tools.clock.now())
    answer_review(tools, reviewer, asked.ticket.id, reply, follow_ups=ROOM_FOLLOW_UPS)
    prepared = _perform(tools, "graph.release.prepare", people.chief, content_hash=asked.content_hash)
    signed: ReleasedGraph = _perform(
        tools,
        "graph.release",
        people.chief,
        content_hash=asked.content_hash,
        public_key=signer.public_key.hex(),
        signature=signer.sign(bytes.fromhex(prepared.message)).hex(),
    )
    return signed


def _perform(tools: Tools, name: str, credential: str, **given: Any) -> Any:  # noqa: ANN401 - an operation's result
    operation, caller = BY_NAME[name], authenticate(tools, credential, at=tools.clock.now())
    return Dispatcher(tools=tools)(operation, caller, parse_request(operation, given)).value


def _session(tools: Tools, name: str) -> str:
    return check_password(tools, _TENANT, PrincipalId(name), PASSWORD, at=tools.clock.now())[0]


def _refuse_change(tools: Tools, people: Credentials, released: ReleasedGraph) -> Step:
    changed = released.document.replace('"value":200', '"value":900', 1)
    try:
        _perform(tools, "graph.load", people.chief, document=changed)
    except Error as error:
        is_right = changed != released.document
        return Step("A changed limit", f"200 made 900 in the signed graph: refused, {error.code}", is_right)
    return Step("A changed limit", "the graph was loaded", is_right=False)


def _use(tools: Tools, people: Credentials, released: ReleasedGraph) -> Step:
    loaded = _perform(tools, "graph.load", people.chief, document=released.document)
    active = loaded.activation
    words = (
        f"Directive 2010/75/EU as a knowledge graph, accepted by {_REVIEWER}, signed, loaded in {active.mode} mode:"
        f" {active.kg_version_hash[:23]}…"
    )
    return Step("Knowledge", words, active.reviewers == 1)


def _judge(tools: Tools, people: Credentials) -> Iterator[Step]:
    """The shipped judge in its own process, on every record of the example."""
    with find_shipped("telemetry/energy.jsonl").open("rb") as lines:
        caller = authenticate(tools, people.gateway, at=tools.clock.now())
        results = list(evaluate_stream(tools, caller, lines, workers=2))
    decided = [one.decided for one in results if one.decided is not None]
    counts = Counter(standing_word(one) for record in decided for one in record.verdicts)
    told = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    words = (
        f"{len(decided)} records judged by the local model, rule by rule, each verdict checked by the verifier and on"
        f" disk; of {counts.total()} verdicts {told}"
    )
    yield Step("Evaluate", words, len(decided) == len(results) and not counts.keys() ^ {*_TOLD, "CLEAR"})
    explainer = VerdictExplainer(tools, _TENANT)
    for record in decided:
        if record.telemetry_id in _SHOWN:
            yield from (Step("A verdict", line, is_right=True) for line in _lines(explainer, record))


def _lines(explainer: VerdictExplainer, record: Decided) -> Iterator[str]:
    for verdict, rule in zip(record.verdicts, explainer.explain(record), strict=True):
        if standing_word(verdict) in _TOLD:
            yield click.unstyle(rule_line(record.telemetry_id, record.subject, verdict, rule))


def _held(tools: Tools) -> Sequence[HeldVerdict]:
    caller = local_caller(_TENANT, at=tools.clock.now())
    return held_verdicts(tools, caller, ListHeld(limit=MOST_ITEMS)).items


def _refuse_sender(tools: Tools, people: Credentials) -> Step:
    held = _held(tools)
    try:
        _answer(tools, held[0], people.gateway)
    except Error as error:
        words = f"{len(held)} verdicts of high risk are held; the service that sent them attests: refused, {error.code}"
        return Step("Hold", words, len(_held(tools)) == len(held))
    return Step("Hold", "the service that sent it attested a verdict", is_right=False)


def _attest(tools: Tools) -> Iterator[Step]:
    """Another person than the one who reviewed the graph reads what is shown, and signs."""
    session = _session(tools, _ATTESTER)
    for one in _held(tools):
        _answer(tools, one, session)
        if one.telemetry_id == _BREAKDOWN:
            yield _attested(tools)


def _attested(tools: Tools) -> Step:
    (final,) = show_verdict(tools, _TENANT, _BREAKDOWN).verdicts
    token = None if final.envelope is None else final.envelope.human_attestation
    words = f"{_ATTESTER} logs in, reads the breakdown and attests it: {standing_word(final)}, {final.reason}"
    return Step("Attest", words, token is not None and token.reviewer == _ATTESTER)


def _answer(tools: Tools, held: HeldVerdict, credential: str) -> None:
    _perform(
        tools,
        "verdict.attest",
        credential,
        ticket_id=held.ticket.id,
        seen=held.ticket.shown_hash,
        reason="checked against the log of the plant",
    )


def _compare(tools: Tools) -> Step:
    """What a person wrote down beforehand, from the text of the Directive."""
    expected = json.loads(find_shipped("telemetry/energy.expected.json").read_text())["expected"]
    found = [show_verdict(tools, _TENANT, one["telemetry_id"]).overall.verdict for one in expected]
    right = sum(one["verdict"] == verdict for one, verdict in zip(expected, found, strict=True))
    return Step(
        "As expected", f"{right} of {len(expected)} records as written down by hand beforehand", right == len(expected)
    )


def _replay(tools: Tools) -> Step:
    summary = summarise_replays(replay_verdicts(tools, _TENANT))
    words = (
        f"{summary.counts[ReplayResult.MATCH]} entries reached again: graph, weights, prompt, the model's every byte,"
        " verifier, chain"
    )
    return Step("Replay", words, summary.is_clean)


def _agree(tools: Tools) -> Step:
    canary = check_agreement(tools, _TENANT)
    rate = f"{(canary.agreement_rate or 0) * 100:.1f} %"
    return Step("Agreement", f"model and verifier agree in {rate}: {canary.status}", canary.is_healthy)


def _prove(tools: Tools, node: Path, auditor: Path) -> Step:
    (final,) = show_verdict(tools, _TENANT, _BREAKDOWN).verdicts
    sign_checkpoint(tools, _TENANT, at=tools.clock.now())
    bundle = prove_record(tools, _TENANT, final.sequence_number)
    (auditor / "verdict.json").write_bytes(render_bundle(bundle))
    (auditor / "forged.json").write_bytes(render_bundle(bundle).replace(b"FLAG", b"PASS"))
    shutil.copy(node / "keys" / "ledger.key.pub", auditor / "ledger.pub")
    words = f"the attested verdict, entry {final.sequence_number}, with its envelope and the person's token in one file"
    return Step("Prove", words, is_right=True)


def _verify_elsewhere(auditor: Path) -> Iterator[Step]:
    code, finding = run_elsewhere(auditor, "verify", "verdict.json", "--trust", "ledger.pub")
    words = f"another process, with that file and one key: it holds, exit {code}"
    yield Step("Verify offline", words, code == HELD and finding["holds"] is True)
    code, finding = run_elsewhere(auditor, "verify", "forged.json", "--trust", "ledger.pub")
    why = finding.get("code") or finding.get("error", {}).get("code")
    yield Step("Forge", f"the verdict changed in the file: refused, {why}, exit {code}", code == REFUSED)
