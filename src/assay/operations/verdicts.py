"""Operations about telemetry, verdicts, knowledge graphs and sovereignty."""

from assay.operations.kinds import Operation

OPERATIONS: tuple[Operation, ...] = ()
