"""Steps 3 and 4 of a verdict (SKI 5.2, 5.3, 5.6): ask the model about each rule, and verify what it says.

docket + record + window facts -> question -> 3 the model's answer, or the fast path -> 4 the verifier's own judgement
Questions of several records may be put to the model together, before their turn; what is judged by is still in order.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec import to_builtins

from assay.flows.errors.verdicts import VerdictFlowError
from assay.flows.request_mark import RequestMark
from assay.flows.tools import Tools
from assay.flows.verdicts.shelves import ReadyGraph
from assay.flows.verdicts.sovereignty import get_reasoner
from assay.identity.caller import Caller
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.transcript import Transcript, draft_to_sign, seal_transcript
from assay.model.commit import commit
from assay.ports.model import (
    ModelAddressError,
    ModelError,
    ModelGrammarError,
    ModelReplyError,
    ModelWeightsError,
)
from assay.ports.reasoner import BatchReasoner, LocalReasoner, ReasonerIdentity
from assay.verdicts.docket import Docket
from assay.verdicts.envelope import ModelAnswer, ModelProvenance, VerdictPath
from assay.verdicts.errors import NoReceiptError
from assay.verdicts.fastpath import Stability, fast_answer, may_skip_model, pattern_of
from assay.verdicts.reason import (
    Interpretation,
    RawReply,
    ReasonRequest,
    build_request,
    interpret_failure,
    interpret_reply,
    provenance_of,
    template_of,
)
from assay.verdicts.record import recorded_request, recorded_response
from assay.verdicts.telemetry import Telemetry
from assay.verdicts.verify import Verification, judge_all, verify
from assay.verdicts.window import window_facts
from assay.verdicts.window_fact import BufferedRecord, WindowFact

Told = RawReply | ModelError
# A model has its time for each call, so that many questions must not wait for each other in one.
_ASKED_AT_ONCE = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A record to judge, its caller, and by what it is judged; `measured_in` is the entry that records the weights.

    `subject` is the subject's id in the graph; a record may name it otherwise.
    `is_displaced`: it declares a jurisdiction that the graph does not know.
    `mark` notes the idempotency key of its request.
    """

    caller: Caller
    telemetry: Telemetry
    subject: str
    graph: ReadyGraph
    identity: ReasonerIdentity
    weight_hash: Digest
    measured_in: Digest | None = None
    is_displaced: bool = False
    mark: RequestMark | None = None

    @property
    def tenant_id(self) -> TenantId:
        return self.caller.tenant_id

    @property
    def at(self) -> Instant:
        return self.caller.at


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What earlier records of the subject left: windows look back at them."""

    earlier: Sequence[BufferedRecord] = ()
    dropped_until: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One rule after step 4: the model's answer, and the verifier's own judgement of it."""

    docket: Docket
    facts: Mapping[str, WindowFact]
    answer: ModelAnswer
    verification: Verification
    provenance: ModelProvenance
    transcript: Transcript
    path: VerdictPath | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One rule before step 3: what a model would be asked about it."""

    docket: Docket
    facts: Mapping[str, WindowFact]
    request: ReasonRequest
    provenance: ModelProvenance


def build_questions(tools: Tools, case: Case, dockets: Sequence[Docket], memory: Memory) -> list[Question]:
    """One for each rule that applies, in their order."""
    return [_question(tools, case, docket, memory) for docket in dockets]


def ask_ahead(
    tools: Tools, records: Sequence[Sequence[Question]], stable: Mapping[str, Stability]
) -> list[list[Told | None]]:
    """What a model says that can be asked several at once, and says the same; None where it was not asked yet.

    Rules that may do without it are left out: whether they do is found when it is their turn.
    """
    told: list[list[Told | None]] = [[None] * len(one) for one in records]
    chosen = [
        (row, place, question.request)
        for row, one in zip(told, records, strict=True)
        for place, question in enumerate(one)
        if not _has_been_stable(tools, question, stable)
    ]
    reasoner = get_reasoner(tools)
    # One question is asked in its turn, which is the same: to look for the method costs more than it could spare.
    if len(chosen) > 1 and isinstance(reasoner, BatchReasoner):
        replies = _ask_in_parts(reasoner, [request for _, _, request in chosen])
        for (row, place, _), reply in zip(chosen, replies, strict=True):
            row[place] = reply
    return told


def _ask_in_parts(reasoner: BatchReasoner, requests: Sequence[ReasonRequest]) -> Iterator[Told]:
    for start in range(0, len(requests), _ASKED_AT_ONCE):
        yield from reasoner.complete_many(requests[start : start + _ASKED_AT_ONCE])


def _has_been_stable(tools: Tools, question: Question, stable: Mapping[str, Stability]) -> bool:
    """Whether the rule was judged alike often enough for the fast path (SKI 5.6)."""
    known = stable.get(question.docket.rule_id)
    return known is not None and known.count >= tools.ski.fast_path_n


def reason_and_verify(
    tools: Tools,
    case: Case,
    questions: Sequence[Question],
    told: Sequence[Told | None],
    stable: Mapping[str, Stability],
) -> list[Judged]:
    """Every rule in its order: by what the model said, by what it says when asked now, or without it."""
    return [_judge(tools, case, *pair, stable) for pair in zip(questions, told, strict=True)]


def _judge(tools: Tools, case: Case, question: Question, told: Told | None, stable: Mapping[str, Stability]) -> Judged:
    judged = _judge_fast(tools, case, question, stable)
    if judged is not None:
        return judged
    if told is None:
        told = _complete(get_reasoner(tools), question.request)
    return _judge_by_model(tools, case, question, told)


def _question(tools: Tools, case: Case, docket: Docket, memory: Memory) -> Question:
    facts = window_facts(docket.plans, case.telemetry, memory.earlier, dropped_until=memory.dropped_until)
    settings = tools.ski
    request = build_request(
        docket,
        case.telemetry,
        facts,
        seed=settings.decoder_seed,
        max_tokens=settings.max_tokens,
        template_id=template_of(case.identity.backend_name),
    )
    provenance = provenance_of(
        request, model_weight_hash=case.weight_hash, kg_version_hash=case.graph.opened.kg_version_hash
    )
    return Question(docket=docket, facts=facts, request=request, provenance=provenance)


def _judge_fast(tools: Tools, case: Case, question: Question, stable: Mapping[str, Stability]) -> Judged | None:
    """SKI 5.6: low tier alone, after many equal evaluations; the request is still made, for its hashes."""
    docket, facts = question.docket, question.facts
    stability = stable.get(docket.rule_id)
    if stability is None or not _has_been_stable(tools, question, stable):
        return None
    judgements = judge_all(docket, case.telemetry, facts)
    if not may_skip_model(docket, judgements, stability, stable=tools.ski.fast_path_n):
        return None
    pattern = pattern_of(docket, judgements, question.provenance)
    if pattern != stability.pattern:
        # Another graph, other weights, another prompt, or findings that the model never agreed to: it is asked.
        return None
    fast = fast_answer(docket, case.telemetry, facts, judgements, stability=stability, pattern=pattern)
    told = "fast path: no model was asked"
    return Judged(
        docket=docket,
        facts=facts,
        answer=fast.answer,
        verification=fast.verification,
        provenance=question.provenance,
        transcript=_transcript(tools, case, question.request, None, failure=told, backend_name="none"),
        path=VerdictPath.FAST,
    )


def _judge_by_model(tools: Tools, case: Case, question: Question, told: Told) -> Judged:
    if tools.ski.requires_receipt:
        _require_receipt(told)
    # 3. The model was asked once, bound to the grammar; what it says is read strictly or not at all.
    reply, read = _read(case, question.docket, told)
    # 4. Every obligation is judged again without the model, and what it said is compared.
    verification = verify(
        question.docket, case.telemetry, question.facts, read.answer, error=read.error, notice=read.notice
    )
    return Judged(
        docket=question.docket,
        facts=question.facts,
        answer=read.answer,
        verification=verification,
        provenance=question.provenance,
        transcript=_transcript(
            tools, case, question.request, reply, failure=read.error, backend_name=case.identity.backend_name
        ),
        path=None,
    )


def _require_receipt(told: Told) -> None:
    """SKI 9.3: better no verdict than one that nobody can check; the record may be sent again."""
    if isinstance(told, ModelError):
        raise told
    if told.top_scores is None or told.token_ids is None:
        raise NoReceiptError(f"expected a receipt for every verdict, got none from the backend `{told.backend_name}`")


def _complete(reasoner: LocalReasoner, request: ReasonRequest) -> Told:
    try:
        return reasoner.complete(request)
    except ModelError as error:
        return error


def _read(case: Case, docket: Docket, told: Told) -> tuple[RawReply | None, Interpretation]:
    if isinstance(told, ModelWeightsError | ModelAddressError | ModelGrammarError):
        # Not a model that failed, but another one, one elsewhere, or one that is not bound: there is no verdict at all.
        raise told
    if isinstance(told, ModelReplyError):
        return None, interpret_failure("reply.unparsed", f"{told.code}: {told}")
    if isinstance(told, ModelError):
        return None, interpret_failure("reply.unavailable", f"{told.code}: {told}")
    if told.model_weight_hash != case.weight_hash:
        raise VerdictFlowError.sovereignty_weights(
            f"expected an answer by the weights `{case.weight_hash}`, got one by `{told.model_weight_hash}`"
        )
    return told, interpret_reply(told, docket)


def _transcript(
    tools: Tools,
    case: Case,
    request: ReasonRequest,
    reply: RawReply | None,
    *,
    failure: str | None,
    backend_name: str,
) -> Transcript:
    now = tools.clock.now()
    times = (now, now) if reply is None else (reply.started_at, reply.completed_at)
    metadata = {
        "engine_version": case.identity.engine_version,
        "is_exact": case.identity.is_exact,
        "model_weight_hash": case.weight_hash,
        # With the id of the record, no two transcripts of a tenant are the same.
        "telemetry_id": case.telemetry.telemetry_id,
        **_receipt(case, reply),
    }
    return seal_model_transcript(
        tools, request, reply, backend_name=backend_name, metadata=metadata, failure=failure, times=times
    )


def _receipt(case: Case, reply: RawReply | None) -> dict[str, object]:
    """The commitments of SKI 7.5, under the transcript's signature; a backend without scores offers none."""
    if reply is None or reply.token_ids is None or reply.top_scores is None:
        return {}
    return {"receipt": to_builtins(commit(reply.token_ids, reply.top_scores, tolerance=case.identity.score_tolerance))}


def seal_model_transcript(
    tools: Tools,
    request: ReasonRequest,
    reply: RawReply | None,
    *,
    backend_name: str,
    metadata: Mapping[str, object],
    failure: str | None,
    times: tuple[Instant, Instant],
) -> Transcript:
    """What was asked and what came back, or why nothing did, signed by the node (SKI 7.4)."""
    answered = {"failure": failure} if reply is None else recorded_response(reply)
    draft, message = draft_to_sign(
        recorded_request(request),
        answered,
        signing_key_id=tools.transcript_signer.key_id,
        backend_name=backend_name,
        backend_metadata=metadata,
        started_at=times[0],
        completed_at=max(times),
    )
    return seal_transcript(draft, tools.transcript_signer.sign(message))
