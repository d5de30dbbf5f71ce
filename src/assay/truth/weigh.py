"""Who is heard, and how much that weighs: the snapshot alone says (Kaori law 5).

admitted observations + snapshot -> speakers: one observation for each agent that has a weight
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import compress
from typing import NamedTuple

from assay.truth.contract import ConsensusModel, Contract
from assay.truth.flag import Flag
from assay.truth.gather import Gathered
from assay.truth.snapshot import AgentTrust, TrustSnapshot

_NOTHING = Decimal(0)


class Speakers(NamedTuple):
    """Observations that are heard, and what each weighs, in millionths."""

    said: Gathered
    weights: Sequence[int]

    def only(self, chosen: Iterable[object]) -> "Speakers":
        """Those where `chosen` is true."""
        kept = list(chosen)
        return Speakers(self.said.only(kept), tuple(compress(self.weights, kept)))


def trusted_weight(model: ConsensusModel, trust: AgentTrust | None) -> Decimal:
    """What an agent's word weighs, by its standing; nothing where the snapshot lacks it or calls it inadmissible."""
    if trust is None or not trust.admissible:
        return _NOTHING
    return model.weighted_roles[trust.standing]


def hear_observations(contract: Contract, snapshot: TrustSnapshot, admitted: Gathered) -> tuple[Speakers, set[Flag]]:
    """Those whose reporters weigh something; what reporters say about themselves is never read."""
    weights = [*map(snapshot.weights(contract.role_weights).__getitem__, admitted.reporters)]
    speakers = Speakers(admitted, weights)
    return (speakers.only(weights), {Flag.REPORTER_NOT_HEARD}) if 0 in weights else (speakers, set())


def choose_speakers(heard: Speakers) -> tuple[Speakers, set[Flag]]:
    """One weight for each reporter: the latest of an agent's observations speaks for it."""
    if heard.said.is_each_reporter_once:
        return heard, set()
    # Later ones take the place of earlier ones.
    latest = {row.reporter_id: row for row in sorted(heard.said.rows, key=lambda row: row.moment)}
    return heard.only(latest[row.reporter_id] is row for row in heard.said.rows), {Flag.REPORTER_REPEATED}
