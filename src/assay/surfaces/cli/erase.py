"""`assay erase`: the values go, the proof stays."""

from assay.operations.table import BY_NAME
from assay.surfaces.cli.derive import derive_command

erase = derive_command(BY_NAME["entry.erase"])
