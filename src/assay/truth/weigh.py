"""Who is heard, and how much that weighs: the snapshot alone says (Kaori law 5).

admitted observations + snapshot -> speakers: one observation for each agent that has a weight
"""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from assay.truth.admit import Admitted
from assay.truth.contract import ConsensusModel
from assay.truth.flag import Flag
from assay.truth.observation import HashedObservation
from assay.truth.snapshot import AgentTrust, TrustSnapshot

__all__ = ["Speaker", "choose_speakers", "hear_observations", "trusted_weight"]

_NOTHING = Decimal(0)


class Speaker(Struct, frozen=True, gc=False):
    """An observation that is heard: `weight` is above 0."""

    hashed: HashedObservation
    evidence: tuple[str, ...]
    weight: Decimal
    trust: AgentTrust

    @property
    def moment(self) -> tuple[datetime, str]:
        """By when it was reported; of two at one instant, by hash."""
        return self.hashed.observation.reported_at, self.hashed.observation_hash


def trusted_weight(model: ConsensusModel, trust: AgentTrust | None) -> Decimal:
    """By standing; nothing for an agent that the snapshot does not know or calls inadmissible."""
    if trust is None or not trust.admissible:
        return _NOTHING
    return model.weighted_roles[trust.standing]


def hear_observations(
    model: ConsensusModel, snapshot: TrustSnapshot, admitted: Iterable[Admitted]
) -> tuple[list[Speaker], set[Flag]]:
    """Those whose reporters weigh something; what reporters say about themselves is never read."""
    heard: list[Speaker] = []
    flags: set[Flag] = set()
    trusts = snapshot.agent_trusts
    for one in admitted:
        trust = trusts.get(one.hashed.observation.reporter_id)
        if trust is None or not (weight := trusted_weight(model, trust)):
            flags.add(Flag.REPORTER_NOT_HEARD)
        else:
            heard.append(Speaker(one.hashed, one.evidence, weight, trust))
    return heard, flags


def choose_speakers(heard: Iterable[Speaker]) -> tuple[list[Speaker], set[Flag]]:
    """One weight for each reporter: the latest of an agent's observations speaks for it."""
    flags: set[Flag] = set()
    latest: dict[str, Speaker] = {}
    for speaker in heard:
        reporter = speaker.hashed.observation.reporter_id
        other = latest.setdefault(reporter, speaker)
        if other is not speaker:
            flags.add(Flag.REPORTER_REPEATED)
            latest[reporter] = max(other, speaker, key=_moment)
    return list(latest.values()), flags


def _moment(speaker: Speaker) -> tuple[datetime, str]:
    return speaker.moment
