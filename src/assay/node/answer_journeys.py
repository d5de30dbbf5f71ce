"""Answers: questions, rules, outcomes, and who answers."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from assay.claims.bundle import ClaimBundle
from assay.delivery.level import Level
from assay.delivery.query import QueryType
from assay.delivery.rule import RuleRef
from assay.flows.claims.export_claims import export_answer_claims
from assay.flows.delivery.answerers import Function, Replayer
from assay.flows.delivery.count_outcome import Reported
from assay.flows.delivery.deliver_answer import Delivered, deliver_answer
from assay.flows.delivery.grant_reporter import grant_reporter
from assay.flows.delivery.inspect_delivery import RuleLine, ShownRuleRecord, list_rules, show_rule
from assay.flows.delivery.prove_answer import prove_answer
from assay.flows.delivery.register_query import register_query
from assay.flows.delivery.register_rule import register_rule
from assay.flows.delivery.report_answer import report_answer
from assay.flows.delivery.resume_answer import resume_answer
from assay.flows.delivery.strands import StrandFunction
from assay.flows.delivery.tend_delivery import tend_delivery
from assay.flows.delivery.trace_answer import ShownTrace, trace_answer
from assay.identity.risk import RiskTier
from assay.kernel.bundle import Bundle
from assay.kernel.ids import parse_principal_id
from assay.kernel.json_text import JsonValue
from assay.node.ledger_journeys import LedgerJourneys

__all__ = ["AnswerJourneys"]


class AnswerJourneys(LedgerJourneys):
    """No answer without its gate decision, its level and the rules it rests on."""

    def answers(
        self, name: str, *, rules: Iterable[str] = (), replay: Replayer | None = None
    ) -> Callable[[Function], Function]:
        """A decorator: this function answers questions of that kind; before the first question is asked."""
        return self._open_table().answers(name, rules=rules, replay=replay)

    def strand(
        self,
        strand_type_id: str,
        *,
        name: str,
        how_to_check: str,
        absence_implication: str,
        contact: str,
        registered: bool = False,
    ) -> Callable[[StrandFunction], StrandFunction]:
        """A decorator: this function checks a further strand, named `x-…`; before the first question is asked.

        It answers with the evidence that it found, or with None. One that raises or is late is absent.
        """
        return self._open_strands().strand(
            strand_type_id,
            name=name,
            how_to_check=how_to_check,
            absence_implication=absence_implication,
            contact=contact,
            registered=registered,
        )

    def register_rule(
        self, rule_id: str, content: str, *, domains: Sequence[str], credential: str | None = None
    ) -> RuleRef:
        """Record a version of a rule, as an operator."""
        return register_rule(
            self._writing(), rule_id, content, domains=domains, credential=self._token(credential), at=self._now()
        )

    def register_query(
        self,
        slug: str,
        *,
        description: str,
        domain: str,
        answerer: str | None = None,
        expected_level: Level | str = Level.PARTIAL,
        rules: Iterable[str] = (),
        risk_tier: RiskTier | str = RiskTier.READ_ONLY,
        credential: str | None = None,
    ) -> QueryType:
        """Record a kind of question: who answers it, on which rules, and what acting on it amounts to."""
        return register_query(
            self._writing(),
            slug,
            description=description,
            domain=domain,
            expected_level=Level(expected_level),
            answerer=answerer or slug,
            rules=rules,
            risk_tier=RiskTier(risk_tier),
            credential=self._token(credential),
            at=self._now(),
        )

    def grant_reporter(self, principal_id: str, rules: Sequence[str], *, credential: str | None = None) -> None:
        """Let a principal report outcomes of these rules (`MAR-*` names many), as an operator."""
        grant_reporter(
            self._writing(),
            parse_principal_id(principal_id),
            rules,
            credential=self._token(credential),
            at=self._now(),
        )

    def ask(
        self,
        query_type: str,
        question: JsonValue = None,
        *,
        session_id: str | None = None,
        nonce: str | None = None,
        credential: str | None = None,
    ) -> Delivered:
        """Ask; the answer is gated, marked and on record before this returns, and withheld where it must be."""
        self._writing()
        return deliver_answer(
            self._answering(),
            query_type,
            {} if question is None else question,
            credential=self._token(credential),
            session_id=session_id,
            nonce=nonce,
            at=self._now(),
        )

    def resume_answer(self, answer_id: str, *, credential: str | None = None) -> Delivered:
        """An answer that the gates held back, with what people answered meanwhile."""
        self._writing()
        return resume_answer(self._answering(), answer_id, credential=self._token(credential), at=self._now())

    def outcome(
        self, signal: bytes | str | Mapping[str, Any], *, key: str | None = None, credential: str | None = None
    ) -> Reported:
        """Report what came of an answer to the rules that caused it; under the same `key` it counts once.

        `answer_id` and `outcome` are enough for an answer of this node; what is told besides must agree with it.
        """
        self._writing()
        tools, now = self._answering(), self._now()
        done = report_answer(tools, _content(signal), credential=self._token(credential), idempotency_key=key, at=now)
        tend_delivery(tools, self.tenant_id, at=now)
        return done

    def rules(self) -> tuple[RuleLine, ...]:
        """Every rule with its counters."""
        return list_rules(self.tools, self.tenant_id)

    def rule(self, rule_id: str) -> ShownRuleRecord:
        """One rule with its versions, who stands by them, and what came of it."""
        return show_rule(self.tools, self.tenant_id, rule_id)

    def trace(self, answer_id: str) -> ShownTrace:
        """What each stage about an answer read, routed and recorded."""
        return trace_answer(self.tools, self.tenant_id, answer_id)

    def prove_answer(self, answer_id: str) -> Bundle:
        """The file that proves an answer; with the answer itself, unless it was withheld."""
        return self._proved(lambda tools: prove_answer(tools, self.tenant_id, answer_id))

    def answer_claims(self, answer_id: str) -> ClaimBundle:
        """An answer as a bundle: the claims that its answerer made, else one INFERENCE."""
        return export_answer_claims(self.tools, self.tenant_id, answer_id, at=self._now())


def _content(signal: bytes | str | Mapping[str, Any]) -> bytes:
    if isinstance(signal, bytes):
        return signal
    return signal.encode() if isinstance(signal, str) else json.dumps(dict(signal)).encode()
