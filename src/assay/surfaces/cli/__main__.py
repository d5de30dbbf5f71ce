"""`python -m assay.surfaces.cli`: the same program, where no script is installed."""

from assay.surfaces.cli.main import main

main()
