"""With a TPM, every verdict names the measurement of its weights, and other weights reach none."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from assay.adapters.tpm import TpmMeasuredBoot
from assay.flows.attest_sovereignty import attest_sovereignty
from assay.flows.measure_weights import MeasuredWeights
from assay.flows.replay_verdict import replay_verdicts
from assay.kernel.digest import digest_of, raw_digest
from assay.kernel.ledger import EntryKind
from assay.verdicts.quote import verify_quote
from assay.verdicts.replay import summarise_replays
from tests.contract._kit import refused
from tests.flows._node import TENANT
from tests.flows._verdicts import WEIGHTS, VerdictDesk, opened_verdicts, rule
from tests.software_tpm import running_tpm

OTHER = digest_of(b"other weights")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[VerdictDesk]:
    with running_tpm(tmp_path / "tpm") as tcti, opened_verdicts(tmp_path) as opened:
        opened.judge_by(rule("limit"))
        opened.use(boot=TpmMeasuredBoot(tcti, register=12))
        yield opened


@pytest.mark.clause("ski", "9.3")
def test_every_verdict_chains_to_one_measurement_of_its_weights(desk: VerdictDesk) -> None:
    """The quote answers the hash of the entry before it, and each later envelope names the entry it is in."""
    before = desk.read(lambda unit: unit.ledger.head(TENANT))
    verdicts = [desk.decide({"so2": 30}, name=f"t-{number}").verdicts[0] for number in range(2)]
    (body,) = (msgspec.convert(one, MeasuredWeights) for one in desk.entries(EntryKind.WEIGHTS_MEASURED))
    key = body.quote.attestation_key.encode()
    verify_quote(body.quote, attestation_key=key, weights=WEIGHTS, nonce=raw_digest(body.after_hash))
    assert (body.after_sequence, body.after_hash) == (before.sequence_number, before.entry_hash)
    entry = desk.read(lambda unit: unit.ledger.find_entry(TENANT, before.sequence_number + 1))
    assert entry is not None
    for one in verdicts:
        assert one.envelope is not None
        assert f"weights.measured: entry {entry.entry_hash}" in one.envelope.notes
    assert attest_sovereignty(desk.tools, TENANT, at=desk.start).document.measured_entry == entry.entry_hash


@pytest.mark.clause("ski", "9.3")
def test_weights_other_than_those_measured_reach_no_verdict(desk: VerdictDesk) -> None:
    """Not even when the operator put them on the registry, and not in a new process on the same machine."""
    desk.decide({"so2": 30})
    head = desk.head()
    assert desk.model is not None
    desk.settings(weights=(WEIGHTS, OTHER))
    desk.thinks(desk.model, weights=OTHER)
    for fresh in (desk.tools.measured, type(desk.tools.measured)()):
        desk.use(measured=fresh)
        with refused("sovereignty.measured_other"):
            desk.decide({"so2": 31}, name="t-2")
    assert desk.head() == head


def test_a_tpm_that_does_not_answer_stops_evaluation(desk: VerdictDesk) -> None:
    desk.use(boot=TpmMeasuredBoot("swtpm:path=/nonexistent", register=12))
    with refused("sovereignty.tpm"):
        desk.decide({"so2": 30})


def test_a_measured_verdict_replays(desk: VerdictDesk) -> None:
    desk.decide({"so2": 30})
    assert summarise_replays(replay_verdicts(desk.tools, TENANT)).is_clean
