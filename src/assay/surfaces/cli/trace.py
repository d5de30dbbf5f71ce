"""`assay trace`: the complete history of an answer, a record, a bundle, a ticket or an outcome."""

from assay.operations.delivery import TRACE_SHOW
from assay.surfaces.cli.derive import derive_command

trace = derive_command(TRACE_SHOW)
