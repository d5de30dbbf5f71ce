"""One record of a subject at a time, where windows look back: each must see those that came before it."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from assay.kernel.ids import TenantId

__all__ = ["SubjectLocks"]

_STRIPES = 256


class SubjectLocks:
    """A fixed number of locks, since subjects are many; two subjects may share one, and then only wait."""

    def __init__(self) -> None:
        self._locks = tuple(Lock() for _ in range(_STRIPES))

    @contextmanager
    def hold(self, tenant_id: TenantId, subject: str) -> Iterator[None]:
        with self._locks[hash((tenant_id, subject)) % _STRIPES]:
            yield
