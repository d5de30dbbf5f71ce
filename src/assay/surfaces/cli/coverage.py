"""`assay coverage` and `assay agreement`: what the rules do not cover, and how often the model is right (SKI 9.2)."""

from assay.operations.verdicts import AGREEMENT, COVERAGE
from assay.surfaces.cli.derive import derive_command

coverage = derive_command(COVERAGE)
agreement = derive_command(AGREEMENT)
