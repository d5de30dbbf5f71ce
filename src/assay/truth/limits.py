"""What is refused at the door, before anything is computed from it: implausible years and oversized observations.

JSON -> size -> Observation -> years -> size of the payload
Stored observations are read without these limits: what was recorded before them stays readable.
"""

from assay.kernel.canonical import Profile, canonicalize
from assay.kernel.instant import render_instant
from assay.truth.errors import TruthError
from assay.truth.observation import Observation, parse_observation

_FIRST_YEAR, _LAST_YEAR = 1970, 2200
# Of the whole JSON text, and of the payload in canonical form.
LARGEST_OBSERVATION = 262_144
LARGEST_PAYLOAD = 65_536


def parse_arriving(given: bytes | str | dict[str, object]) -> Observation:
    """An observation from outside, or `truth.payload_size`, `truth.observation_range` or what its parser refuses."""
    if not isinstance(given, dict) and len(given) > LARGEST_OBSERVATION:
        raise TruthError.payload_size(
            f"expected an observation of at most {LARGEST_OBSERVATION} bytes, got {len(given)}"
        )
    observation = parse_observation(given)
    times = [observation.reported_at, *[ref.capture_time for ref in observation.evidence_refs if ref.capture_time]]
    for moment in times:
        if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
            raise TruthError.observation_range(
                f"expected a time from the year {_FIRST_YEAR} to {_LAST_YEAR}, got `{render_instant(moment)}`"
            )
    size = len(canonicalize(observation.payload, Profile.KAORI))
    if size > LARGEST_PAYLOAD:
        raise TruthError.payload_size(f"expected a payload of at most {LARGEST_PAYLOAD} bytes, got {size}")
    return observation
