"""Lengths of time in contracts: ISO 8601 with weeks, days, hours, minutes and whole seconds.

Months and years have no fixed length, so that the same contract would mean different spans; they are refused.
"""

import re
from datetime import timedelta

from assay.truth.errors import TruthError

_DURATION = re.compile(
    r"P(?:(?P<weeks>\d{1,5})W|(?:(?P<days>\d{1,6})D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d{1,7})H)?(?:(?P<minutes>\d{1,8})M)?(?:(?P<seconds>\d{1,9})S)?)?)",
    re.ASCII,
)


def parse_duration(text: str) -> timedelta:
    """A positive span; `P0D` is refused, since nothing that waits or decays can take no time."""
    match = _DURATION.fullmatch(text)
    parts = {} if match is None else {unit: int(count) for unit, count in match.groupdict().items() if count}
    length = timedelta(**parts)
    if not length:
        raise TruthError.duration(f"expected a positive ISO 8601 duration such as `PT6H` or `P3D`, got `{text[:80]}`")
    return length
