"""One record of a subject at a time, where windows look back: each must see those that came before it."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock

from assay.kernel.ids import TenantId

_STRIPES = 256


class SubjectLocks:
    """A fixed number of locks, since subjects are many; two subjects may share one, and then only wait."""

    def __init__(self) -> None:
        self._locks = tuple(Lock() for _ in range(_STRIPES))

    @contextmanager
    def hold(self, tenant_id: TenantId, subjects: Iterable[str]) -> Iterator[None]:
        """Hold the locks of all these subjects, which everybody takes in the same order: no two wait for each other."""
        with ExitStack() as held:
            for place in sorted({hash((tenant_id, subject)) % _STRIPES for subject in subjects}):
                held.enter_context(self._locks[place])
            yield
