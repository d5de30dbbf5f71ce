"""Editions of the compiler's rules: a state is replayed under those that were in force when it was compiled.

`compiler_version` -> edition
The first edition is that of 0.1.0. The second: form checks are no machine confidence, unanimous experts settle a split
in the critical lane, and reporters of numbers are judged by a robust centre.
"""

from enum import IntEnum

_FIRST = frozenset({"assay-0.1.0"})


class Edition(IntEnum):
    FIRST = 1
    SECOND = 2


def edition_of(compiler_version: str) -> Edition:
    """The first for states of 0.1.0, the second for every other compiler."""
    return Edition.FIRST if compiler_version in _FIRST else Edition.SECOND
