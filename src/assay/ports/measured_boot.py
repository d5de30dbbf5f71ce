"""A measured boot: something below the operating system that remembers which weights were put to use (SKI 9.3)."""

from typing import Protocol

from assay.kernel.digest import Digest
from assay.kernel.errors import Blame, Code, Error
from assay.verdicts.quote import WeightQuote


class MeasuredBootError(Error):
    """The TPM cannot be used; where one is configured, nothing is evaluated without it."""

    code = "sovereignty.tpm"
    blame = Blame.OURS
    measured_other = Code(
        "sovereignty.measured_other",
        "Other weights than these were measured since the machine started, and that cannot be taken back.",
    )


class MeasuredBoot(Protocol):
    """A register that only grows. Several threads may use it at once."""

    def measure(self, weights: Digest) -> None:
        """Put these weights on record, once per boot; doing it again changes nothing.

        Raises `sovereignty.measured_other` where the register already holds anything else.
        """
        ...

    def quote(self, weights: Digest, nonce: bytes) -> WeightQuote:
        """The register's signed state, which must be that of these weights alone; answers a nonce of 1 to 32 bytes."""
        ...
