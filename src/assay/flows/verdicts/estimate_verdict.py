"""How sure the judge was of a verdict: the recorded question, answered again by drawing, and clustered by verdict.

entry -> its transcript's question -> the same weights draw k replies at a temperature -> verdicts -> Estimate
The same seed draws the same replies on every machine. The recorded verdict stays what it is: nothing is judged again.
"""

from collections.abc import Iterator
from decimal import Decimal

from msgspec import Struct

from assay.claims.bundle import UncertaintyMethod
from assay.claims.errors import ClaimsError
from assay.claims.estimate.cluster import SampledAnswer
from assay.claims.estimate.disagree import TEMPERATURES, estimate_disagreement
from assay.claims.estimate.entropy import GATING_ANSWERS, estimate_entropy
from assay.claims.estimate.estimate import Estimate
from assay.flows.errors import NotFoundError
from assay.flows.tools import Tools
from assay.flows.verdicts.read_verdicts import show_verdict
from assay.flows.verdicts.receipts import export_receipt
from assay.flows.verdicts.verdict_entry import read_entry
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.ports.model import ModelReplyError, ModelWeightsError
from assay.ports.reasoner import Drawing, SamplingReasoner
from assay.verdicts.envelope import Verdict
from assay.verdicts.reason import ReasonRequest
from assay.verdicts.receipt import metadata_of, question_of
from assay.verdicts.reply import parse_reply

_ALL = tuple(Verdict)


class JudgeSampling(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How replies are drawn; reply n has the seed `seed + n`. Disagreement has three temperatures of its own."""

    method: UncertaintyMethod = UncertaintyMethod.SEMANTIC_ENTROPY
    answers: int = GATING_ANSWERS
    temperature: Decimal = Decimal(1)
    seed: int = 0


class DrawnVerdict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One reply; `logprob` is that of all its tokens, as they are without a temperature."""

    verdict: Verdict
    logprob: float
    drawing: Drawing


class EstimatedVerdict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`verdict` is the recorded one, after verifier and governor; `estimate` is about the model's own word alone."""

    sequence_number: int
    rule_id: str | None
    verdict: str | None
    model_weight_hash: Digest
    drawn: tuple[DrawnVerdict, ...]
    estimate: Estimate


class _SameVerdict:
    """Two replies mean the same where their verdict is the same, whatever they reason; names the model that drew."""

    is_symmetric = True

    def __init__(self, drawn_by: str) -> None:
        self.name = f"same verdict, drawn by {drawn_by}"

    def entails(self, question: str, premise: str, hypothesis: str) -> bool:  # noqa: ARG002  the question is one
        return premise == hypothesis


def weights_of_verdict(tools: Tools, tenant_id: TenantId, telemetry_id: str, rule_id: str | None = None) -> Digest:
    """The hash of the weights that judged, which have to draw the further answers."""
    receipt = export_receipt(tools, tenant_id, _entry_of(tools, tenant_id, telemetry_id, rule_id))
    return metadata_of(receipt.transcript)[0]


def estimate_verdict(
    tools: Tools,
    tenant_id: TenantId,
    telemetry_id: str,
    reasoner: SamplingReasoner,
    *,
    rule_id: str | None = None,
    sampling: JudgeSampling | None = None,
) -> EstimatedVerdict:
    """How uncertain a rule's verdict on a record is; refused where no model was asked, or where it is held.

    The reasoner must have the weights that were recorded: another model's doubt says nothing about this one's.
    """
    chosen = sampling or JudgeSampling()
    number = _entry_of(tools, tenant_id, telemetry_id, rule_id)
    receipt = export_receipt(tools, tenant_id, number)
    weights, _ = metadata_of(receipt.transcript)
    who = reasoner.identify()
    if who.model_weight_hash != weights:
        raise ModelWeightsError(f"expected the weights `{weights}` that judged, got `{who.model_weight_hash}`")
    drawn = tuple(_drawn(reasoner, question_of(receipt), chosen))
    entry = read_entry(receipt.entry.encode()).entry
    return EstimatedVerdict(
        sequence_number=number,
        rule_id=entry.rule_id,
        verdict=entry.verdict,
        model_weight_hash=weights,
        drawn=drawn,
        estimate=_estimate(drawn, chosen, _SameVerdict(f"{who.backend_name} {weights}")),
    )


def _entry_of(tools: Tools, tenant_id: TenantId, telemetry_id: str, rule_id: str | None) -> int:
    verdicts = show_verdict(tools, tenant_id, telemetry_id).verdicts
    wanted = [one for one in verdicts if rule_id is None or one.rule_id == rule_id]
    if len(wanted) != 1:
        rules = ", ".join(one.rule_id or "none" for one in verdicts)
        got = "no rule, where several did" if rule_id is None else f"`{rule_id[:80]}`"
        raise NotFoundError(f"expected one of the rules that judged the record ({rules}), got {got}")
    return wanted[0].sequence_number


def _drawn(reasoner: SamplingReasoner, request: ReasonRequest, sampling: JudgeSampling) -> Iterator[DrawnVerdict]:
    drawings = tuple(_drawings(sampling))
    for drawing, reply in zip(drawings, reasoner.sample(request, drawings), strict=True):
        answer = parse_reply(reply.text, _ALL).answer
        if answer is None:
            raise ModelReplyError("expected replies that the grammar allows, got another")
        yield DrawnVerdict(verdict=answer.verdict, logprob=round(sum(reply.logprobs or ()), 6), drawing=drawing)


def _drawings(sampling: JudgeSampling) -> Iterator[Drawing]:
    if sampling.method is UncertaintyMethod.SEMANTIC_ENTROPY:
        heats = [sampling.temperature] * sampling.answers
    elif sampling.method is UncertaintyMethod.MODEL_DISAGREEMENT:
        heats = [Decimal(str(heat)) for heat in TEMPERATURES]
    else:
        raise ClaimsError.sample(f"expected a method that draws answers, got `{sampling.method}`")
    return (Drawing(seed=sampling.seed + number, temperature=heat) for number, heat in enumerate(heats))


def _estimate(drawn: tuple[DrawnVerdict, ...], sampling: JudgeSampling, judge: _SameVerdict) -> Estimate:
    """The entropy by counts: a verdict has many reasonings, so the likelihood of a text is not that of its verdict."""
    if sampling.method is UncertaintyMethod.MODEL_DISAGREEMENT:
        return estimate_disagreement("", [one.verdict for one in drawn], judge)
    return estimate_entropy("", (SampledAnswer(text=one.verdict) for one in drawn), judge)
