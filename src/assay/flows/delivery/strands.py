"""Extended strands: checks that a program registers before the node starts, in a table that is frozen then.

table = Strands()

@table.strand(
    "x-regulatory-approval",
    name="Regulatory approval",
    how_to_check="the register of approvals names the vessel",
    absence_implication="no authority has approved what this answer is about",
    contact="compliance@example.org",
)
def approved(question: Question, rules: tuple[RuleRef, ...]) -> str | None: ...

A check answers with its evidence, which makes the strand present, or with None; one that raises or is late is absent.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from assay.delivery.answerer import Question
from assay.delivery.rule import RuleRef
from assay.delivery.strand import (
    CORE,
    CORE_REGISTRY,
    StrandId,
    StrandRegistry,
    StrandResult,
    StrandType,
    absent,
    present,
    register_strands,
)
from assay.flows.errors.delivery import StrandCheckError
from assay.ports.answerer import StrandCheck

StrandFunction = Callable[[Question, tuple[RuleRef, ...]], StrandResult | str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionStrand:
    """A function as a check: a text is the evidence of what it found, and None is that it found nothing."""

    strand: StrandType
    function: StrandFunction

    def check(self, question: Question, rules: tuple[RuleRef, ...]) -> StrandResult:
        name = self.strand.strand_type_id
        # Whatever its type says: it is another's function.
        found: object = self.function(question, rules)
        if isinstance(found, StrandResult):
            return found
        if found is None:
            return absent(name, f"not confirmed: {self.strand.how_to_check}", at=question.asked_at)
        if not isinstance(found, str) or not found.strip():
            # A check that says no more than "yes" has shown nothing that anybody could look at.
            raise StrandCheckError(f"expected evidence of `{name}` as text, or None, got `{found!r:.40}`")
        return present(name, f"confirmed: {self.strand.how_to_check}", evidence=(found,), at=question.asked_at)


class FrozenStrands(NamedTuple):
    """What the settings take: the strands that are defined, and who checks those beyond the core."""

    strands: StrandRegistry
    checks: Mapping[StrandId, StrandCheck]


class Strands:
    """The table while it is being filled; an id is taken once, and the core three are nobody's to redefine."""

    def __init__(self) -> None:
        self._types: dict[StrandId, StrandType] = {}
        self._checks: dict[StrandId, StrandCheck] = {}

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
        """A decorator with the five items of PRAMANA 15; without `registered` the id begins with `x-`."""
        kind = StrandType(
            strand_type_id=StrandId(strand_type_id),
            name=name,
            how_to_check=how_to_check,
            absence_implication=absence_implication,
            contact=contact,
        )

        def register(function: StrandFunction) -> StrandFunction:
            self.add(kind, FunctionStrand(strand=kind, function=function), registered=registered)
            return function

        return register

    def add(self, kind: StrandType, check: StrandCheck, *, registered: bool = False) -> None:
        """Define a strand and who checks it; `registered` says that the public registry of strand types has its id."""
        taken = (*CORE, *self._types)
        if kind.strand_type_id in taken:
            raise StrandCheckError(f"expected one strand called `{kind.strand_type_id}`, got a second")
        # Asked for now, so that whoever adds it is the one who is told.
        register_strands([kind], registered=[kind.strand_type_id] if registered else [])
        self._types[kind.strand_type_id] = kind
        self._checks[kind.strand_type_id] = check

    def freeze(
        self, base: StrandRegistry = CORE_REGISTRY, checks: Mapping[StrandId, StrandCheck] = MappingProxyType({})
    ) -> FrozenStrands:
        """Those of `base` and these; an id that both have is refused."""
        registry = StrandRegistry(types=(*base.types, *self._types.values()))
        return FrozenStrands(registry, MappingProxyType({**checks, **self._checks}))
