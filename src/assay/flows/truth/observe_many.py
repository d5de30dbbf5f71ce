"""A stream of observations, one JSON text in each line: many share one commit, and each line has its own answer.

lines -> batches -> judged one by one -> one commit for each batch -> what became of every line, by its number
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from msgspec import Struct

from assay.flows.identity.admit_principal import admit_principal
from assay.flows.ledger.verify_clock import verify_clock
from assay.flows.tools import Tools
from assay.flows.truth.observe import Arriving, Observed, prepare_observation, record_observation
from assay.flows.truth.released import get_contract, read_contract
from assay.identity.principal import Principal
from assay.kernel.errors import Blame, Error
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.truth.contract import Contract
from assay.truth.limits import parse_arriving

# Large enough that the disk is not waited for often, small enough that others get their turn.
_BATCH = 256


class ObservedLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of one line: where it is kept, or why not."""

    line: int
    observed: Observed | None = None
    code: str | None = None
    problem: str | None = None


class ObservedMany(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`recorded` are new, `repeated` were there, `refused` were told to `report` with their reasons."""

    recorded: int
    repeated: int
    refused: int


def observe_many(
    tools: Tools,
    lines: Iterable[bytes],
    *,
    credential: str,
    now: Callable[[], Instant],
    report: Callable[[ObservedLine], None] | None = None,
) -> ObservedMany:
    """Every line is answered once, in order, when it is on disk or refused; a refused line costs no other anything.

    `now` is asked once for each batch: a stream may go on for hours. Empty lines are passed over.
    """
    recorded = repeated = refused = 0
    for batch in _batches(lines):
        for line in _observe_batch(tools, batch, credential, now()):
            recorded += line.observed is not None and line.observed.is_new
            repeated += line.observed is not None and not line.observed.is_new
            refused += line.observed is None
            if report is not None:
                report(line)
    return ObservedMany(recorded=recorded, repeated=repeated, refused=refused)


def _batches(lines: Iterable[bytes]) -> Iterator[list[tuple[int, bytes]]]:
    numbered = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
    while batch := list(islice(numbered, _BATCH)):
        yield batch


def _observe_batch(tools: Tools, batch: list[tuple[int, bytes]], credential: str, at: Instant) -> list[ObservedLine]:
    judged = tools.database.read(lambda unit: _Judging(unit, tools, credential, at).judge(batch))

    def work(unit: Unit) -> list[ObservedLine]:
        principal = admit_principal(unit, credential, at=at)
        return [
            one if isinstance(one, ObservedLine) else _recorded(unit, principal, number, one) for number, one in judged
        ]

    return tools.database.write(work)


def _recorded(unit: Unit, principal: Principal, number: int, arriving: Arriving) -> ObservedLine:
    """Whether it is new is known before anything is written, so a refusal leaves nothing behind."""
    try:
        return ObservedLine(line=number, observed=record_observation(unit, principal.tenant_id, arriving))
    except Error as error:
        if error.blame is Blame.OURS:
            raise
        return _refused(number, error)


def _refused(number: int, error: Error) -> ObservedLine:
    return ObservedLine(line=number, code=error.code, problem=str(error))


class _Judging:
    """One batch on one state of the database; contracts are looked up once."""

    def __init__(self, unit: Unit, tools: Tools, credential: str, at: Instant) -> None:
        self._unit = unit
        self._tools = tools
        self._at = at
        self._principal = admit_principal(unit, credential, at=at)
        verify_clock(unit, tools, self._principal.tenant_id, at)
        self._contracts: dict[str, Contract] = {}

    def judge(self, batch: list[tuple[int, bytes]]) -> list[tuple[int, Arriving | ObservedLine]]:
        return [(number, self._judge(number, line)) for number, line in batch]

    def _judge(self, number: int, line: bytes) -> Arriving | ObservedLine:
        try:
            observation = parse_arriving(line)
            return prepare_observation(
                self._principal,
                self._contract(observation.claim_type),
                observation,
                at=self._at,
                skew=self._tools.reporter_skew,
                domain_systems=self._tools.domain_systems,
            )
        except Error as error:
            return _refused(number, error)

    def _contract(self, claim_type: str) -> Contract:
        if claim_type not in self._contracts:
            released = get_contract(self._unit, self._principal.tenant_id, claim_type)
            contract = read_contract(released.document, released.schema_text, self._tools.domain_systems)
            self._contracts[claim_type] = contract
        return self._contracts[claim_type]
