"""Many records, line by line: each is judged, refused with its reason, or answered with what is recorded.

lines -> by subject, so that its records stay in order -> workers -> one result for each line, in the order of lines
A run that ended early is simply run again: what it recorded is known by its id.
"""

from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import orjson
from msgspec import Struct

from assay.flows.active_graph import get_activation, ready_graph
from assay.flows.admit_principal import admit_principal
from assay.flows.evaluate_record import evaluate_record
from assay.flows.read_verdict import Decided
from assay.flows.tools import Tools
from assay.identity.errors import OtherTenantError
from assay.kernel.digest import Digest
from assay.kernel.errors import CanonicalError, Error, JsonError
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntrySizeError, NulCharacterError
from assay.ports.database import Unit
from assay.verdicts.comparison import nfc
from assay.verdicts.errors import GraphError, VerdictsError
from assay.verdicts.graph.index import GraphIndex

__all__ = ["Evaluated", "evaluate_many"]

_WAITING_EACH = 4
_OF_RECORDS = (VerdictsError, JsonError, CanonicalError, OtherTenantError, EntrySizeError, NulCharacterError)


class Evaluated(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line: what was decided, or the code and the words of its refusal."""

    line: int
    decided: Decided | None = None
    code: str | None = None
    message: str | None = None


def evaluate_many(
    tools: Tools, lines: Iterable[bytes | str], *, credential: str, workers: int = 1
) -> Generator[Evaluated]:
    """A record that is refused does not stop the others; what would refuse every record does, and is raised.

    With one worker each line is answered before the next is read, so that lines may come as slowly as they like.
    Whoever stops early leaves nothing half done: what was begun is recorded or not, the rest was not begun.
    """
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    if workers <= 1:
        yield from (_evaluate(tools, number, line, credential) for number, line in numbered)
        return
    index = _index(tools, credential)
    with ExitStack() as stack:
        pools = [stack.enter_context(ThreadPoolExecutor(1)) for _ in range(workers)]
        waiting: deque[Future[Evaluated]] = deque()
        # Before the pools are left, which would otherwise wait for everything that is still queued.
        stack.callback(lambda: [one.cancel() for one in waiting])
        for number, line in numbered:
            pool = pools[hash(_subject(line, index)) % len(pools)]
            waiting.append(pool.submit(_evaluate, tools, number, line, credential))
            while waiting and (waiting[0].done() or len(waiting) >= len(pools) * _WAITING_EACH):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _evaluate(tools: Tools, number: int, line: bytes | str, credential: str) -> Evaluated:
    try:
        decided = evaluate_record(tools, line, credential=credential, at=tools.clock.now())
    except Error as error:
        if not _is_about_the_record(error):
            raise
        return Evaluated(line=number, code=error.code, message=str(error))
    return Evaluated(line=number, decided=decided)


def _is_about_the_record(error: Error) -> bool:
    """A graph that cannot be opened, a model that is another one or a full disk would refuse them all."""
    return isinstance(error, _OF_RECORDS) and not isinstance(error, GraphError)


def _index(tools: Tools, credential: str) -> GraphIndex:
    """Of the graph in use: by it, two names are one subject's. What refuses every record is raised here already."""

    def look(unit: Unit) -> tuple[TenantId, Digest]:
        tenant_id = admit_principal(unit, credential, at=tools.clock.now()).tenant_id
        return tenant_id, get_activation(unit, tenant_id).document_hash

    return ready_graph(tools, *tools.database.read(look)).index


def _subject(line: bytes | str, index: GraphIndex) -> object:
    """Only to keep a subject's records in one row; what it is, is for the strict reader to say."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    named = nfc(str(value.get("subject"))) if isinstance(value, dict) else None
    found = None if named is None else index.find_subject(named)
    return named if found is None else found.id
