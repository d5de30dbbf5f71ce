"""Models, their evaluations and activations in SQL."""

from assay.adapters.sql.row import add_row, columns_of, read_row, verify_row
from assay.adapters.sql.session import SqlSession
from assay.kernel.ids import TenantId
from assay.ports.model_store import ModelActivation, ModelEvaluation, RegisteredModel

_MODEL = f"SELECT {', '.join(columns_of(RegisteredModel))} FROM model"  # noqa: S608 - our constants
_EVALUATION = f"SELECT {', '.join(columns_of(ModelEvaluation))} FROM model_evaluation"  # noqa: S608 - our constants
_ACTIVATION = f"SELECT {', '.join(columns_of(ModelActivation))} FROM model_activation WHERE tenant_id = ?"  # noqa: S608 - our constants


class SqlModelStore:
    """Implements `ports.model_store.ModelStore`."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    def add_model(self, tenant_id: TenantId, model: RegisteredModel) -> None:
        verify_row(model, "weight_hash")
        add_row(self._session, "model", tenant_id, model, f"the model `{model.weight_hash}`")

    def find_model(self, tenant_id: TenantId, weight_hash: str) -> RegisteredModel | None:
        rows = self._session.query(f"{_MODEL} WHERE weight_hash = ? AND tenant_id = ?", (weight_hash, tenant_id))
        return read_row(rows[0], RegisteredModel) if rows else None

    def models(self, tenant_id: TenantId) -> tuple[RegisteredModel, ...]:
        rows = self._session.query(f"{_MODEL} WHERE tenant_id = ? ORDER BY sequence_number", (tenant_id,))
        return tuple(read_row(row, RegisteredModel) for row in rows)

    def add_evaluation(self, tenant_id: TenantId, evaluation: ModelEvaluation) -> None:
        verify_row(evaluation, "weight_hash", "cases_hash")
        what = f"the evaluation of entry {evaluation.sequence_number}"
        add_row(self._session, "model_evaluation", tenant_id, evaluation, what)

    def evaluations(self, tenant_id: TenantId, weight_hash: str) -> tuple[ModelEvaluation, ...]:
        rows = self._session.query(
            f"{_EVALUATION} WHERE weight_hash = ? AND tenant_id = ? ORDER BY sequence_number DESC",
            (weight_hash, tenant_id),
        )
        return tuple(read_row(row, ModelEvaluation) for row in rows)

    def activate(self, tenant_id: TenantId, activation: ModelActivation) -> None:
        verify_row(activation, "ticket_id")
        what = f"the activation by `{activation.ticket_id}`"
        add_row(self._session, "model_activation", tenant_id, activation, what)

    def find_active(self, tenant_id: TenantId) -> ModelActivation | None:
        rows = self._session.query(f"{_ACTIVATION} ORDER BY sequence_number DESC LIMIT 1", (tenant_id,))
        return read_row(rows[0], ModelActivation) if rows else None

    def activations(self, tenant_id: TenantId) -> tuple[ModelActivation, ...]:
        rows = self._session.query(f"{_ACTIVATION} ORDER BY sequence_number", (tenant_id,))
        return tuple(read_row(row, ModelActivation) for row in rows)
