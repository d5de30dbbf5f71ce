"""Operations about the models that judge."""

from assay.operations.kinds import Operation

OPERATIONS: tuple[Operation, ...] = ()
