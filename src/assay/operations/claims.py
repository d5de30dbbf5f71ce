"""Operations about bundles of claims, their evidence, approvals and policies."""

from assay.operations.kinds import Operation

OPERATIONS: tuple[Operation, ...] = ()
