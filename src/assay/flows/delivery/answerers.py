"""Who answers: functions that a program registers before the node starts, in a table that is frozen then.

table = Answerers()

@table.answers("vessel.ukc-status", rules=["MAR-YK-007"])
def under_keel(question: Question) -> Reply | JSON: ...

tools = replace(tools, delivery=replace(tools.delivery, answerers=table.freeze()))
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from assay.delivery.answerer import Answerer, Question, Reply
from assay.delivery.rule import RuleId, parse_rule_id
from assay.flows.errors.delivery import AnswererError
from assay.kernel.json_text import JsonValue

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
