"""Operations about observations, contracts, votes and truth states."""

from assay.operations.kinds import Operation

OPERATIONS: tuple[Operation, ...] = ()
