"""Answerers: functions that a program registers, the node's own over its stores, and peers that are asked.

table = Answerers()

@table.answers("vessel.ukc-status", rules=["MAR-YK-007"])
def under_keel(question: Question) -> Reply | JSON: ...

The table is frozen when the node starts. `rule`, `verdict`, `truth` and `map` answer with what is on record. A peer's
answer is a component of ours (PRAMANA 13.1, 13.3): its level is checked and never inherited, and what no key of the
agreement signed, for this question, nonce and output, is PRAMANA-0 here.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.delivery.annotate import question_digest
from assay.delivery.answerer import Answerer, Question, Reply
from assay.delivery.consume import Asking, ProducerState, read_state
from assay.delivery.errors import DeliveryError, InvalidQuestionError, InvalidRuleVersionError
from assay.delivery.federate import Agreement, accept_foreign
from assay.delivery.query import QueryRegistry
from assay.delivery.rule import RuleId, parse_rule_id
from assay.delivery.twowrong import Step, StepKind, StepVerdict
from assay.flows.claims.output_claims import claims_of_state, claims_of_verdicts, plain_claims
from assay.flows.delivery.check_delivery import annotation_of, members_of, rules_of
from assay.flows.delivery.project_rules import graph_rule_id
from assay.flows.errors import NotFoundError
from assay.flows.errors.delivery import AnswererError
from assay.flows.tools import Tools
from assay.flows.truth.states import map_truth, show_truth
from assay.flows.verdicts.read_verdicts import Decided, show_verdict
from assay.kernel.conformance import Fetched
from assay.kernel.errors import JsonError
from assay.kernel.ids import TenantId
from assay.kernel.json_text import BODY_DEPTH, JsonValue, Limits, parse_json
from assay.ports.delivery_store import RecordedRule
from assay.ports.ids import Entropy
from assay.ports.service_client import ServiceClient
from assay.verdicts.docket import UNRULED
from assay.verdicts.envelope import Envelope, VerifierStatus

Function = Callable[[Question], Any]
Replayer = Callable[[Question, tuple[str, ...]], JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionAnswerer:
    """A function as an answerer; what is no `Reply` is the output, and rests on the rules it was registered with."""

    function: Function
    rules: tuple[RuleId, ...] = ()
    replayer: Replayer | None = None

    def answer(self, question: Question) -> Reply:
        said = self.function(question)
        if not isinstance(said, Reply):
            return Reply(output=said, rules=self.rules)
        return said if said.rules else replace(said, rules=self.rules)

    def replay(self, question: Question, repaired: tuple[str, ...]) -> JsonValue:
        if self.replayer is None:
            raise AnswererError("this answerer cannot answer again with steps repaired")
        return self.replayer(question, repaired)


class Answerers:
    """The table while it is being filled; a name is taken once."""

    def __init__(self) -> None:
        self._table: dict[str, Answerer] = {}

    def answers(
        self, name: str, *, rules: Iterable[str] = (), replay: Replayer | None = None
    ) -> Callable[[Function], Function]:
        """A decorator; `name` is what a query type calls its `answerer`, or the slug itself."""
        named = tuple(parse_rule_id(one) for one in rules)

        def register(function: Function) -> Function:
            self.add(name, FunctionAnswerer(function=function, rules=named, replayer=replay))
            return function

        return register

    def add(self, name: str, answerer: Answerer) -> None:
        if name in self._table:
            raise AnswererError(f"expected one answerer called `{name}`, got a second")
        self._table[name] = answerer

    def freeze(self) -> Mapping[str, Answerer]:
        return MappingProxyType(dict(self._table))


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


def answered_here(tools: Tools, tenant_id: TenantId, queries: QueryRegistry) -> QueryRegistry:
    """The kinds of question for which a tenant has an answerer: nobody is promised an answer that nobody gives."""
    known = {*BUILT_IN, *tools.delivery.answerers_of(tenant_id)}
    return QueryRegistry(types={slug: one for slug, one in queries.types.items() if one.answerer in known})


Connect = Callable[[], AbstractContextManager[ServiceClient]]
_PREFIX = "/api/v2/pramana"
_GOOD = range(200, 300)
_REFUSED = (400, 422)
_NONCE_BYTES = 16


class ProxyAnswerer:
    """Implements `delivery.answerer.Answerer` by asking a peer under the same kind of question.

    `agreement` is looked up, and a connection opened, for each question. The rules of the reply are ours: those that
    theirs translate to; where none does, those that our own query type declares.
    """

    def __init__(
        self,
        connect: Connect,
        url: str,
        agreement: Callable[[], Agreement],
        *,
        entropy: Entropy,
        token: str | None = None,
    ) -> None:
        self._connect = connect
        self._root = url.rstrip("/") + _PREFIX
        self._agreement = agreement
        self._entropy = entropy
        self._headers = {} if token is None else {"x-api-key": token}

    def answer(self, question: Question) -> Reply:
        agreement, nonce = self._agreement(), self._entropy.token(_NONCE_BYTES).hex()
        with self._connect() as client:
            answer, state = self._ask(client, question, nonce), self._state(client)
        output = members_of(answer).get("output")
        asked = Asking(question_hash=question_digest(question.question), query_type=question.query_type, nonce=nonce)
        _, component = accept_foreign(annotation_of(answer), output, state, agreement, asked=asked)
        route = Step(kind=StepKind.ROUTE, ref=f"peer:{agreement.peer}")
        return Reply(
            output=output,
            rules=_translated(rules_of(answer), agreement),
            steps=(route,),
            components=(component,),
        )

    def replay(self, question: Question, repaired: tuple[str, ...]) -> JsonValue:  # noqa: ARG002  as the port has it
        raise AnswererError("another organisation's answer cannot be given again with steps repaired")

    def _ask(self, client: ServiceClient, question: Question, nonce: str) -> Fetched:
        wish: dict[str, Any] = {"query_type": question.query_type, "question": question.question, "nonce": nonce}
        headers = {**self._headers, "content-type": "application/json"}
        answer = client.request("POST", f"{self._root}/query", content=msgspec.json.encode(wish), headers=headers)
        if answer is not None and answer.status in _REFUSED:
            raise InvalidQuestionError(f"the peer `{self._agreement().peer}` refuses the question: {answer.status}")
        if answer is None or answer.status not in _GOOD:
            raise AnswererError(f"the peer gave no answer: {'silence' if answer is None else answer.status}")
        _require_output(answer)
        return answer

    def _state(self, client: ServiceClient) -> ProducerState | None:
        """None where it cannot be read; then what they claim is worth nothing (PRAMANA 14.1)."""
        found = client.request("GET", f"{self._root}/state")
        if found is None or found.status not in _GOOD:
            return None
        try:
            return read_state(found.content)
        except DeliveryError:
            return None


def _require_output(answer: Fetched) -> None:
    """Raise unless it is an answer: what cannot be read is a failure of the peer, and no output `null`."""
    try:
        members = parse_json(answer.content, limits=Limits(max_depth=BODY_DEPTH))
    except JsonError as error:
        raise AnswererError(f"the peer's answer cannot be read: {error}"[:300]) from error
    if not isinstance(members, dict) or "output" not in members:
        raise AnswererError("the peer's answer cannot be read: expected an object with the member `output`")
    if members["output"] is None and annotation_of(answer).get("withheld", members.get("withheld")) is not True:
        raise AnswererError("the peer gave no answer: expected an output, or `withheld`, got null")


def _translated(theirs: list[str], agreement: Agreement) -> tuple[RuleId, ...]:
    known = dict(agreement.rules)
    found = [known.get(RuleId(one)) for one in theirs]
    return tuple(dict.fromkeys(one for one in found if one is not None))
