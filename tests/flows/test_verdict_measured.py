"""With a TPM, every verdict names the measurement of its weights, and other weights reach none."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from assay.adapters.tpm import TpmMeasuredBoot
from assay.flows.verdicts.replay_verdict import replay_verdicts
from assay.flows.verdicts.sovereignty import MeasuredWeights, attest_sovereignty
from assay.kernel.digest import Digest, digest_of, raw_digest
from assay.kernel.ledger import EntryKind
from assay.ports.measured_boot import MeasuredBoot
from assay.verdicts.quote import WeightQuote, verify_quote
from assay.verdicts.replay import summarise_replays
from tests.contract._kit import refused
from tests.flows._node import TENANT
from tests.flows._verdicts import WEIGHTS, VerdictDesk, opened_verdicts, rule
from tests.software_tpm import running_tpm
from tests.verdict_calls import audit_measurements

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


def _key(desk: VerdictDesk) -> bytes:
    (body,) = desk.entries(EntryKind.WEIGHTS_MEASURED)
    key: str = body["quote"]["attestation_key"]
    return key.encode()


@pytest.mark.clause("ski", "9.3")
def test_an_auditor_follows_every_verdict_to_its_measurement(desk: VerdictDesk) -> None:
    """Final, held and settled ones; by the key alone, and by no other key."""
    desk.judge_by(rule("limit"), rule("grave", tier="high", value=20), compiled_at="2026-02-01T00:00:00Z")
    decided = desk.decide({"so2": 30})
    desk.attest(next(one.ticket_id for one in decided.verdicts if one.ticket_id is not None))
    report = audit_measurements(desk.tools, TENANT, attestation_key=_key(desk))
    assert (report.holds, report.verdicts, report.measurements, report.problems) == (True, 3, 1, ())
    other = ec.derive_private_key(7, ec.SECP256R1()).public_key()
    stranger = other.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    found = audit_measurements(desk.tools, TENANT, attestation_key=stranger)
    assert (found.holds, len(found.problems)) == (False, 4)


def test_a_verdict_without_a_measurement_is_told_and_an_empty_ledger_shows_nothing(desk: VerdictDesk) -> None:
    assert not audit_measurements(desk.tools, TENANT, attestation_key=b"").holds
    boot = desk.tools.boot
    desk.use(boot=None)
    desk.decide({"so2": 30})
    desk.use(boot=boot)
    desk.decide({"so2": 30}, name="t-2")
    report = audit_measurements(desk.tools, TENANT, attestation_key=_key(desk))
    assert [one.message for one in report.problems] == ["expected one measurement to be named, got 0"]


class _Forger:
    """A TPM of another machine, or an old quote: true, and not an answer to what was asked."""

    def __init__(self, true: MeasuredBoot, *, nonce: bytes | None = None, weights: Digest | None = None) -> None:
        self._true, self._nonce, self._weights = true, nonce, weights

    def measure(self, weights: Digest) -> None:
        self._true.measure(self._weights or weights)

    def quote(self, weights: Digest, nonce: bytes) -> WeightQuote:
        return self._true.quote(self._weights or weights, self._nonce or nonce)


@pytest.mark.parametrize(
    ("forgery", "words"),
    [
        ({"nonce": b"an old question"}, ("the measurement proves nothing: nonce", "expected a measurement before it")),
        ({"weights": OTHER}, ("expected the weights that were measured",)),
    ],
    ids=["an old quote", "other weights"],
)
def test_a_measurement_of_something_else_is_found(
    desk: VerdictDesk, forgery: dict[str, Any], words: tuple[str, ...]
) -> None:
    assert desk.tools.boot is not None
    desk.use(boot=_Forger(desk.tools.boot, **forgery))
    desk.decide({"so2": 30})
    problems = audit_measurements(desk.tools, TENANT, attestation_key=_key(desk)).problems
    assert len(problems) == len(words)
    assert all(one.message.startswith(start) for one, start in zip(problems, words, strict=True))
