"""Trust as the signal log tells it: folded under the policy in force, each signal read once.

policy in force + the fold at hand, else the signed mark + signals after it -> Fold -> standings, snapshots
Rows are compared with their entries as they are read. A mark is a short cut and never an authority: one that this node
did not sign for this very ledger is not used, and `check_trust` folds the whole log again and compares.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from msgspec.structs import replace

from assay.flows.errors import NotFoundError
from assay.flows.errors.truth import TruthFlowError
from assay.flows.ledger.in_force import require_newest
from assay.flows.tools import Tools
from assay.flows.trust.fold_shelf import Folded, FoldPlace
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import digest_of
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.kernel.signature import SignedKind, parse_signature_hex, signing_message, verify_ed25519
from assay.ports.database import Unit
from assay.ports.trust_store import FoldMark, RegisteredPolicy
from assay.trust.errors import TrustError
from assay.trust.evolve import Fold
from assay.trust.fold_state import parse_fold_state, render_fold_state
from assay.trust.parse_policy import parse_policy
from assay.trust.policy import TrustPolicy
from assay.trust.signal import read_stored_signal


@contextmanager
def borrow_trust(
    unit: Unit, tools: Tools, tenant_id: TenantId, *, policy_hash: str | None = None, through: int | None = None
) -> Iterator[Folded]:
    """The fold that this process keeps, for as long as the block lasts; in a unit that only reads.

    Under the policy in force, or another that was registered; up to an entry, or to the end of the log.
    """
    last = unit.ledger.head(tenant_id).sequence_number if through is None else through
    policy = read_policy(_policy(unit, tenant_id, policy_hash, last).document)
    with tools.folds.borrow(tenant_id, policy.policy_hash) as place:
        kept, place.folded = place.folded, None
        if kept is not None and kept.through > last:
            # Somebody else is further on already, so this one is made for the asker alone.
            place.folded = kept
            yield _advanced(unit, tenant_id, _beginning(unit, tools, tenant_id, policy, last), last)
            return
        # What fails halfway is not put back: a fold is whole or none.
        kept = _advanced(unit, tenant_id, kept or _beginning(unit, tools, tenant_id, policy, last), last)
        place.folded = kept
        _note_due(place, kept, tools.folds.mark_every)
        yield kept


def fold_trust(unit: Unit, tools: Tools, tenant_id: TenantId, *, through: int | None = None) -> Folded:
    """A fold of one's own, which stays as it is however long it is used; making it costs a copy of every agent."""
    with borrow_trust(unit, tools, tenant_id, through=through) as kept:
        fold = Fold.resume(kept.fold.policy, kept.fold.checkpoint())
        return Folded(fold=fold, through=kept.through, since_mark=kept.since_mark)


def _beginning(unit: Unit, tools: Tools, tenant_id: TenantId, policy: TrustPolicy, last: int) -> Folded:
    mark = unit.trust.find_mark(tenant_id, policy.policy_hash)
    if mark is not None and mark.through <= last and is_own_mark(unit, tools, tenant_id, mark):
        try:
            fold = Fold.resume(policy, parse_fold_state(mark.text))
        except TrustError:
            # A mark that cannot be read costs time and nothing else.
            return Folded(fold=Fold(policy), through=0, since_mark=0)
        return Folded(fold=fold, through=mark.through, since_mark=0)
    return Folded(fold=Fold(policy), through=0, since_mark=0)


def _advanced(unit: Unit, tenant_id: TenantId, folded: Folded, last: int) -> Folded:
    further = fold_from(unit, tenant_id, folded.fold, after=folded.through, through=last)
    folded.through, folded.since_mark = further.through, folded.since_mark + further.since_mark
    return folded


def fold_from(unit: Unit, tenant_id: TenantId, fold: Fold, *, after: int, through: int | None = None) -> Folded:
    """Go on with the signals after an entry."""
    last, count = after, 0
    for logged in unit.trust.signals(tenant_id, after=after, through=through):
        fold.add(read_stored_signal(logged.kind, logged.text))
        last, count = logged.sequence_number, count + 1
    return Folded(fold=fold, through=last, since_mark=count)


def _note_due(place: FoldPlace, kept: Folded, every: int) -> None:
    """Written down while nobody else can take the fold further; signed and stored once the borrower has read."""
    if kept.since_mark < every:
        return
    text = render_fold_state(kept.fold.checkpoint()).decode()
    place.due = FoldMark(policy_hash=kept.fold.policy.policy_hash, through=kept.through, text=text)
    kept.since_mark = 0


def keep_marks(tools: Tools, tenant_id: TenantId) -> None:
    """Leave the marks that have become due, signed by this node."""
    for due in tools.folds.take_due(tenant_id):
        message = tools.database.read(lambda unit, due=due: _message(unit, tenant_id, due))  # type: ignore[misc]  # bound at once
        mark = replace(due, signature=tools.ledger_signer.sign(message).hex())
        tools.database.write(lambda unit, mark=mark: unit.trust.put_mark(tenant_id, mark))  # type: ignore[misc]  # bound at once


def is_own_mark(unit: Unit, tools: Tools, tenant_id: TenantId, mark: FoldMark) -> bool:
    """Whether this node signed it over this very ledger, with the key it has now; a rotation costs one fold more."""
    public_key = tools.ledger_signer.public_key
    if public_key is None:
        return False
    try:
        verify_ed25519(public_key, _message(unit, tenant_id, mark), parse_signature_hex(mark.signature))
    except Error:
        return False
    return True


def _message(unit: Unit, tenant_id: TenantId, mark: FoldMark) -> bytes:
    entry = unit.ledger.find_entry(tenant_id, mark.through)
    told = {
        "tenant_id": tenant_id,
        "policy_hash": mark.policy_hash,
        "through": mark.through,
        "entry_hash": None if entry is None else digest_of(entry.text),
        "text_hash": digest_of(mark.text.encode()),
    }
    return signing_message(SignedKind.FOLD, canonicalize(told))


def get_policy_in_force(unit: Unit, tenant_id: TenantId) -> RegisteredPolicy:
    return _policy(unit, tenant_id, None, None)


def _policy(unit: Unit, tenant_id: TenantId, policy_hash: str | None, through: int | None) -> RegisteredPolicy:
    """The policy of this hash, or the one in force at an entry."""
    if policy_hash is not None:
        found = unit.trust.find_policy(tenant_id, policy_hash)
        if found is None:
            raise NotFoundError(f"tenant `{tenant_id}` has no trust policy {policy_hash[:80]}")
        return found
    registered = unit.trust.policies(tenant_id)
    newest = registered[-1].sequence_number if registered else None
    require_newest(unit, tenant_id, EntryKind.TRUST_POLICY, newest)
    known = [one for one in registered if through is None or one.sequence_number <= through]
    if not known:
        raise TruthFlowError.trust_no_policy(
            f"tenant `{tenant_id}` has no trust policy: register one: `assay trust policy register FILE`"
        )
    return known[-1]


@lru_cache(maxsize=64)
def read_policy(document: str) -> TrustPolicy:
    """From its canonical document, which holds everything it inherits."""
    return parse_policy(document)
