"""Trust as it was at an instant of the past: the log up to then, under the policy that was in force then.

policies registered by then + signals until the log's own time passes it -> Fold -> TrustSnapshot
"""

from collections.abc import Iterable
from itertools import takewhile

from assay.flows.errors.truth import NoPolicyError
from assay.flows.tools import Tools
from assay.flows.trust.fold_trust import read_policy
from assay.flows.trust.take_snapshot import snapshot_of
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, render_instant
from assay.ports.database import Unit
from assay.trust.evolve import Fold
from assay.trust.policy import TrustPolicy
from assay.trust.signal import parse_signal
from assay.truth.snapshot import TrustSnapshot


def recall_trust(
    tools: Tools,
    tenant_id: TenantId,
    *,
    claim_type: str,
    at: Instant,
    agents: Iterable[str] | None = None,
    probe: str | None = None,
) -> TrustSnapshot:
    """What a compilation at that instant would have frozen of these agents, or of all that were known then.

    Folds from the beginning, since marks are of now. A signal that was logged later counts as later, however it is
    dated: what was frozen in between did not know it.
    """

    def work(unit: Unit) -> TrustSnapshot:
        fold = Fold(_policy(unit, tenant_id, at))
        for logged in takewhile(lambda one: one.occurred_at <= at, unit.trust.signals(tenant_id)):
            fold.add(parse_signal(logged.text))
        chosen = fold.agent_ids() if agents is None else tuple(agents)
        return snapshot_of(unit, tenant_id, fold, chosen, claim_type, at=at, probe=probe)

    return tools.database.read(work)


def _policy(unit: Unit, tenant_id: TenantId, at: Instant) -> TrustPolicy:
    known = [one for one in unit.trust.policies(tenant_id) if one.registered_at <= at]
    if not known:
        raise NoPolicyError(f"tenant `{tenant_id}` had no trust policy at {render_instant(at)}")
    return read_policy(known[-1].document)
