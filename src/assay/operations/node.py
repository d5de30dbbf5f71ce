"""Operations about the node itself: health, overview, tenants, settings."""

from assay.operations.kinds import Operation

OPERATIONS: tuple[Operation, ...] = ()
