"""A solver that knows nothing of our arithmetic comes to the same contradictions."""

import builtins
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.adapters.prove_z3 import Z3Prover
from assay.kernel.instant import Instant
from assay.verdicts.errors import GraphError
from assay.verdicts.graph.conflict import Demand
from assay.verdicts.graph.constraint import Constraint, constraint_of, is_empty, meet
from assay.verdicts.graph.node import NodeId
from assay.verdicts.graph.obligation import Obligation
from assay.verdicts.graph.validate import validate_graph
from tests.raising import raises
from tests.verdicts.graph.graphs import changed, obligation

_DAY = datetime(2024, 1, 1, tzinfo=UTC)
_VALUES = st.integers(0, 3).map(Decimal) | st.sampled_from(["a", "b", True, False])
_ROWS = st.one_of(
    st.tuples(
        st.sampled_from(("must_not_exceed", "must_be_at_least", "must_be_below", "must_be_above")),
        st.integers(0, 3).map(lambda number: Decimal(number) / 10),
    ),
    st.tuples(st.sampled_from(("must_equal", "must_not_equal")), _VALUES),
    st.tuples(st.sampled_from(("must_be_one_of", "must_not_be_one_of")), st.lists(_VALUES, max_size=2).map(tuple)),
)


def _demand(number: int, kind: str, value: object, start: int = 0, end: int = 9) -> Demand:
    node = Obligation(
        id=NodeId(f"o{number}"),
        obligation_type=kind,
        value=value,  # type: ignore[arg-type]  # as given
        effective_date_start=Instant(_DAY + timedelta(days=start)),
        effective_date_end=Instant(_DAY + timedelta(days=end)),
    )
    constraint = constraint_of(node)
    assert constraint is not None
    return Demand(node, constraint)


@settings(max_examples=30)
@given(st.lists(_ROWS, min_size=1, max_size=4))
def test_the_solver_and_our_arithmetic_agree(rows: list[tuple[str, object]]) -> None:
    """A contradiction is proven exactly where our own arithmetic finds one."""
    demands = tuple(_demand(number, kind, value) for number, (kind, value) in enumerate(rows))
    both = Constraint()
    for demand in demands:
        both = meet(both, demand.constraint)
    assert (Z3Prover().explain(demands) is not None) is is_empty(both)


def test_a_proof_names_the_instant_and_the_smallest_set_that_contradicts() -> None:
    """What takes no part in it is left out."""
    demands = (
        _demand(1, "must_not_exceed", Decimal("0.1"), 0, 5),
        _demand(2, "must_not_equal", "x", 0, 9),
        _demand(3, "must_be_above", Decimal("0.1"), 3, 9),
    )
    proof = Z3Prover().explain(demands)
    assert proof is not None
    assert proof.startswith("at 2024-01-04T00:00:00Z no value satisfies `o1` and `o3` (z3 ")


def test_demands_that_are_never_in_force_together_do_not_contradict() -> None:
    """There is no instant to show."""
    demands = (_demand(1, "must_equal", Decimal(1), 0, 1), _demand(2, "must_equal", Decimal(2), 2, 3))
    assert Z3Prover().explain(demands) is None


def test_the_validator_carries_the_proof() -> None:
    """The numbers are exact: a tenth above a tenth is a contradiction, and nothing is rounded away."""
    graph = changed(lambda document: obligation(document, "least", "must_be_above", 35))
    [issue] = validate_graph(graph, prover=Z3Prover())
    assert issue.proof is not None
    assert "`limit`" in issue.proof
    assert "`least`" in issue.proof


def test_without_the_extra_the_solver_is_refused_with_a_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the rest of the validator works as before."""
    real = builtins.__import__

    def refuse(name: str, *arguments: Any, **options: Any) -> object:  # noqa: ANN401  passed on
        if name == "z3":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with raises(GraphError.prover_missing, match="extra `prove`"):
        Z3Prover()
