"""STATE declares the query types, the actions and every strand that is checked."""

import msgspec
import pytest

from assay.delivery.answerer import Answerer, Question, Reply
from assay.delivery.consume import read_state
from assay.delivery.query import QueryRegistry
from assay.delivery.state import ServiceStatus, state_of
from assay.delivery.strand import CORE
from assay.kernel.ids import PrincipalId
from assay.kernel.json_text import JsonValue
from tests.delivery.answers import RULE, widened
from tests.identity.people import NOON


@pytest.mark.clause("pramana", "7.1")
@pytest.mark.clause("pramana", "13.5")
def test_state_has_the_members_of_the_text() -> None:
    state = state_of(
        QueryRegistry(),
        service="org.a",
        version="1",
        status=ServiceStatus.ONLINE,
        can_do=("BOOK",),
        registry=widened(1),
    )
    told = msgspec.json.decode(msgspec.json.encode(state))
    assert told == {
        "service": "org.a",
        "version": "1",
        "status": "online",
        "can_answer": [],
        "can_do": ["BOOK"],
        "strands_supported": [*CORE, "x-extra-0"],
        "pramana_version": "1.0",
    }
    assert read_state(msgspec.json.encode(state)).strands_supported == (*CORE, "x-extra-0")


class _Echo:
    """An answerer as small as one can be."""

    def answer(self, question: Question) -> Reply:
        return Reply(output=question.question, rules=(RULE,))

    def replay(self, question: Question, repaired: tuple[str, ...]) -> JsonValue:
        return [question.question, *repaired]


def test_an_answerer_says_on_which_rules_its_output_rests_and_no_level() -> None:
    echo: Answerer = _Echo()
    question = Question(query_type="echo", question="depth?", asked_by=PrincipalId("user:amira"), asked_at=NOON)
    reply = echo.answer(question)
    assert (reply.output, reply.rules) == ("depth?", (RULE,))
    assert not [name for name in Reply.__struct_fields__ if "level" in name]
    assert echo.replay(question, ("route",)) == ["depth?", "route"]
