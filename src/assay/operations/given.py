"""Values handed to a method, without those that were left out."""

from typing import Any

from msgspec import UNSET


def drop_absent(**given: Any) -> dict[str, Any]:  # noqa: ANN401 - values of any type
    """Leave out what is not set: the request's own default stands for it."""
    return {name: value for name, value in given.items() if value is not UNSET}
