"""Whether trust follows from the ledger: outcomes from the states, and the mark from the whole log.

signals of the ledger -> as many rows, each its entry's | states -> the outcomes that follow from their inputs
log folded from the beginning -> the mark at its place
"""

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from assay.flows.request import Request
from assay.flows.tools import Tools
from assay.flows.trust.fold_trust import fold_from, get_policy_in_force, is_own_mark, read_policy
from assay.flows.trust.ledger_signals import SIGNAL_KINDS
from assay.flows.truth.replay_state import derive_signal
from assay.flows.truth.replay_truth import ledger_entries
from assay.flows.truth.state_entry import read_state
from assay.identity.caller import Caller
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.trust.evolve import Fold
from assay.trust.fold_state import render_fold_state


class TrustProblem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`trust.log_differs`, `trust.outcomes_differ`, `trust.mark_differs`, `trust.mark_unsigned`, or the code of what
    could not be read.
    """

    code: str
    message: str


class TrustFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`marked` is the entry that the mark reaches to, None without one."""

    signals: int
    marked: int | None
    problems: tuple[TrustProblem, ...]

    @property
    def holds(self) -> bool:
        return not self.problems


class CheckTrust(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing to say: the whole log is folded."""


class TrustReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether trust follows from the ledger; `marked` is the entry that the mark reaches to."""

    holds: bool
    signals: int
    marked: int | None
    problems: tuple[TrustProblem, ...]


def check_trust_log(tools: Tools, caller: Caller, request: CheckTrust) -> TrustReport:  # noqa: ARG001 - nothing is asked
    """Check whether the log has the signals of the ledger, and outcomes and the mark follow from it.

    The ledger itself is verified by `assay ledger verify`.
    """
    found = check_trust(tools, caller.tenant_id)
    return TrustReport(holds=found.holds, signals=found.signals, marked=found.marked, problems=found.problems)


def check_trust(tools: Tools, tenant_id: TenantId) -> TrustFinding:
    """Reads everything; the chain itself is what `audit_ledger` verifies."""

    def work(unit: Unit) -> TrustFinding:
        count, problems = _count(unit, tenant_id)
        problems.extend(_outcome_problems(unit, tenant_id))
        policy = read_policy(get_policy_in_force(unit, tenant_id).document)
        mark = unit.trust.find_mark(tenant_id, policy.policy_hash)
        if mark is not None and not is_own_mark(unit, tools, tenant_id, mark):
            message = f"expected a mark that this node signed, got one up to entry {mark.through}, which is not used"
            problems.append(TrustProblem(code="trust.mark_unsigned", message=message))
        elif mark is not None and not problems:
            problems.extend(_mark_problems(unit, tenant_id, Fold(policy), mark.through, mark.text))
        return TrustFinding(signals=count, marked=None if mark is None else mark.through, problems=tuple(problems))

    return tools.database.read(work)


def _count(unit: Unit, tenant_id: TenantId) -> tuple[int, list[TrustProblem]]:
    """How many signals the ledger has, and whether the log has them: each row is compared with its entry when read."""
    entries = (entry for entry in unit.ledger.entries(tenant_id, kinds=SIGNAL_KINDS))
    count = sum(1 for entry in entries if _SIGNALLING.decode(entry.text).body.signal is not None)
    try:
        logged = sum(1 for _ in unit.trust.signals(tenant_id))
    except DamagedRecordError as error:
        return count, [TrustProblem(code="trust.log_differs", message=str(error))]
    if logged == count:
        return count, []
    message = f"expected the {count} signals of the ledger in the log, got {logged}"
    return count, [TrustProblem(code="trust.log_differs", message=message)]


class _Body(Struct):
    signal: dict[str, object] | None = None


class _Signalling(Struct):
    body: _Body


_SIGNALLING = msgspec.json.Decoder(_Signalling)


def _outcome_problems(unit: Unit, tenant_id: TenantId) -> Iterator[TrustProblem]:
    """Who was right follows from a state's own inputs; no hash that is signed covers it, so it is worked out again."""
    get_entry = ledger_entries(unit, tenant_id)
    for row in unit.ledger.entries(tenant_id):
        if row.kind != EntryKind.TRUTH_STATE:
            continue
        try:
            state, body = read_state(get_entry, row.sequence_number)
            is_same = body.signal == derive_signal(get_entry, state, body)
        except Error as error:
            yield TrustProblem(code=error.code, message=f"entry {row.sequence_number}: {error}")
            continue
        if not is_same:
            message = f"expected the outcomes of entry {row.sequence_number} as its state gives them, got others"
            yield TrustProblem(code="trust.outcomes_differ", message=message)


def _mark_problems(unit: Unit, tenant_id: TenantId, fold: Fold, through: int, text: str) -> Iterator[TrustProblem]:
    """The mark must be what the log up to its place amounts to, byte for byte."""
    try:
        folded = fold_from(unit, tenant_id, fold, after=0, through=through)
    except Error as error:
        yield TrustProblem(code=error.code, message=str(error))
        return
    if render_fold_state(folded.fold.checkpoint()).decode() != text:
        message = f"expected the mark at entry {through} to be what the log amounts to: drop it and fold again"
        yield TrustProblem(code="trust.mark_differs", message=message)
