"""Replay verdicts from the ledger (SKI 8): the six steps, from what is stored and a model of the same weights.

entry -> 1 graph, 2 weights, 3 prompt, 4 transcript, 5 verifier and governor, 6 chain -> what matches, and what does not
What cannot be had again was not checked, and is never reported as clean.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from assay.flows.errors import NotFoundError
from assay.flows.ledger.check_entry import verify_stored_entry
from assay.flows.ledger.own_keys import own_key_ring
from assay.flows.tools import Tools
from assay.flows.verdicts.graph_shelf import ReadyGraph
from assay.flows.verdicts.judged_graph import JudgedGraphs, judged_content
from assay.flows.verdicts.ledger_memory import LedgerMemory
from assay.flows.verdicts.replay_tolerance import is_within_tolerance
from assay.flows.verdicts.verdict_text import ReadEntry, read_entry
from assay.kernel.digest import EMPTY_DIGEST, ZERO_DIGEST, Digest, digest_of
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.json_text import CANONICAL_LIMITS, parse_json
from assay.kernel.key import KeyPurpose, KeyRing
from assay.kernel.ledger import EntryKind
from assay.kernel.transcript import Transcript, verify_transcript
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.ledger_store import StoredEntry
from assay.ports.model import ModelError
from assay.ports.reasoner import LocalReasoner
from assay.verdicts.docket import Docket
from assay.verdicts.envelope import Envelope, HumanAttestation, ModelAnswer, VerdictPath, VerifierResult, VerifierStatus
from assay.verdicts.fastpath import FastAnswer, Stability, fast_answer, may_skip_model, pattern_of
from assay.verdicts.govern import govern, settle_held, verify_attestation
from assay.verdicts.predicate import Judgement
from assay.verdicts.reason import RawReply, ReasonRequest, build_request, interpret_failure, interpret_reply
from assay.verdicts.record import recorded_response, seal_envelope
from assay.verdicts.replay import (
    Recorded,
    Recovered,
    Replay,
    ReplayResult,
    ReplayStep,
    StepFinding,
    StepResult,
    compare_replay,
)
from assay.verdicts.slice import slice_graph
from assay.verdicts.telemetry import Telemetry, parse_telemetry
from assay.verdicts.verify import Verification, expected_verdict, judge_all, verify
from assay.verdicts.window import facts_at
from assay.verdicts.window_fact import WindowFact, buffer_record

__all__ = ["VERDICT_KINDS", "replay_record", "replay_verdict", "replay_verdicts"]

_KINDS = (EntryKind.VERDICT, EntryKind.VERDICT_HELD, EntryKind.VERDICT_FINAL, EntryKind.VERDICT_V2)
VERDICT_KINDS = frozenset(kind.value for kind in _KINDS)
_COUNT = re.compile(r"after (\d{1,15}) equal evaluations", re.ASCII)
_NOBODY = VerifierResult(status=VerifierStatus.UNVERIFIABLE, checked_assertions=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    """One entry with its neighbour and its transcript, as the database has them."""

    row: StoredEntry
    following: StoredEntry | None
    read: ReadEntry
    transcript: Transcript | None

    @property
    def envelope(self) -> Envelope:
        return self.read.envelope


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """What was judged and by what, put together again."""

    telemetry: Telemetry
    docket: Docket
    facts: dict[str, WindowFact]
    request: ReasonRequest


def replay_verdicts(tools: Tools, tenant_id: TenantId, *, first: int = 1, last: int | None = None) -> Iterator[Replay]:
    """Every verdict entry of the range, in order; the caller sums up with `summarise_replays`."""
    numbers = tools.database.read(lambda unit: list(_numbers(unit, tenant_id, first, last)))
    job = _Job(tools, tenant_id)
    yield from (job.replay(number) for number in numbers)


def replay_record(tools: Tools, tenant_id: TenantId, telemetry_id: str) -> Iterator[Replay]:
    """Every verdict entry of one record, held ones and what settled them; `flow.not_found` where there is none."""
    rows = tools.database.read(lambda unit: unit.verdicts.of_telemetry(tenant_id, telemetry_id))
    if not rows:
        raise NotFoundError(f"tenant `{tenant_id}` has no verdict on `{ascii(telemetry_id)[1:-1][:80]}`")
    job = _Job(tools, tenant_id)
    return (job.replay(row.sequence_number) for row in rows)


def _numbers(unit: Unit, tenant_id: TenantId, first: int, last: int | None) -> Iterator[int]:
    """Entries of verdicts, and those that cannot be read: they may have been some."""
    following = first
    while last is None or following <= last:
        try:
            for row in unit.ledger.entries(tenant_id, first=following, last=last):
                following = row.sequence_number + 1
                if row.kind in VERDICT_KINDS:
                    yield row.sequence_number
        except DamagedRecordError:
            yield following
            following += 1
        else:
            return


def replay_verdict(tools: Tools, tenant_id: TenantId, sequence_number: int) -> Replay:
    return _Job(tools, tenant_id).replay(sequence_number)


class _Job:
    """Graphs, keys and the model, looked at once for all entries."""

    def __init__(self, tools: Tools, tenant_id: TenantId) -> None:
        self._tools = tools
        self._tenant_id = tenant_id
        self._ring: KeyRing = own_key_ring(tools)
        self._graphs = JudgedGraphs(tools, tenant_id)
        self._weights = _weights_of(tools.reasoner)
        self._memory = LedgerMemory()

    def replay(self, number: int) -> Replay:
        try:
            row, following = self._tools.database.read(lambda unit: self._rows(unit, number))
        except DamagedRecordError as error:
            return _unreadable(number, f"{error.code}: {error}")
        if _is_before_v3(row):
            return Replay(sequence_number=number, result=ReplayResult.SKIPPED_PRE_V3)
        try:
            read = read_entry(row.text)
            verify_stored_entry(row, self._tenant_id, number, previous_hash=read.entry.previous_hash)
        except Error as error:
            # Whatever else it is, it is no entry that can be believed.
            return _unreadable(number, f"{error.code}: {error}")
        ref = read.envelope.transcript_ref
        transcript = self._tools.database.read(lambda unit: unit.transcripts.find(self._tenant_id, ref))
        return self._compared(_Stored(row=row, following=following, read=read, transcript=self._trusted(transcript)))

    def _rows(self, unit: Unit, number: int) -> tuple[StoredEntry, StoredEntry | None]:
        row = unit.ledger.find_entry(self._tenant_id, number)
        if row is None or row.kind not in VERDICT_KINDS:
            raise NotFoundError(f"tenant `{self._tenant_id}` has no verdict in entry {number}")
        return row, unit.ledger.find_entry(self._tenant_id, number + 1)

    def _trusted(self, transcript: Transcript | None) -> Transcript | None:
        """One that its signature does not hold for is as good as none."""
        if transcript is None:
            return None
        try:
            record = self._ring.get(transcript.signing_key_id, transcript.completed_at, purpose=KeyPurpose.TRANSCRIPT)
            verify_transcript(transcript, record.raw_public_key or b"")
        except Error:
            return None
        return transcript

    def _compared(self, stored: _Stored) -> Replay:
        envelope, told = stored.envelope, _response(stored.transcript)
        recorded = Recorded(
            sequence_number=stored.row.sequence_number,
            schema_version=stored.row.schema_version,
            entry_hash=Digest(stored.row.entry_hash),
            provenance=envelope.model_provenance,
            response_text=told.get("text"),
            verifier_result=envelope.verifier_result,
            verdict_path=envelope.verdict_path,
            was_answered="failure" not in told,
        )
        # Also an unsigned one: whether it may be used is not asked here, only whether it is the same.
        graph = self._graphs.find(judged_content(envelope))
        scene = None if graph is None else _scene(stored, graph)
        reasoner = self._reasoner(envelope.model_provenance.model_weight_hash)
        again = _ask_again(reasoner, stored, scene, told)
        recovered = Recovered(
            # 1. The graph, by its hash; 2. the weights, if the model at hand has them or they are kept.
            kg_version_hash=None if graph is None else _version_hash(graph, envelope),
            model_weight_hash=_weights_of(reasoner),
            # 3. The prompt; ZERO where the recorded rule is not in the slice any more, which no recorded hash is.
            prompt_hash=_prompt_hash(graph, scene),
            grammar_hash=None if scene is None else scene.request.grammar_hash,
            # 4. The model once more.
            response_text=again,
            within_tolerance=_is_tolerated(reasoner, stored, scene, again, told),
            # 5. The verifier, on what was recorded.
            verifier_result=None if scene is None else self._verified(stored, scene, told),
            # 6. The chain.
            entry_hash=digest_of(stored.row.text),
            next_previous_hash=None if stored.following is None else Digest(stored.following.previous_hash),
            is_last=stored.following is None,
        )
        replay = compare_replay(recorded, recovered)
        if scene is None:
            return replay
        replay = self._looked_back(_govern_again(replay, stored, scene, told), stored, scene)
        return self._attested(_compose_again(replay, stored, scene, told), stored)

    def _verified(self, stored: _Stored, scene: _Scene, told: dict[str, Any]) -> VerifierResult | None:
        if stored.envelope.verdict_path is not VerdictPath.FAST:
            return _verify_again(stored, scene, told)
        memory = self._remembered(stored.row.sequence_number)
        return None if memory is None else _fast_again(stored, scene, memory.stable.get(scene.docket.rule_id))

    def _looked_back(self, replay: Replay, stored: _Stored, scene: _Scene) -> Replay:
        """Windows are what the ledger's own earlier records come to, whatever a buffer was made to say."""
        if not scene.docket.plans:
            return replay
        number = self._judged_at(stored)
        memory = None if number is None else self._remembered(number)
        if memory is None:
            return _diverged(replay, "windows: the entries before it cannot be read")
        subject, now = stored.read.body.subject, buffer_record(scene.telemetry)
        dropped = memory.dropped.get(subject)
        earlier = memory.earlier(subject)
        for is_cautious in (False, True):  # entries from before a certain breach settled a doubt are as they were
            facts = facts_at(scene.docket.plans, now, earlier, dropped_until=dropped, is_cautious=is_cautious)
            if facts == scene.facts:
                return replay
        return _diverged(replay, "windows: the facts are not those of the records in the ledger")

    def _judged_at(self, stored: _Stored) -> int | None:
        """The entry at which windows were looked at: for what settles a held verdict, that of the held one."""
        number, held_hash = stored.row.sequence_number, stored.read.body.held_entry
        if held_hash is None:
            return number

        def look(unit: Unit) -> int | None:
            row = unit.verdicts.find(self._tenant_id, number)
            held = None if row is None else unit.ledger.find_entry(self._tenant_id, row.held_entry or 0)
            return held.sequence_number if held is not None and held.entry_hash == held_hash else None

        return self._tools.database.read(look)

    def _remembered(self, number: int) -> LedgerMemory | None:
        """What the entries before this one left to remember; each is read once, as long as replays go forward."""
        if self._memory.taken >= number:
            self._memory = LedgerMemory()
        first = self._memory.taken + 1

        def read(unit: Unit) -> None:
            for row in unit.ledger.entries(self._tenant_id, first=first, last=number - 1):
                self._memory.take(row)

        try:
            self._tools.database.read(read)
        except Error:
            self._memory = LedgerMemory()
            return None
        return self._memory

    def _attested(self, replay: Replay, stored: _Stored) -> Replay:
        """A verdict that stands by a person's word: the token must be about exactly what is served."""
        token = stored.envelope.human_attestation
        if token is None or not stored.read.body.ruling.is_honoured:
            return replay
        try:
            verify_attestation(token, stored.envelope, self._reviewer_key(token), at=token.attested_at)
        except Error as error:
            return _diverged(replay, f"attestation: {error.code}")
        return replay

    def _reviewer_key(self, token: HumanAttestation) -> bytes:
        """The node's review key of that time, or the key that the person had registered."""
        own = self._ring.find(token.key_id, token.attested_at, purpose=KeyPurpose.REVIEW)
        if own is not None:
            return own.raw_public_key or b""
        history = self._tools.database.read(
            lambda unit: unit.identity.principal_history(self._tenant_id, token.reviewer)
        )
        then = [person.public_key for person in history if person.recorded_at <= token.attested_at]
        return bytes.fromhex((then and then[-1]) or "")

    def _reasoner(self, weight_hash: Digest) -> LocalReasoner | None:
        """The model in use if it has these weights, else one of before whose weights are kept."""
        if self._weights == weight_hash:
            return self._tools.reasoner
        return None if self._tools.kept is None else self._tools.kept.find(weight_hash)


def _ask_again(
    reasoner: LocalReasoner | None, stored: _Stored, scene: _Scene | None, told: dict[str, Any]
) -> str | None:
    is_fast = stored.envelope.verdict_path is VerdictPath.FAST
    if scene is None or reasoner is None or "text" not in told or is_fast:
        return None
    try:
        return str(recorded_response(reasoner.complete(scene.request))["text"])
    except ModelError:
        return None


def _is_tolerated(
    reasoner: LocalReasoner | None, stored: _Stored, scene: _Scene | None, again: str | None, told: dict[str, Any]
) -> bool | None:
    """Asked only where the model wrote something else, which one that is not exact may (SKI 8.2)."""
    if reasoner is None or scene is None or stored.transcript is None or again is None or again == told.get("text"):
        return None
    return is_within_tolerance(reasoner, scene.request, stored.transcript)


def _weights_of(reasoner: LocalReasoner | None) -> Digest | None:
    try:
        return None if reasoner is None else reasoner.identify().model_weight_hash
    except ModelError:
        return None


def _version_hash(graph: ReadyGraph, envelope: Envelope) -> Digest:
    """The hash of the document's own content, computed again when it was opened."""
    is_unsigned = envelope.model_provenance.kg_version_hash == EMPTY_DIGEST
    is_same = graph.opened.content_hash == judged_content(envelope)
    return EMPTY_DIGEST if is_unsigned and is_same else graph.opened.content_hash


def _response(transcript: Transcript | None) -> dict[str, Any]:
    value = None if transcript is None else parse_json(transcript.response_canonical)
    return dict(value) if isinstance(value, dict) else {}


def _scene(stored: _Stored, graph: ReadyGraph) -> _Scene | None:
    """None where the record or the rule cannot be put together again."""
    body, entry = stored.read.body, stored.read.entry
    try:
        telemetry = parse_telemetry(body.telemetry)
        found = slice_graph(
            graph.index, telemetry.subject, as_of=telemetry.timestamp, jurisdiction=telemetry.jurisdiction
        )
        dockets = graph.dockets_of(found)
    except Error:
        return None
    docket = next((one for one in dockets if one.rule_id == entry.rule_id), None)
    if docket is None or telemetry.telemetry_hash != entry.telemetry_hash:
        return None
    facts = {fact.obligation_id: fact for fact in body.window_facts}
    provenance = stored.envelope.model_provenance
    asked = parse_json(stored.transcript.request_canonical) if stored.transcript is not None else None
    decoding = asked.get("decoding") if isinstance(asked, dict) else None
    limit = decoding.get("max_tokens") if isinstance(decoding, dict) else None
    request = build_request(docket, telemetry, facts, seed=provenance.decoder_seed)
    if isinstance(limit, int):
        request = build_request(docket, telemetry, facts, seed=provenance.decoder_seed, max_tokens=limit)
    return _Scene(telemetry=telemetry, docket=docket, facts=facts, request=request)


def _prompt_hash(graph: ReadyGraph | None, scene: _Scene | None) -> Digest | None:
    if graph is None:
        return None
    return ZERO_DIGEST if scene is None else scene.request.prompt_hash


def _answer(stored: _Stored, scene: _Scene, told: dict[str, Any]) -> tuple[ModelAnswer, str | None] | None:
    """What the model had answered, read again from the transcript; None where there is no transcript."""
    if "failure" in told:
        failed = interpret_failure("reply.unavailable", "")
        return failed.answer, str(told["failure"])
    if stored.transcript is None or "text" not in told:
        return None
    if told.get("characters") != len(told["text"]):
        # Longer than is kept: that it could not be read is all that is left of it.
        why = next((one for one in stored.envelope.verifier_result.divergences if one.startswith("reply.")), None)
        return (interpret_failure("reply.unparsed", "").answer, why) if why is not None else None
    reply = RawReply(
        text=str(told["text"]),
        backend_name=stored.transcript.backend_name,
        model_weight_hash=stored.envelope.model_provenance.model_weight_hash,
        started_at=stored.transcript.started_at,
        completed_at=stored.transcript.completed_at,
        is_complete=bool(told.get("is_complete")),
    )
    read = interpret_reply(reply, scene.docket)
    return read.answer, read.error


def _verify_again(stored: _Stored, scene: _Scene, told: dict[str, Any]) -> VerifierResult | None:
    said = _answer(stored, scene, told)
    if said is None:
        return None
    answer, error = said
    if answer.formalizable_assertions != stored.envelope.formalizable_assertions:
        return _NOBODY
    return verify(scene.docket, scene.telemetry, scene.facts, answer, error=error).result


def _fast_again(stored: _Stored, scene: _Scene, stability: Stability | None) -> VerifierResult:
    """The verifier alone once more, where the ledger's earlier verdicts were as stable as the entry says."""
    judgements = judge_all(scene.docket, scene.telemetry, scene.facts)
    claimed, recorded = _claimed(stored), stored.envelope
    pattern = pattern_of(scene.docket, judgements, recorded.model_provenance)
    is_stable = stability is not None and stability.pattern == pattern and 1 <= claimed <= stability.count
    if not is_stable or not may_skip_model(scene.docket, judgements, stability, stable=claimed):
        return _NOBODY
    again = _fast_answer(scene, judgements, claimed)
    is_same = again.answer.formalizable_assertions == recorded.formalizable_assertions
    return again.verification.result if is_same and judgements == stored.read.body.judgements else _NOBODY


def _fast_answer(scene: _Scene, judgements: tuple[Judgement, ...], count: int) -> FastAnswer:
    """What the fast path says where everything is as it was; how often that was, the entry claims."""
    stability = Stability(rule_id=scene.docket.rule_id, pattern=ZERO_DIGEST, count=count)
    return fast_answer(
        scene.docket, scene.telemetry, scene.facts, judgements, stability=stability, pattern=stability.pattern
    )


def _claimed(stored: _Stored) -> int:
    found = _COUNT.search(stored.envelope.reasoning)
    return 0 if found is None else int(found[1])


def _compose_again(replay: Replay, stored: _Stored, scene: _Scene, told: dict[str, Any]) -> Replay:
    """The envelope's own words and citations: those of the model's answer, and no others."""
    answer = _said(stored, scene, told)
    if answer is None:
        return replay
    envelope, body = stored.envelope, stored.read.body
    verification = Verification(result=envelope.verifier_result, judgements=body.judgements, expected=envelope.verdict)
    sealed = seal_envelope(
        scene.docket,
        answer,
        verification,
        body.ruling,
        provenance=envelope.model_provenance,
        transcript_ref=envelope.transcript_ref,
    )
    if (sealed.reasoning, sealed.kg_citations) == (envelope.reasoning, envelope.kg_citations):
        return replay
    return _diverged(replay, "envelope: its reasoning or its citations are not those of the answer")


def _said(stored: _Stored, scene: _Scene, told: dict[str, Any]) -> ModelAnswer | None:
    if stored.envelope.verdict_path is VerdictPath.FAST:
        judgements = judge_all(scene.docket, scene.telemetry, scene.facts)
        return _fast_answer(scene, judgements, _claimed(stored)).answer
    said = _answer(stored, scene, told)
    return None if said is None else said[0]


def _govern_again(replay: Replay, stored: _Stored, scene: _Scene, told: dict[str, Any]) -> Replay:
    """The governor follows from tier and verifier: a verdict that does not follow is a divergence of step 5."""
    envelope, body = stored.envelope, stored.read.body
    said = _answer(stored, scene, told)
    is_fast = envelope.verdict_path is VerdictPath.FAST
    if said is None and not is_fast:
        return replay
    if is_fast or said is None:
        judgements = judge_all(scene.docket, scene.telemetry, scene.facts)
        model_verdict = expected_verdict(judgements, is_mapped=scene.docket.is_mapped)
    else:
        model_verdict = said[0].verdict
    ruling = govern(model_verdict, envelope.verifier_result.status, scene.docket.tier)
    if stored.row.kind == EntryKind.VERDICT_FINAL:
        is_attested = envelope.human_attestation is not None
        ruling = settle_held(ruling, envelope.verifier_result.status, is_attested=is_attested)
    if ruling == body.ruling and stored.row.verdict == ruling.verdict:
        return replay
    return _diverged(replay, f"governor: expected {ruling.verdict}, got {body.ruling.verdict}")


def _diverged(replay: Replay, detail: str) -> Replay:
    wrong = StepFinding(step=ReplayStep.VERIFIER, result=StepResult.DIVERGED, detail=detail)
    steps = tuple(wrong if one.step is ReplayStep.VERIFIER else one for one in replay.steps)
    return replace(replay, result=ReplayResult.REPLAY_DIVERGENCE, steps=steps)


def _unreadable(number: int, detail: str) -> Replay:
    wrong = StepFinding(step=ReplayStep.CHAIN, result=StepResult.DIVERGED, detail=detail)
    return Replay(sequence_number=number, result=ReplayResult.REPLAY_DIVERGENCE, steps=(wrong,))


def _is_before_v3(row: StoredEntry) -> bool:
    """By the proven text: a column that says so would be an easy way round a replay."""
    if digest_of(row.text) != row.entry_hash:
        return False
    try:
        entry = parse_json(row.text, limits=CANONICAL_LIMITS)
    except Error:
        return False
    version = str(entry.get("schema_version")) if isinstance(entry, dict) else ""
    return version.startswith(("1.", "2."))
