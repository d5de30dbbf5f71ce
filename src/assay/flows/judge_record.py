"""One record and its rules (SKI 5.2, 5.3, 5.6): the model is asked and checked, or left out where it may be.

docket + record + window facts -> 3 the model's answer, or the fast path -> 4 the verifier's own judgement of it
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import to_builtins

from assay.flows.attest_sovereignty import get_reasoner
from assay.flows.errors import SubstitutedWeightsError
from assay.flows.graph_shelf import ReadyGraph
from assay.flows.tools import Tools
from assay.flows.verdict_entry import seal_model_transcript
from assay.identity.principal import Principal
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.transcript import Transcript
from assay.model.commit import commit
from assay.ports.model import ModelAddressError, ModelError, ModelReplyError, ModelWeightsError
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
)
from assay.verdicts.telemetry import Telemetry
from assay.verdicts.verify import Verification, judge_all, verify
from assay.verdicts.window import BufferedRecord, WindowFact, window_facts

__all__ = ["Case", "Judged", "Memory", "judge_record"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A record that is to be judged, and by what; `measured_in` is the entry that puts the weights on record.

    `subject` is the subject's id in the graph once the slice is found, until then what the record calls it.
    `is_displaced`: it declares a jurisdiction that the graph does not know.
    """

    principal: Principal
    telemetry: Telemetry
    subject: str
    graph: ReadyGraph
    identity: ReasonerIdentity
    weight_hash: Digest
    at: Instant
    measured_in: Digest | None = None
    is_displaced: bool = False

    @property
    def tenant_id(self) -> TenantId:
        return self.principal.tenant_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What earlier records of the subject left: windows look back at them, the fast path counts them."""

    earlier: tuple[BufferedRecord, ...] = ()
    dropped_until: Instant | None = None
    stable: Mapping[str, Stability]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One rule after step 4."""

    docket: Docket
    facts: Mapping[str, WindowFact]
    answer: ModelAnswer
    verification: Verification
    provenance: ModelProvenance
    transcript: Transcript
    path: VerdictPath | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """One rule before step 3: what a model would be asked about it."""

    docket: Docket
    facts: Mapping[str, WindowFact]
    request: ReasonRequest
    provenance: ModelProvenance


def judge_record(tools: Tools, case: Case, dockets: Sequence[Docket], memory: Memory) -> list[Judged]:
    """Every rule that applies, in their order; a model that can be asked several at once is, and says the same."""
    questions = [_question(tools, case, docket, memory) for docket in dockets]
    fast = [_judge_fast(tools, case, question, memory) for question in questions]
    asked = [question for question, judged in zip(questions, fast, strict=True) if judged is None]
    replies = iter(_ask(get_reasoner(tools), [question.request for question in asked]))
    return [
        judged or _judge_by_model(tools, case, question, next(replies))
        for question, judged in zip(questions, fast, strict=True)
    ]


def _question(tools: Tools, case: Case, docket: Docket, memory: Memory) -> _Question:
    facts = window_facts(docket.plans, case.telemetry, memory.earlier, dropped_until=memory.dropped_until)
    settings = tools.ski
    request = build_request(docket, case.telemetry, facts, seed=settings.decoder_seed, max_tokens=settings.max_tokens)
    provenance = provenance_of(
        request, model_weight_hash=case.weight_hash, kg_version_hash=case.graph.opened.kg_version_hash
    )
    return _Question(docket=docket, facts=facts, request=request, provenance=provenance)


def _judge_fast(tools: Tools, case: Case, question: _Question, memory: Memory) -> Judged | None:
    """SKI 5.6: low tier alone, after many equal evaluations; the request is still made, for its hashes."""
    docket, facts = question.docket, question.facts
    stability = memory.stable.get(docket.rule_id)
    if stability is None or stability.count < tools.ski.fast_path_n:
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


def _judge_by_model(tools: Tools, case: Case, question: _Question, told: RawReply | ModelError) -> Judged:
    if tools.ski.requires_receipt:
        _require_receipt(told)
    # 3. The model was asked once, bound to the grammar; what it says is read strictly or not at all.
    reply, read = _read(case, question.docket, told)
    # 4. Every obligation is judged again without the model, and what it said is compared.
    verification = verify(question.docket, case.telemetry, question.facts, read.answer, error=read.error)
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


def _require_receipt(told: RawReply | ModelError) -> None:
    """SKI 9.3: better no verdict than one that nobody can check; the record may be sent again."""
    if isinstance(told, ModelError):
        raise told
    if told.top_scores is None or told.token_ids is None:
        raise NoReceiptError(f"expected a receipt for every verdict, got none from the backend `{told.backend_name}`")


def _ask(reasoner: LocalReasoner, requests: Sequence[ReasonRequest]) -> list[RawReply | ModelError]:
    # One question is asked alone, which is the same: to look for the method costs more than it could spare.
    if len(requests) > 1 and isinstance(reasoner, BatchReasoner):
        return reasoner.complete_many(requests)
    return [_complete(reasoner, request) for request in requests]


def _complete(reasoner: LocalReasoner, request: ReasonRequest) -> RawReply | ModelError:
    try:
        return reasoner.complete(request)
    except ModelError as error:
        return error


def _read(case: Case, docket: Docket, told: RawReply | ModelError) -> tuple[RawReply | None, Interpretation]:
    if isinstance(told, ModelWeightsError | ModelAddressError):
        # Not a model that failed, but another one, or one elsewhere: there is no verdict at all.
        raise told
    if isinstance(told, ModelReplyError):
        return None, interpret_failure("reply.unparsed", f"{told.code}: {told}")
    if isinstance(told, ModelError):
        return None, interpret_failure("reply.unavailable", f"{told.code}: {told}")
    if told.model_weight_hash != case.weight_hash:
        raise SubstitutedWeightsError(
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
