"""`assay …` that waits little for whoever asks: the same program, smaller numbers."""

from assay.surfaces.cli.main import main
from assay.surfaces.forja import reply
from assay.surfaces.http import body, drain

drain.HEAD_SECONDS = 1.0
body.BODY_SECONDS = 1.0
reply._BODY_SECONDS = 1.0

if __name__ == "__main__":
    main()
