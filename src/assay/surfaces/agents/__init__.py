"""Guarded tools in agent frameworks: a call pauses by the framework's own means while people decide.

framework's tool call -> the guard's steps (gate, permit, claim) -> the tool -> report
Each module imports one framework, which is an extra. State is in the node; an edit of a reviewer is gated anew.
"""

from collections.abc import Callable
from typing import Any

from assay.kernel.errors import Error
from assay.surfaces.guard import GuardError

# Which piece of work a call belongs to, from what the framework hands to its tools.
FindRun = Callable[[Any], str | None]


def missing(package: str, extra: str) -> Error:
    """What to install."""
    return GuardError.not_installed(f'{package} is missing: pip install "assay[{extra}]"')
