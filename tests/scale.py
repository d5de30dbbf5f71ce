"""How much a test does: small numbers for every run, the full ones for `make test-long`."""

import os

__all__ = ["LONG", "scale"]

LONG = os.environ.get("ASSAY_TEST_SCALE", "short") == "long"


def scale(short: int, long: int) -> int:
    """The number of rounds, documents or entries that this run should use."""
    return long if LONG else short
