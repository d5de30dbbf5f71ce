"""Competence: how often an agent's reports turned out to be right, frozen in a snapshot as plain numbers.

final states (folded elsewhere) -> reports that were right and wrong, by value -> Competence -> likelihoods
It is data like every part of a snapshot (law 5): the compiler reads it and never changes it.
"""

from decimal import Decimal
from typing import Annotated

from msgspec import Struct

from assay.truth._read import Bound
from assay.truth.errors import NumberFormError
from assay.truth.forms import AgentId, PayloadPath, Positive
from assay.truth.number import exact_number, plain_number, quantised

_LARGEST = Decimal(1_000_000)
_Distance = Annotated[Decimal, Bound(-_LARGEST, _LARGEST)]


class FieldCompetence(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An agent's record at one field of a claim, in reports; a report may count as a part of one.

    `matrix[truth][said]` splits the reports by canonical texts, for fields whose values the schema lists; it adds up to
    `right` on the diagonal and to `wrong` elsewhere. `bias` is the mean distance of a number from what it should have
    been, `spread` the mean square of it, both in units of the contract's tolerance.
    """

    right: Positive
    wrong: Positive
    matrix: dict[str, dict[str, Positive]] = {}
    bias: _Distance | None = None
    spread: Positive | None = None

    def canonical(self) -> dict[str, object]:
        plain: dict[str, object] = {"right": _plain(self.right), "wrong": _plain(self.wrong)}
        if self.matrix:
            plain["matrix"] = {
                truth: {said: _plain(reports) for said, reports in row.items()} for truth, row in self.matrix.items()
            }
        for name in ("bias", "spread"):
            value = getattr(self, name)
            if value is not None:
                plain[name] = _plain(value)
        return plain


class Competence(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of one agent for the claim type of the snapshot.

    `kin` names the group of agents that do not count as independent: their errors coincide, or they endorse each other.
    The name is that of the group's first agent.
    """

    fields: dict[PayloadPath, FieldCompetence] = {}
    kin: AgentId | None = None

    def canonical(self) -> dict[str, object]:
        plain: dict[str, object] = {}
        if self.fields:
            plain["fields"] = {name: field.canonical() for name, field in self.fields.items()}
        if self.kin is not None:
            plain["kin"] = self.kin
        return plain


def _plain(number: Decimal) -> int | float:
    if not exact_number(number).copy_abs() <= _LARGEST:
        raise NumberFormError(f"expected a number of reports or tolerances up to {_LARGEST}, got `{number}`")
    return plain_number(quantised(number))
