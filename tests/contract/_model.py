"""Models of tests, with their evaluations and activations."""

from assay.kernel.digest import Digest, digest_of
from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.model_store import ModelActivation, ModelEvaluation, RegisteredModel
from tests.contract._kit import AT
from tests.contract._records import ACME

__all__ = ["CHILD", "SHIPPED", "activated", "evaluated", "fill_models", "model"]

SHIPPED = digest_of(b"shipped")
CHILD = digest_of(b"child")
_OLGA = PrincipalId("user:olga")


def model(
    weights: Digest = CHILD, *, parent: Digest | None = SHIPPED, entry: int = 1, at: Instant = AT
) -> RegisteredModel:
    return RegisteredModel(
        weight_hash=weights,
        name="assay-judge",
        version="1.0.1",
        parent_hash=parent,
        size=455499,
        manifest="{}",
        by=_OLGA,
        added_at=at,
        sequence_number=entry,
    )


def evaluated(weights: Digest = CHILD, *, entry: int = 1, cases: int = 2000, figures: str = "{}") -> ModelEvaluation:
    return ModelEvaluation(
        sequence_number=entry,
        weight_hash=weights,
        cases_hash=digest_of(b"sealed"),
        cases=cases,
        figures=figures,
        by=_OLGA,
        evaluated_at=AT,
    )


def activated(weights: Digest = CHILD, *, entry: int = 1, ticket: str = "tkt_1") -> ModelActivation:
    return ModelActivation(
        sequence_number=entry,
        weight_hash=weights,
        before_hash=SHIPPED,
        ticket_id=TicketId(ticket),
        by=PrincipalId("user:rita"),
        activated_at=AT,
    )


def fill_models(unit: Unit) -> None:
    """One row at least in every table."""
    unit.models.add_model(ACME, model())
    unit.models.add_evaluation(ACME, evaluated())
    unit.models.activate(ACME, activated())
