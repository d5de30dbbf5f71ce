"""Registered models."""

from assay.facts.kinds import Fact, Projected, Table
from assay.ports.model_store import ModelActivation, ModelEvaluation, RegisteredModel

FACTS: tuple[Fact, ...] = ()
TABLES = (
    Table("model", Projected(RegisteredModel), pending=True),
    Table("model_evaluation", Projected(ModelEvaluation), pending=True),
    Table("model_activation", Projected(ModelActivation), pending=True),
)
