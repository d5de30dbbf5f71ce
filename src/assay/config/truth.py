"""Truth: domains beyond the four of Kaori, and how far clocks may differ."""

import re

from msgspec import Struct

from assay.identity.problem import Problem, when
from assay.truth.key import DOMAIN_SYSTEMS, SpatialSystem

_DOMAIN = re.compile(r"[a-z0-9_-]+", re.ASCII)
# Clocks that differ by more show another day, and nothing that they date can be told apart.
_DAY_SECONDS = 86_400


class TruthConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`domains` beyond Kaori's four, each with the spatial system of its keys: h3, healpix or meta.

    `clock_ahead_seconds` is how far a reporter's clock may be ahead of ours, `clock_behind_seconds` how far ours may be
    behind the newest entry while observations and signals are taken in; either from 0 to a day.
    """

    domains: dict[str, str] = {}
    clock_ahead_seconds: int = 300
    clock_behind_seconds: int = 300


def truth_problems(truth: TruthConfig) -> tuple[Problem, ...]:
    """One of Kaori's own cannot be changed, and a name that no claim type can have would never be used."""
    problems: tuple[Problem, ...] = ()
    for name in ("clock_ahead_seconds", "clock_behind_seconds"):
        seconds: int = getattr(truth, name)
        is_odd = not 0 <= seconds <= _DAY_SECONDS
        problems += when(is_odd, f"truth.{name}", f"expected 0 to {_DAY_SECONDS}, got {seconds}")
    for name, system in truth.domains.items():
        field = f"truth.domains.{name[:40]}"
        problems += when(_DOMAIN.fullmatch(name) is None, field, "expected a name of `[a-z0-9_-]`")
        problems += when(name in DOMAIN_SYSTEMS, field, "expected a domain besides Kaori's own")
        known = system in tuple(SpatialSystem)
        problems += when(not known, field, f"expected one of {', '.join(SpatialSystem)}, got `{system[:40]}`")
    return problems
