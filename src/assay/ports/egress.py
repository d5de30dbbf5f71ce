"""The guard at the edge of the perimeter: what is evaluated inside it reaches nothing outside (SKI 6.3)."""

from contextlib import AbstractContextManager
from typing import Protocol

from assay.kernel.errors import Blame, Error


class EgressRefusedError(Error):
    """Evaluation tried to reach something outside the perimeter; in strict mode nothing is evaluated any more."""

    code = "sovereignty.egress"
    blame = Blame.OURS


class EgressGuard(Protocol):
    """Counts every attempt, whatever the mode; a strict one also stops it."""

    @property
    def attempts(self) -> int:
        """The attempts of this process; the ledger has those of all (`ski_egress_attempts_total`)."""
        ...

    @property
    def last_attempts(self) -> tuple[str, ...]:
        """Where the latest ones wanted to go."""
        ...

    def watching(self) -> AbstractContextManager[None]:
        """While inside, this thread is on the evaluation path."""
        ...
