"""A TPM 2.0 through the commands of tpm2-tools: the weight hash goes into a register, quotes come out.

The attestation key is a primary key of the endorsement hierarchy, restricted to signing what the TPM itself made. It is
derived from the TPM's own seed, so the same machine always has the same one and no file holds it.
"""

import os
import subprocess
import tempfile
from pathlib import Path
from threading import Lock

from assay.kernel.digest import Digest, raw_digest
from assay.ports.measured_boot import MeasuredBootError
from assay.verdicts.quote import BOOT_REGISTERS, ZERO_REGISTER, WeightQuote, measured_register

_TIMEOUT_SECONDS = 30
_MOST_NONCE = 32
_BOOT = ",".join(map(str, BOOT_REGISTERS))
_KEY_KIND = "ecc256:ecdsa-sha256:null"
_KEY_USE = "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|restricted|sign"


class TpmMeasuredBoot:
    """Implements `ports.measured_boot.MeasuredBoot`; `tcti` says where the TPM is, such as `device:/dev/tpmrm0`."""

    def __init__(self, tcti: str, *, register: int) -> None:
        self._tcti = tcti
        self._register = register
        self._lock = Lock()

    def measure(self, weights: Digest) -> None:
        with self._lock, tempfile.TemporaryDirectory() as folder:
            if self._read(Path(folder)) == ZERO_REGISTER:
                self._run("tpm2_pcrextend", f"{self._register}:sha256={raw_digest(weights).hex()}")
            # Read again whatever was done: between two commands somebody else may have measured too.
            self._require(weights, self._read(Path(folder)))

    def quote(self, weights: Digest, nonce: bytes) -> WeightQuote:
        if not 1 <= len(nonce) <= _MOST_NONCE:
            raise MeasuredBootError(f"expected a nonce of 1 to {_MOST_NONCE} bytes, got {len(nonce)}")
        with self._lock, tempfile.TemporaryDirectory() as folder:
            self._require(weights, self._read(Path(folder)))
            return self._quoted(Path(folder), weights, nonce)

    def _require(self, weights: Digest, found: bytes) -> None:
        expected = measured_register(weights)
        if found != expected:
            raise MeasuredBootError.measured_other(
                f"expected register {self._register} to hold the measurement of `{weights}` alone, "
                f"{expected.hex()}, got {found.hex()}"
            )

    def _read(self, folder: Path) -> bytes:
        return self._read_registers(folder, f"{self._register}")

    def _read_registers(self, folder: Path, numbers: str) -> bytes:
        file = folder / "register"
        self._run("tpm2_pcrread", "-Q", f"sha256:{numbers}", "-o", str(file))
        return file.read_bytes()

    def _quoted(self, folder: Path, weights: Digest, nonce: bytes) -> WeightQuote:
        key, public, message, signature = (folder / name for name in ("key", "public", "message", "signature"))
        made = ("-C", "e", "-G", _KEY_KIND, "-a", _KEY_USE, "-c", str(key), "-f", "pem", "-o", str(public))
        self._run_loaded("tpm2_createprimary", "-Q", *made)
        asked = ("-l", f"sha256:{_BOOT},{self._register}", "-q", nonce.hex(), "-g", "sha256", "-f", "plain")
        self._run_loaded("tpm2_quote", "-Q", "-c", str(key), *asked, "-m", str(message), "-s", str(signature))
        boot = self._read_registers(folder, _BOOT)
        return WeightQuote(
            model_weight_hash=weights,
            register=self._register,
            message=message.read_bytes().hex(),
            signature=signature.read_bytes().hex(),
            attestation_key=public.read_text(encoding="ascii"),
            boot=tuple(boot[at : at + 32].hex() for at in range(0, len(boot), 32)),
        )

    def _run_loaded(self, *command: str) -> None:
        """A TPM without a resource manager has room for three objects: what was loaded is dropped again."""
        try:
            self._run(*command)
        finally:
            self._run("tpm2_flushcontext", "-t")

    def _run(self, *command: str) -> None:
        environment = {**os.environ, "TPM2TOOLS_TCTI": self._tcti}
        try:
            done = subprocess.run(  # noqa: S603 - the words are ours, a number, a hash and the operator's own address
                command, capture_output=True, check=False, timeout=_TIMEOUT_SECONDS, env=environment
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise MeasuredBootError(f"expected `{command[0]}` of tpm2-tools to answer: {error}") from error
        if done.returncode:
            told = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["nothing"]
            raise MeasuredBootError(f"expected `{command[0]}` to succeed, got: {told[0][:200]}")
