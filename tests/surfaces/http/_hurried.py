"""`assay …` with little patience, so that a test need not wait for minutes: the same program, smaller numbers."""

from assay.surfaces.cli.main import main
from assay.surfaces.forja import threads
from assay.surfaces.http import metrics, patience, serve

serve._DRAIN_SECONDS = 1
serve._CLOSE_SECONDS = 1
metrics._PATIENCE_SECONDS = 0.5
patience.PATIENCE_SECONDS = 0.5
threads._PATIENCE_SECONDS = 0.5
patience._PULSE_SECONDS = 0.5

if __name__ == "__main__":
    main()
