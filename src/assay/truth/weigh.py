"""Who is heard, and how much that weighs: the snapshot alone says (Kaori law 5).

admitted observations + snapshot -> speakers: one observation for each agent that has a weight
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import compress
from typing import NamedTuple

from assay.truth.contract import ConsensusModel, Contract
from assay.truth.flag import Flag
from assay.truth.ready import Columns, columns_of
from assay.truth.snapshot import AgentTrust, TrustSnapshot

__all__ = ["NOBODY", "Speakers", "choose_speakers", "hear_observations", "trusted_weight"]

_NOTHING = Decimal(0)


class Speakers(NamedTuple):
    """Observations that are heard, and what they weigh: `ranks` of standings, `trusts` and `weights` in millionths."""

    said: Columns
    ranks: Sequence[int]
    trusts: Sequence[int]
    weights: Sequence[int]

    def only(self, chosen: Iterable[object]) -> "Speakers":
        """Those where `chosen` is true."""
        kept = list(chosen)
        ranks, trusts, weights = (tuple(compress(column, kept)) for column in self[1:])
        return Speakers(self.said.only(kept), ranks, trusts, weights)


NOBODY = Speakers(columns_of(()), (), (), ())


def trusted_weight(model: ConsensusModel, trust: AgentTrust | None) -> Decimal:
    """By standing; nothing for an agent that the snapshot does not know or calls inadmissible."""
    if trust is None or not trust.admissible:
        return _NOTHING
    return model.weighted_roles[trust.standing]


def hear_observations(contract: Contract, snapshot: TrustSnapshot, admitted: Columns) -> tuple[Speakers, set[Flag]]:
    """Those whose reporters weigh something; what reporters say about themselves is never read."""
    if not admitted.reporter_id:
        return NOBODY, set()
    ranks, trusts = zip(*map(snapshot.voices.__getitem__, admitted.reporter_id), strict=True)
    weights = list(map(contract.role_weights.__getitem__, ranks))
    speakers = Speakers(admitted, ranks, trusts, weights)
    return (speakers.only(weights), {Flag.REPORTER_NOT_HEARD}) if 0 in weights else (speakers, set())


def choose_speakers(heard: Speakers) -> tuple[Speakers, set[Flag]]:
    """One weight for each reporter: the latest of an agent's observations speaks for it."""
    reporters = heard.said.reporter_id
    if len(set(reporters)) == len(reporters):
        return heard, set()
    # Later ones take the place of earlier ones.
    ordered = sorted(zip(heard.said.moments(), reporters, strict=True))
    latest = {reporter: moment for moment, reporter in ordered}
    chosen = [latest[one] == moment for one, moment in zip(reporters, heard.said.moments(), strict=True)]
    return heard.only(chosen), {Flag.REPORTER_REPEATED}
