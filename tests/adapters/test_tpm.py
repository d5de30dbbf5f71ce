"""A real TPM, in software: weights are measured once per boot, and its quotes are verified by others' tools too."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.adapters.tpm import TpmMeasuredBoot
from assay.kernel.digest import digest_of
from assay.verdicts.quote import WeightQuote, verify_quote
from tests.contract._kit import refused
from tests.software_tpm import running_tpm

WEIGHTS, OTHER = digest_of(b"weights"), digest_of(b"other weights")
NONCE = bytes(range(32))


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_tpm(tmp_path_factory.mktemp("tpm")) as tcti:
        yield tcti


@pytest.fixture(scope="module")
def quote(machine: str) -> WeightQuote:
    """In register 12, which nothing but a new boot can reset."""
    boot = TpmMeasuredBoot(machine, register=12)
    boot.measure(WEIGHTS)
    return boot.quote(WEIGHTS, NONCE)


def _key(quote: WeightQuote) -> bytes:
    return quote.attestation_key.encode()


@pytest.mark.clause("ski", "9.3")
def test_a_quote_is_verified_offline_with_the_attestation_key_alone(quote: WeightQuote) -> None:
    quoted = verify_quote(quote, attestation_key=_key(quote), weights=WEIGHTS, nonce=NONCE)
    assert (quoted.registers, quoted.nonce, quoted.reset_count) == ((*range(8), 12), NONCE.hex(), 1)


@pytest.mark.clause("ski", "9.3")
def test_the_weights_chain_to_the_boot_that_was_measured(quote: WeightQuote) -> None:
    """A boot that was another, or is left out, is not what the TPM signed."""
    assert len(quote.boot) == 8
    other = replace(quote, boot=("11" * 32, *quote.boot[1:]))
    for changed in (other, replace(quote, boot=())):
        with refused("quote.mismatch"):
            verify_quote(changed, attestation_key=_key(quote))
    for wrong in (quote.boot[1:], ("11", *quote.boot[1:])):
        with refused("quote.malformed"):
            verify_quote(replace(quote, boot=wrong), attestation_key=_key(quote))


def test_the_tools_of_others_accept_the_same_quote(quote: WeightQuote, tmp_path: Path) -> None:
    """`tpm2_checkquote` and OpenSSL are independent of ours."""
    message, signature, key = tmp_path / "message", tmp_path / "signature", tmp_path / "key.pem"
    message.write_bytes(bytes.fromhex(quote.message))
    signature.write_bytes(bytes.fromhex(quote.signature))
    key.write_bytes(_key(quote))
    check = ["tpm2_checkquote", "-u", str(key), "-m", str(message), "-s", str(signature), "-g", "sha256"]
    subprocess.run([*check, "-q", NONCE.hex()], check=True, capture_output=True)
    openssl = ["openssl", "dgst", "-sha256", "-verify", str(key), "-signature", str(signature), str(message)]
    subprocess.run(openssl, check=True, capture_output=True)


@pytest.mark.clause("ski", "9.3")
def test_other_weights_are_refused_for_as_long_as_the_machine_runs(machine: str, quote: WeightQuote) -> None:
    """Measuring the same again changes nothing; nothing makes the register say that other weights came first."""
    boot = TpmMeasuredBoot(machine, register=12)
    for _ in range(2):
        with refused("sovereignty.measured_other"):
            boot.measure(OTHER)
        with refused("sovereignty.measured_other"):
            boot.quote(OTHER, NONCE)
    boot.measure(WEIGHTS)
    again = boot.quote(WEIGHTS, b"later")
    assert verify_quote(again, attestation_key=_key(quote), nonce=b"later").nonce == b"later".hex()


def test_a_register_that_somebody_else_extended_is_refused(machine: str) -> None:
    subprocess.run(
        ["tpm2_pcrextend", f"13:sha256={'11' * 32}"], check=True, capture_output=True, env={"TPM2TOOLS_TCTI": machine}
    )
    with refused("sovereignty.measured_other"):
        TpmMeasuredBoot(machine, register=13).measure(WEIGHTS)


def test_nothing_is_quoted_before_it_was_measured(machine: str) -> None:
    with refused("sovereignty.measured_other"):
        TpmMeasuredBoot(machine, register=14).quote(WEIGHTS, NONCE)


def test_a_reboot_makes_room_and_is_counted_and_the_key_stays(tmp_path: Path) -> None:
    folder = tmp_path / "machine"
    quotes = []
    for weights in (WEIGHTS, OTHER):
        with running_tpm(folder) as tcti:
            boot = TpmMeasuredBoot(tcti, register=12)
            boot.measure(weights)
            quotes.append(boot.quote(weights, NONCE))
    first, second = quotes
    assert first.attestation_key == second.attestation_key
    counts = [verify_quote(one, attestation_key=_key(first)).reset_count for one in quotes]
    assert counts[1] > counts[0]


def test_another_machine_has_another_key(quote: WeightQuote, tmp_path: Path) -> None:
    with running_tpm(tmp_path / "other") as tcti:
        boot = TpmMeasuredBoot(tcti, register=12)
        boot.measure(WEIGHTS)
        forged = boot.quote(WEIGHTS, NONCE)
    with refused("quote.signature"):
        verify_quote(forged, attestation_key=_key(quote))


@pytest.mark.parametrize("size", [0, 33])
def test_a_nonce_has_one_to_32_bytes(machine: str, size: int) -> None:
    with refused("sovereignty.tpm"):
        TpmMeasuredBoot(machine, register=12).quote(WEIGHTS, bytes(size))


def test_a_tpm_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with refused("sovereignty.tpm"):
        TpmMeasuredBoot(f"swtpm:path={tmp_path}/none", register=12).measure(WEIGHTS)
    monkeypatch.setenv("PATH", str(tmp_path))
    with refused("sovereignty.tpm"):
        TpmMeasuredBoot("device:/dev/tpmrm0", register=12).measure(WEIGHTS)
