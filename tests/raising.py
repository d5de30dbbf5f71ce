"""Expecting an error by its code, as `pytest.raises` expects one by its class."""

import pytest

from assay.kernel.errors import Code, Error

__all__ = ["is_of", "raises"]


def raises(expected: Code | type[Error], *, match: str | None = None) -> pytest.RaisesExc[Error]:
    """Pass where an error of that class is raised, and of that code where a code is expected."""
    if isinstance(expected, Code):
        return pytest.raises(expected.family, match=match, check=lambda error: is_of(error, expected))
    return pytest.raises(expected, match=match)


def is_of(value: object, expected: Code) -> bool:
    """Whether this is an error of that code."""
    return isinstance(value, expected.family) and value.code == expected.code
