"""Parts of the work on a Dask cluster (extra `[dask]`); the same parts, the same bytes."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self, TypeVar

from assay.kernel.errors import Blame, Code, Error

_TIMEOUT = 5  # seconds
Part = TypeVar("Part")
Done = TypeVar("Done")


class DaskUnreachableError(Error):
    """No Dask scheduler answers at the address given."""

    code = "pool.dask_unreachable"
    blame = Blame.ANSWER
    dask_missing = Code("pool.dask_missing", "The extra that brings Dask is not installed.", Blame.USAGE)


class DaskPool:
    """A client of the scheduler at `address`; workers need this package, of the same version, and nothing else."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client  # noqa: PLC0415 - an extra, loaded when chosen
        except ImportError as error:
            raise DaskUnreachableError.dask_missing(
                "expected the package `distributed`, got none: install `assay[dask]`"
            ) from error
        try:
            self._client: Any = Client(  # type: ignore[no-untyped-call]  # ships few types
                address, set_as_default=False, timeout=_TIMEOUT
            )
        except (OSError, ValueError) as error:
            raise DaskUnreachableError(f"expected a Dask scheduler at `{address[:200]}`, got none") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def run(self, work: Callable[[Part], Done], parts: Iterable[Part]) -> Iterator[Done]:
        """Pure, since Dask may run a part twice; a part's name is drawn anew, since equal parts are rare and large."""
        ahead = 2 * max(1, len(self._client.scheduler_info()["workers"]))
        waiting: deque[Any] = deque()
        for part in parts:
            waiting.append(self._client.submit(work, part, pure=False))
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
