"""One rule and one record (SKI 5.2, 5.3, 5.6): the model is asked and checked, or left out where it may be.

docket + record + window facts -> 3 the model's answer, or the fast path -> 4 the verifier's own judgement of it
"""

from collections.abc import Mapping
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
from assay.ports.reasoner import ReasonerIdentity
from assay.verdicts.docket import Docket
from assay.verdicts.envelope import ModelAnswer, ModelProvenance, VerdictPath
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
    """A record that is to be judged, and by what; `measured_in` is the entry that puts the weights on record."""

    principal: Principal
    telemetry: Telemetry
    graph: ReadyGraph
    identity: ReasonerIdentity
    weight_hash: Digest
    at: Instant
    measured_in: Digest | None = None

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


def judge_record(tools: Tools, case: Case, docket: Docket, memory: Memory) -> Judged:
    facts = window_facts(docket.plans, case.telemetry, memory.earlier, dropped_until=memory.dropped_until)
    settings = tools.ski
    request = build_request(docket, case.telemetry, facts, seed=settings.decoder_seed, max_tokens=settings.max_tokens)
    provenance = provenance_of(
        request, model_weight_hash=case.weight_hash, kg_version_hash=case.graph.opened.kg_version_hash
    )
    fast = _judge_fast(tools, case, docket, memory, facts, request, provenance)
    return fast or _judge_by_model(tools, case, docket, facts, request, provenance)


def _judge_fast(
    tools: Tools,
    case: Case,
    docket: Docket,
    memory: Memory,
    facts: Mapping[str, WindowFact],
    request: ReasonRequest,
    provenance: ModelProvenance,
) -> Judged | None:
    """SKI 5.6: low tier alone, after many equal evaluations; the request is still made, for its hashes."""
    stability = memory.stable.get(docket.rule_id)
    if stability is None or stability.count < tools.ski.fast_path_n:
        return None
    judgements = judge_all(docket, case.telemetry, facts)
    if not may_skip_model(docket, judgements, stability, stable=tools.ski.fast_path_n):
        return None
    pattern = pattern_of(docket, judgements, provenance)
    fast = fast_answer(docket, case.telemetry, facts, judgements, stability=stability, pattern=pattern)
    transcript = _transcript(tools, case, request, None, failure="fast path: no model was asked", backend_name="none")
    return Judged(
        docket=docket,
        facts=facts,
        answer=fast.answer,
        verification=fast.verification,
        provenance=provenance,
        transcript=transcript,
        path=VerdictPath.FAST,
    )


def _judge_by_model(
    tools: Tools,
    case: Case,
    docket: Docket,
    facts: Mapping[str, WindowFact],
    request: ReasonRequest,
    provenance: ModelProvenance,
) -> Judged:
    # 3. The model is asked once, bound to the grammar; what it says is read strictly or not at all.
    reply, read = _ask(tools, case, request, docket)
    # 4. Every obligation is judged again without the model, and what it said is compared.
    verification = verify(docket, case.telemetry, facts, read.answer, error=read.error)
    return Judged(
        docket=docket,
        facts=facts,
        answer=read.answer,
        verification=verification,
        provenance=provenance,
        transcript=_transcript(
            tools, case, request, reply, failure=read.error, backend_name=case.identity.backend_name
        ),
        path=None,
    )


def _ask(tools: Tools, case: Case, request: ReasonRequest, docket: Docket) -> tuple[RawReply | None, Interpretation]:
    try:
        reply = get_reasoner(tools).complete(request)
    except (ModelWeightsError, ModelAddressError):
        # Not a model that failed, but another one, or one elsewhere: there is no verdict at all.
        raise
    except ModelReplyError as error:
        return None, interpret_failure("reply.unparsed", f"{error.code}: {error}")
    except ModelError as error:
        return None, interpret_failure("reply.unavailable", f"{error.code}: {error}")
    if reply.model_weight_hash != case.weight_hash:
        raise SubstitutedWeightsError(
            f"expected an answer by the weights `{case.weight_hash}`, got one by `{reply.model_weight_hash}`"
        )
    return reply, interpret_reply(reply, docket)


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
