"""Another organisation's answer inside one of ours (PRAMANA 13.1, 13.3): its level is looked at, and nothing inherited.

question -> their STATE and their answer -> accept_foreign -> our reply with their answer as a component
What no key of the agreement signed, for this asking and this output, is PRAMANA-0 here, and the answer says so: each
asking has a nonce of its own, so that nobody on the way can give an earlier answer again.
The node that delivers checks its own strands at its own boundary; the component can only lower what they give.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from assay.delivery.annotate import question_digest
from assay.delivery.answerer import Question, Reply
from assay.delivery.consume import Asking, ProducerState, read_state
from assay.delivery.errors import DeliveryError, InvalidQuestionError
from assay.delivery.federate import Agreement, accept_foreign
from assay.delivery.rule import RuleId
from assay.delivery.twowrong import Step, StepKind
from assay.flows.delivery.delivery_evidence import annotation_of, members_of, rules_of
from assay.flows.errors.delivery import AnswererError
from assay.kernel.conformance import Fetched
from assay.kernel.json_text import JsonValue
from assay.ports.ids import Entropy
from assay.ports.service_client import ServiceClient

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


def _translated(theirs: list[str], agreement: Agreement) -> tuple[RuleId, ...]:
    known = dict(agreement.rules)
    found = [known.get(RuleId(one)) for one in theirs]
    return tuple(dict.fromkeys(one for one in found if one is not None))
