"""The table: one tuple of operations per room, joined; nothing registers itself."""

from assay.operations import (
    claims,
    delivery,
    identity,
    ledger,
    model,
    node,
    permits,
    registry,
    review,
    trust,
    truth,
    verdicts,
)
from assay.operations.kinds import Operation

TABLE: tuple[Operation, ...] = (
    *identity.OPERATIONS,
    *review.OPERATIONS,
    *truth.OPERATIONS,
    *trust.OPERATIONS,
    *verdicts.OPERATIONS,
    *model.OPERATIONS,
    *claims.OPERATIONS,
    *permits.OPERATIONS,
    *delivery.OPERATIONS,
    *registry.OPERATIONS,
    *ledger.OPERATIONS,
    *node.OPERATIONS,
)
BY_NAME = {operation.name: operation for operation in TABLE}
BY_TOOL = {operation.tool: operation for operation in TABLE if operation.tool is not None}
