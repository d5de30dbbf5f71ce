"""Many records, line by line: each is judged, refused with its reason, or answered with what is recorded.

lines -> by subject, so that its records stay in order -> workers -> one result for each line, in the order of lines
Lines that are there already go in blocks: each is judged on its own, and recorded together with its neighbours.
A run that ended early is simply run again: what it recorded is known by its id.
"""

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice
from time import monotonic

import orjson
from msgspec import Struct

from assay.flows.identity.admit_principal import admit_principal
from assay.flows.tools import Tools
from assay.flows.verdicts.decide_many import Asked, decide_many
from assay.flows.verdicts.evaluate_record import evaluate_record, may_evaluate_together
from assay.flows.verdicts.graphs_in_use import get_activation, ready_graph
from assay.flows.verdicts.read_verdicts import Decided
from assay.identity.errors import OtherTenantError
from assay.kernel.digest import Digest
from assay.kernel.errors import CanonicalError, Error, JsonError
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntrySizeError, NulCharacterError
from assay.ports.database import Unit
from assay.verdicts.comparison import nfc
from assay.verdicts.errors import GraphError, VerdictsError
from assay.verdicts.graph.index import GraphIndex

_WAITING_EACH = 4
# More in one unit of work spare little, and who reads the answers waits for all of them.
_MOST_TOGETHER = 64
_BRIEF_SECONDS = 0.25
_OF_RECORDS = (VerdictsError, JsonError, CanonicalError, OtherTenantError, EntrySizeError, NulCharacterError)


class Evaluated(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line: what was decided, or the code and the words of its refusal."""

    line: int
    decided: Decided | None = None
    code: str | None = None
    message: str | None = None


def evaluate_many(
    tools: Tools, lines: Iterable[bytes | str], *, credential: str, workers: int = 1, together: int = 1
) -> Generator[Evaluated]:
    """A record that is refused does not stop the others; what would refuse every record does, and is raised.

    With one worker each line is answered before the next is read, so that lines may come as slowly as they like;
    `together` is how many may be read before the first of them is answered, where it is known that they will come.
    Whoever stops early leaves nothing half done: what was begun is recorded or not, the rest was not begun.
    """
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    if workers <= 1:
        yield from _evaluate_in_order(tools, numbered, credential, together)
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


def evaluate_all(
    tools: Tools, lines: Sequence[bytes | str], *, credential: str, workers: int = 1
) -> Generator[Evaluated]:
    """Judge lines that are all there already, as `evaluate_many` does.

    A model that is asked many questions at once gets them from one thread; others are waited for by several.
    """
    if workers > 1 and not may_evaluate_together(tools):
        return evaluate_many(tools, lines, credential=credential, workers=min(workers, len(lines)))
    return evaluate_many(tools, lines, credential=credential, together=_MOST_TOGETHER)


def _evaluate_in_order(
    tools: Tools, numbered: Iterator[tuple[int, bytes | str]], credential: str, together: int
) -> Generator[Evaluated]:
    """In blocks as long as each takes no time to speak of: with a slow model every record is told by itself."""
    size = 1
    while block := list(islice(numbered, size)):
        seconds, answers = 0.0, _decide_block(tools, [line for _, line in block], credential)
        for number, _ in block:
            began = monotonic()
            answer = next(answers)
            seconds += monotonic() - began
            yield _evaluated(number, answer)
        size = min(2 * size, together) if seconds < _BRIEF_SECONDS else max(size // 2, 1)


def _decide_block(tools: Tools, lines: Sequence[bytes | str], credential: str) -> Iterator[Decided | Error]:
    if len(lines) > 1 and not tools.ski.is_v2:
        return decide_many(tools, [Asked(line, tools.clock.now(), credential) for line in lines])
    return (_decide(tools, line, credential) for line in lines)


def _decide(tools: Tools, line: bytes | str, credential: str) -> Decided | Error:
    try:
        return evaluate_record(tools, line, credential=credential, at=tools.clock.now())
    except Error as error:
        return error


def _evaluate(tools: Tools, number: int, line: bytes | str, credential: str) -> Evaluated:
    return _evaluated(number, _decide(tools, line, credential))


def _evaluated(number: int, answer: Decided | Error) -> Evaluated:
    if not isinstance(answer, Error):
        return Evaluated(line=number, decided=answer)
    if not _is_about_the_record(answer):
        raise answer
    return Evaluated(line=number, code=answer.code, message=str(answer))


def _is_about_the_record(error: Error) -> bool:
    """A graph that cannot be opened, a model that is another one or a full disk would refuse them all."""
    return isinstance(error, _OF_RECORDS) and not isinstance(error, GraphError)


def _index(tools: Tools, credential: str) -> GraphIndex:
    """The index of the graph in use, by which two names are one subject's. What refuses every record is raised here."""

    def look(unit: Unit) -> tuple[TenantId, Digest]:
        tenant_id = admit_principal(unit, credential, at=tools.clock.now()).tenant_id
        return tenant_id, get_activation(unit, tools, tenant_id).document_hash

    return ready_graph(tools, *tools.database.read(look)).index


def _subject(line: bytes | str, index: GraphIndex) -> object:
    """Only to keep a subject's records in one row; what it is, is for the strict reader to say."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    given = value.get("subject") if isinstance(value, dict) else None
    # Only a text names a subject; turning a deeply nested value into text would run out of stack.
    named = nfc(given) if isinstance(given, str) else None
    found = None if named is None else index.find_subject(named)
    return named if found is None else found.id
