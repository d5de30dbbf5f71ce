"""Answerers that come with the node: rules, verdicts, truth and its map, read from their stores and never written.

query type with answerer `rule` | `verdict` | `truth` | `map` -> what is on record, and the rules it rests on
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct

from assay.delivery.answerer import Answerer, Question, Reply
from assay.delivery.errors import InvalidQuestionError, InvalidRuleVersionError
from assay.delivery.query import QueryRegistry
from assay.delivery.rule import RuleId, parse_rule_id
from assay.delivery.twowrong import Step, StepKind, StepVerdict
from assay.flows.claims.output_claims import claims_of_state, claims_of_verdicts, plain_claims
from assay.flows.delivery.project_rules import graph_rule_id
from assay.flows.errors import NotFoundError
from assay.flows.errors.delivery import AnswererError
from assay.flows.tools import Tools
from assay.flows.truth.map_truth import map_truth
from assay.flows.truth.show_truth import show_truth
from assay.flows.verdicts.read_verdicts import Decided, show_verdict
from assay.kernel.ids import TenantId
from assay.kernel.json_text import JsonValue
from assay.ports.delivery_store import RecordedRule
from assay.verdicts.docket import UNRULED
from assay.verdicts.envelope import Envelope, VerifierStatus

_BY_STATUS = {
    VerifierStatus.AGREED: StepVerdict.CORRECT,
    VerifierStatus.LLM_CONTRADICTION: StepVerdict.WRONG,
    VerifierStatus.NEURO_SYMBOLIC_DIVERGENCE: StepVerdict.WRONG,
}
_encoder = msgspec.json.Encoder(decimal_format="number")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """What is on record cannot be answered otherwise: there is nothing to repair and replay."""

    tools: Tools
    tenant_id: TenantId
    look: Callable[[Tools, TenantId, Question], Reply]

    def answer(self, question: Question) -> Reply:
        return self.look(self.tools, self.tenant_id, question)

    def replay(self, question: Question, repaired: tuple[str, ...]) -> JsonValue:
        raise AnswererError(f"`{question.query_type}` tells what is on record; {len(repaired)} repairs change nothing")


class _RuleQuestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rule_id: str


class _VerdictQuestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    telemetry_id: str


class _MapQuestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    claim_type: str


class _TruthQuestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    truthkey: str


def built_in_answerer(tools: Tools, tenant_id: TenantId, name: str) -> Answerer | None:
    look = _LOOKS.get(name)
    return None if look is None else _Source(tools=tools, tenant_id=tenant_id, look=look)


def _rule(tools: Tools, tenant_id: TenantId, question: Question) -> Reply:
    """The text of the rule in force, word for word."""
    rule_id = _rule_id(_asked(question, _RuleQuestion).rule_id)
    latest = _latest(tools, tenant_id, rule_id)
    output = {"rule_id": rule_id, "version": latest.version, "content": latest.content}
    return Reply(output=output, rules=(rule_id,))


def _verdict(tools: Tools, tenant_id: TenantId, question: Question) -> Reply:
    """The recorded verdicts of one telemetry record; each assertion of the verifier is a step."""
    decided = show_verdict(tools, tenant_id, _asked(question, _VerdictQuestion).telemetry_id)
    # Where no rule speaks about a record there is none to name: its query type may declare one.
    rules = tuple(dict.fromkeys(graph_rule_id(one.rule_id) for one in decided.verdicts if one.rule_id != UNRULED))
    claims = plain_claims(claims_of_verdicts(decided))
    return Reply(output=_plain(decided), rules=rules, steps=_assertions(decided), claims=claims)


def _assertions(decided: Decided) -> tuple[Step, ...]:
    """Where the verifier contradicts the model, the model's assertion is wrong on evidence other than any outcome."""
    return tuple(_assertion(one.sequence_number, one.envelope) for one in decided.verdicts if one.envelope is not None)


def _assertion(entry: int, envelope: Envelope) -> Step:
    ref, found = f"verdict {entry}", envelope.verifier_result
    verdict = _BY_STATUS.get(found.status, StepVerdict.UNKNOWN)
    if verdict is StepVerdict.UNKNOWN:
        return Step(kind=StepKind.ASSERTION, ref=ref)
    told = f"symbolic verifier: {found.status}, {len(found.divergences)} divergences"
    return Step(kind=StepKind.ASSERTION, ref=ref, verdict=verdict, evidence=told)


def _truth(tools: Tools, tenant_id: TenantId, question: Question) -> Reply:
    """The latest signed state of a key, with what age has left of it; it rests on its contract."""
    key = _asked(question, _TruthQuestion).truthkey
    shown = show_truth(tools, tenant_id, key, at=question.asked_at)
    claims = plain_claims(claims_of_state(shown))
    return Reply(output=_plain(shown), rules=(parse_rule_id(shown.state.claim_type),), claims=claims)


def _map(tools: Tools, tenant_id: TenantId, question: Question) -> Reply:
    """Every key of one claim type in its latest state, as GeoJSON; it rests on the contract of that type."""
    claim_type = _rule_id(_asked(question, _MapQuestion).claim_type)
    _latest(tools, tenant_id, claim_type)
    return Reply(output=map_truth(tools, tenant_id, at=question.asked_at, claim_type=claim_type), rules=(claim_type,))


def _rule_id(text: str) -> RuleId:
    try:
        return parse_rule_id(text)
    except InvalidRuleVersionError as error:
        raise InvalidQuestionError(str(error)) from error


def _latest(tools: Tools, tenant_id: TenantId, rule_id: RuleId) -> RecordedRule:
    versions = tools.database.read(lambda unit: unit.delivery.rule_versions(tenant_id, rule_id))
    if not versions:
        raise NotFoundError(f"the rule registry has no `{rule_id}`")
    return versions[-1]


def _asked(question: Question, kind: type[Any]) -> Any:  # noqa: ANN401 - the kind that was asked for
    try:
        return msgspec.convert(question.question, kind)
    except msgspec.ValidationError as error:
        raise InvalidQuestionError(f"expected a question about a {kind.__struct_fields__[0]}: {error}") from error


def _plain(record: Struct) -> JsonValue:
    value: JsonValue = msgspec.json.decode(_encoder.encode(record))
    return value


_LOOKS: MappingProxyType[str, Callable[[Tools, TenantId, Question], Reply]] = MappingProxyType(
    {"map": _map, "rule": _rule, "truth": _truth, "verdict": _verdict}
)
BUILT_IN = tuple(_LOOKS)


def answered_here(tools: Tools, queries: QueryRegistry) -> QueryRegistry:
    """The kinds of question for which this node has an answerer: nobody is promised an answer that nobody gives."""
    known = {*BUILT_IN, *tools.delivery.answerers}
    return QueryRegistry(types={slug: one for slug, one in queries.types.items() if one.answerer in known})
