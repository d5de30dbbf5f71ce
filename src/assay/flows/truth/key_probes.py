"""For which probe each reporter speaks at a key: who made a probe is heard less in it (Flow)."""

from collections.abc import Iterable, Sequence

from assay.flows.truth.gathered_keys import StoredText, gather_stored
from assay.flows.truth.key_sealing import Sealing
from assay.kernel.instant import Instant
from assay.truth.ai_score import parse_ai_score
from assay.truth.contract import Contract
from assay.truth.report import latest_reports
from assay.truth.window import WindowEvent


def find_probes(
    contract: Contract,
    truthkey: str,
    observations: tuple[StoredText, ...],
    ai_scores: Iterable[str],
    events: Sequence[WindowEvent],
    sealing: Sealing,
    at: Instant,
) -> dict[str, str]:
    """The probe of each reporter whose one report that counts was made for a probe.

    Few are made for one, so where no text names any, nothing is read for it.
    """
    if not any('"probe_id":' in one.text for one in observations):
        return {}
    latest = latest_reports(
        contract,
        truthkey,
        gather_stored(contract, truthkey, observations),
        ai_scores=map(parse_ai_score, ai_scores),
        window_events=events,
        compile_time=at,
        sealed_at=sealing.seals,
        late=sealing.late,
    )
    return {reporter: one.probe_id for reporter, one in latest.items() if one.probe_id is not None}
