"""Operations about trust signals, policies, standings and snapshots."""

from assay.operations.kinds import Operation

OPERATIONS: tuple[Operation, ...] = ()
