"""Approvals: what a person's answer must bind before it counts for a bundle.

approvals + needs + now -> those that count, why others do not -> satisfied | waiting | rejected | expired
The caller still checks that an answer was really given: its signature, and that its person has the roles it names.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from assay.claims.bundle import HumanDecision
from assay.claims.policy import ApprovalNeed
from assay.kernel.digest import Digest
from assay.kernel.instant import Instant


class Discount(StrEnum):
    """Why an approval does not count."""

    OTHER_BUNDLE = "other_bundle"
    MACHINE = "machine"
    DISABLED = "disabled"
    OWN_REQUEST = "own_request"
    NOT_YET = "not_yet"
    EXPIRED = "expired"
    GIVEN_TWICE = "given_twice"
    NO_ROLE = "no_role"


class ApprovalState(StrEnum):
    SATISFIED = "satisfied"
    WAITING = "waiting"
    REJECTED = "rejected"
    EXPIRED = "expired"


class Approval(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One person's answer about exactly one bundle, good until it expires; `id` is that of the answer.

    `is_active` says that its giver may still act: an approval falls with whoever gave it, a rejection stands.
    """

    id: str
    bundle_hash: Digest
    approver: str
    is_person: bool
    roles: tuple[str, ...]
    decision: HumanDecision
    given_at: Instant
    expires_at: Instant
    reason: str = ""
    is_active: bool = True


class ApprovalCheck(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What approvals are held against; `parties` asked for the bundle and so may not approve it.

    `due_at` is when the question closes: after that, what is missing is a no. An approval runs out by its own date, or
    `valid_for_seconds` after it was given.
    """

    bundle_hash: Digest
    needs: tuple[ApprovalNeed, ...]
    parties: tuple[str, ...]
    now: Instant
    due_at: Instant | None = None
    valid_for_seconds: int | None = None
    distinct_people: bool = True


class ApprovalFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    state: ApprovalState
    missing: tuple[ApprovalNeed, ...]
    counted: tuple[Approval, ...]
    discounted: tuple[tuple[str, Discount], ...]
    rejected_by: tuple[str, ...] = ()


def check_approvals(check: ApprovalCheck, approvals: Iterable[Approval]) -> ApprovalFinding:
    """Where the approvals of a bundle stand; the same for every order of them. One rejection is enough."""
    counted: list[Approval] = []
    discounted: list[tuple[str, Discount]] = []
    heard: set[str] = set()
    for approval in sorted(approvals, key=_order):
        why = _discount(check, approval, heard)
        if why is None:
            heard.add(approval.approver)
            counted.append(approval)
        else:
            discounted.append((approval.id, why))
    rejected_by = tuple(one.approver for one in counted if one.decision is HumanDecision.REJECTED)
    missing = _missing(check, counted)
    return ApprovalFinding(
        state=_state(check, missing, rejected=bool(rejected_by)),
        missing=missing,
        counted=tuple(counted),
        discounted=tuple(discounted),
        rejected_by=rejected_by,
    )


def _order(approval: Approval) -> tuple[bool, Instant, str]:
    # A rejection is heard first: whoever gave both answers is taken at the stricter one.
    return approval.decision is HumanDecision.APPROVED, approval.given_at, approval.id


def _state(check: ApprovalCheck, missing: Sequence[ApprovalNeed], *, rejected: bool) -> ApprovalState:
    if rejected:
        return ApprovalState.REJECTED
    if not missing:
        return ApprovalState.SATISFIED
    overdue = check.due_at is not None and check.now >= check.due_at
    return ApprovalState.EXPIRED if overdue else ApprovalState.WAITING


def _discount(check: ApprovalCheck, approval: Approval, heard: set[str]) -> Discount | None:
    reasons = (
        (approval.bundle_hash != check.bundle_hash, Discount.OTHER_BUNDLE),
        (not approval.is_person, Discount.MACHINE),
        (not approval.is_active and approval.decision is HumanDecision.APPROVED, Discount.DISABLED),
        (approval.approver in check.parties, Discount.OWN_REQUEST),
        (approval.given_at > check.now, Discount.NOT_YET),
        (_is_late(check, approval), Discount.EXPIRED),
        (approval.approver in heard, Discount.GIVEN_TWICE),
        (not {need.role for need in check.needs} & {*approval.roles, approval.approver}, Discount.NO_ROLE),
    )
    return next((why for is_so, why in reasons if is_so), None)


def _is_late(check: ApprovalCheck, approval: Approval) -> bool:
    """An approval runs out, or came after the question had closed; a rejection stands whenever it was given."""
    if approval.decision is HumanDecision.REJECTED:
        return False
    if check.due_at is not None and approval.given_at >= check.due_at:
        return True
    age = (check.now - approval.given_at).total_seconds()
    return check.now >= approval.expires_at or (check.valid_for_seconds is not None and age >= check.valid_for_seconds)


def _missing(check: ApprovalCheck, counted: Sequence[Approval]) -> tuple[ApprovalNeed, ...]:
    approving = [one for one in counted if one.decision is HumanDecision.APPROVED]
    filled = _assigned(check.needs, approving) if check.distinct_people else _tallied(check.needs, approving)
    short = ((need.role, need.people - filled[need.role]) for need in check.needs)
    return tuple(ApprovalNeed(role=role, people=people) for role, people in short if people > 0)


def _stands_for(approval: Approval, role: str) -> bool:
    """Whether an approval fills this need: by a role, or by being the very person that a bundle names."""
    return role in approval.roles or role == approval.approver


def _tallied(needs: Sequence[ApprovalNeed], approving: Sequence[Approval]) -> Mapping[str, int]:
    return {need.role: sum(_stands_for(one, need.role) for one in approving) for need in needs}


def _assigned(needs: Sequence[ApprovalNeed], approving: Sequence[Approval]) -> Mapping[str, int]:
    """Who fills which place, filling as many as possible with nobody in two of them (augmenting paths)."""
    places = [need.role for need in needs for _ in range(need.people)]
    sitting: dict[int, Approval] = {}

    def seat(approval: Approval, tried: set[int]) -> bool:
        for place, role in enumerate(places):
            if place in tried or not _stands_for(approval, role):
                continue
            tried.add(place)
            if place not in sitting or seat(sitting[place], tried):
                sitting[place] = approval
                return True
        return False

    for approval in approving:
        seat(approval, set())
    return {need.role: sum(places[place] == need.role for place in sitting) for need in needs}
