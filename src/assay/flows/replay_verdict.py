"""Replay verdicts from the ledger (SKI 8): the six steps, from what is stored and a model of the same weights.

entry -> 1 graph, 2 weights, 3 prompt, 4 transcript, 5 verifier and governor, 6 chain -> what matches, and what does not
What cannot be had again was not checked, and is never reported as clean.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from assay.flows.check_entry import verify_stored_entry
from assay.flows.errors import NotFoundError
from assay.flows.graph_shelf import ReadyGraph
from assay.flows.judged_graph import JudgedGraphs, judged_content
from assay.flows.own_keys import own_key_ring
from assay.flows.read_verdict import ReadEntry, read_entry
from assay.flows.tools import Tools
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
from assay.verdicts.fastpath import state_assertions
from assay.verdicts.govern import govern, settle_held, verify_attestation
from assay.verdicts.reason import RawReply, ReasonRequest, build_request, interpret_failure, interpret_reply
from assay.verdicts.record import recorded_response
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
from assay.verdicts.verify import judge_all, verify
from assay.verdicts.window import WindowFact

__all__ = ["VERDICT_KINDS", "replay_record", "replay_verdict", "replay_verdicts"]

_KINDS = (EntryKind.VERDICT, EntryKind.VERDICT_HELD, EntryKind.VERDICT_FINAL, EntryKind.VERDICT_V2)
VERDICT_KINDS = frozenset(kind.value for kind in _KINDS)
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
        raise NotFoundError(f"tenant `{tenant_id}` has no verdict on `{ascii(telemetry_id)[1:81]}`")
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
        recovered = Recovered(
            # 1. The graph, by its hash; 2. the weights, if the model at hand has them or they are kept.
            kg_version_hash=None if graph is None else _version_hash(graph, envelope),
            model_weight_hash=_weights_of(reasoner),
            # 3. The prompt; ZERO where the recorded rule is not in the slice any more, which no recorded hash is.
            prompt_hash=_prompt_hash(graph, scene),
            grammar_hash=None if scene is None else scene.request.grammar_hash,
            # 4. The model once more.
            response_text=_ask_again(reasoner, stored, scene, told),
            # 5. The verifier, on what was recorded.
            verifier_result=None if scene is None else _verify_again(stored, scene, told),
            # 6. The chain.
            entry_hash=digest_of(stored.row.text),
            next_previous_hash=None if stored.following is None else Digest(stored.following.previous_hash),
            is_last=stored.following is None,
        )
        replay = compare_replay(recorded, recovered)
        if scene is None:
            return replay
        return self._attested(_govern_again(replay, stored, scene, told), stored)

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
        person = self._tools.database.read(lambda unit: unit.identity.find_principal(self._tenant_id, token.reviewer))
        return bytes.fromhex((person and person.public_key) or "")

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
    if stored.envelope.verdict_path is VerdictPath.FAST:
        return _fast_again(stored, scene)
    said = _answer(stored, scene, told)
    if said is None:
        return None
    answer, error = said
    if answer.formalizable_assertions != stored.envelope.formalizable_assertions:
        return _NOBODY
    return verify(scene.docket, scene.telemetry, scene.facts, answer, error=error).result


def _fast_again(stored: _Stored, scene: _Scene) -> VerifierResult:
    """The verifier's own assertions must come out again; what was stable before them is not on the entry."""
    judgements = judge_all(scene.docket, scene.telemetry, scene.facts)
    assertions = state_assertions(scene.docket, scene.telemetry, scene.facts, judgements)
    recorded = stored.envelope
    is_same = assertions == recorded.formalizable_assertions and tuple(judgements) == stored.read.body.judgements
    return recorded.verifier_result if is_same else _NOBODY


def _govern_again(replay: Replay, stored: _Stored, scene: _Scene, told: dict[str, Any]) -> Replay:
    """The governor follows from tier and verifier: a verdict that does not follow is a divergence of step 5."""
    envelope, body = stored.envelope, stored.read.body
    said = _answer(stored, scene, told)
    is_fast = envelope.verdict_path is VerdictPath.FAST
    if said is None and not is_fast:
        return replay
    model_verdict = envelope.verdict if is_fast or said is None else said[0].verdict
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
