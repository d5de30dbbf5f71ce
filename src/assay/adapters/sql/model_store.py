"""Models, their evaluations and activations in SQL."""

from assay.adapters.sql.rows import Rows
from assay.kernel.ids import TenantId
from assay.ports.model_store import ModelActivation, ModelEvaluation, RegisteredModel


class SqlModelStore:
    """Implements `ports.model_store.ModelStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def find_model(self, tenant_id: TenantId, weight_hash: str) -> RegisteredModel | None:
        return self._rows.one(RegisteredModel, "WHERE weight_hash = ? AND tenant_id = ?", (weight_hash, tenant_id))

    def models(self, tenant_id: TenantId) -> tuple[RegisteredModel, ...]:
        return self._rows.all(RegisteredModel, "WHERE tenant_id = ? ORDER BY sequence_number", (tenant_id,))

    def evaluations(self, tenant_id: TenantId, weight_hash: str) -> tuple[ModelEvaluation, ...]:
        rest = "WHERE weight_hash = ? AND tenant_id = ? ORDER BY sequence_number DESC"
        return self._rows.all(ModelEvaluation, rest, (weight_hash, tenant_id))

    def activations(self, tenant_id: TenantId) -> tuple[ModelActivation, ...]:
        return self._rows.all(ModelActivation, "WHERE tenant_id = ? ORDER BY sequence_number", (tenant_id,))
