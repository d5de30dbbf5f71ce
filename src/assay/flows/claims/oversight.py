"""Oversight of people: what each reviewer answered about claims, as figures with intervals and alarms.

answers on the desk -> tickets of claims, in the order of answers -> ReviewerFigures
The time of an answer is counted from when its ticket was opened: a reviewer has read it in at most that time.
"""

from collections.abc import Iterable
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from assay.claims.bundle import UncertaintyMethod
from assay.claims.oversight.reviewers import OversightRules, ReviewedTicket, ReviewerFigures, review_figures
from assay.flows.claims.claims_ticket import bundle_about, sample_about
from assay.flows.claims.oversight_log import Label, load_labels
from assay.flows.claims.sampling import SampleStanding, find_standing
from assay.flows.claims.watch_scores import ShiftStanding, find_shift, score_of
from assay.flows.request import Moment, Option, Request, parse_moment
from assay.flows.tools import Tools
from assay.identity.authorise import has_role
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId
from assay.ports.database import Unit
from assay.review.kind import TicketKind
from assay.review.progress import GivenAnswer
from assay.review.sight import STEWARDS

_KINDS = frozenset({TicketKind.APPROVAL, TicketKind.DEFERRAL, TicketKind.SAMPLE})
_READERS = (*STEWARDS, BuiltInRole.AUDITOR)
_PAGE = 500


class MeasureOversight(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    since: Annotated[Moment | None, Meta(description="Only answers from this instant on.")] = None
    rules: Annotated[OversightRules, Meta(description="When an alarm sounds."), Option(metavar="JSON")] = (
        OversightRules()
    )


class Oversight(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`plan` is the blind sample in force, shown to reviewers too; `shift` says how the watched scores stand."""

    figures: tuple[ReviewerFigures, ...]
    plan: SampleStanding | None = None
    shift: ShiftStanding | None = None


class ListLabels(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    method: Annotated[UncertaintyMethod, Meta(description="Only uncertainties of this method.")] = (
        UncertaintyMethod.SEMANTIC_ENTROPY
    )


class LabelledOutput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A case for `claims calibrate`; `source` is `blind` for a blind review, `label` for what somebody found out."""

    uncertainty: float
    wrong: bool
    bundle_hash: Digest
    source: str


class LabelledOutputs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    cases: tuple[LabelledOutput, ...]


def oversight(tools: Tools, caller: Caller, request: MeasureOversight) -> Oversight:
    """Measure how reviewers answer about claims, each figure with an interval.

    Without a role that may see others, one's own. What would have been right is known from labels, and for approvals
    from blind reviews by others. Answers to tickets that are not settled yet are left out: they tell nobody how a vote
    stands.
    """
    viewer, since = caller.viewer, parse_moment(request.since)
    own = viewer.id if viewer is not None and not has_role(viewer, _READERS) else None

    def work(unit: Unit) -> tuple[list[ReviewedTicket], SampleStanding | None, ShiftStanding | None]:
        given = _settled(unit, caller.tenant_id)
        known = _Known(load_labels(unit, caller.tenant_id), _blind(given))
        counted = [one for one in given if own in (None, one.answer.by)]
        recent = [one for one in counted if since is None or one.answer.answered_at >= since]
        tickets = [_reviewed(one, known) for one in recent]
        return tickets, find_standing(unit, caller.tenant_id), find_shift(unit, tools, caller.tenant_id)

    tickets, plan, shift = tools.database.read(work)
    return Oversight(figures=review_figures(tickets, request.rules), plan=plan, shift=shift)


def labels(tools: Tools, caller: Caller, request: ListLabels) -> LabelledOutputs:
    """List outputs whose answer is known as cases for `claims calibrate`: uncertainty, and whether it was wrong.

    A label counts before a blind review; of several blind reviews the last.
    """

    def look(unit: Unit) -> LabelledOutputs:
        found = {one: (approved[-1][1], "blind") for one, approved in _blind(_settled(unit, caller.tenant_id)).items()}
        found |= {one: (label.is_right, "label") for one, label in load_labels(unit, caller.tenant_id).items()}
        rows = unit.claims.find_bundles(caller.tenant_id, found)
        scored = ((row.bundle_hash, score_of(row, request.method)) for row in rows)
        return LabelledOutputs(
            cases=tuple(
                LabelledOutput(uncertainty=score, wrong=not found[one][0], bundle_hash=one, source=found[one][1])
                for one, score in sorted(scored)
                if score is not None
            )
        )

    return tools.database.read(look)


class _Known(NamedTuple):
    """What is known about bundles: labels, and blind reviews in order, each with who gave it."""

    labels: dict[Digest, Label]
    blind: dict[Digest, list[tuple[str, bool]]]

    def should_approve(self, given: GivenAnswer) -> bool | None:
        wanted = sample_about(given.ticket) or bundle_about(given.ticket)
        if wanted is None:
            return None
        label, by = self.labels.get(wanted), given.answer.by
        if label is not None and label.labelled_by != by:
            return label.is_right
        if given.ticket.kind is TicketKind.SAMPLE:
            return None
        others = [approved for other, approved in self.blind.get(wanted, ()) if other != by]
        return others[-1] if others else None


def _settled(unit: Unit, tenant_id: TenantId) -> list[GivenAnswer]:
    """Every answer to a settled ticket about claims, in order."""
    given = unit.review.answers_by(tenant_id, _everybody(unit, tenant_id))
    counted = (one for one in given if one.ticket.kind in _KINDS and one.settlement is not None)
    return sorted(counted, key=lambda one: one.answer.answered_at)


def _everybody(unit: Unit, tenant_id: TenantId) -> tuple[PrincipalId, ...]:
    names: list[PrincipalId] = []
    while True:
        page = unit.review.reviewers(tenant_id, after=names[-1] if names else None, limit=_PAGE)
        names += page
        if len(page) < _PAGE:
            return tuple(names)


def _blind(given: Iterable[GivenAnswer]) -> dict[Digest, list[tuple[str, bool]]]:
    found: dict[Digest, list[tuple[str, bool]]] = {}
    for one in given:
        wanted = sample_about(one.ticket)
        if wanted is not None:
            approved = one.answer.choice not in one.ticket.rejecting
            found.setdefault(wanted, []).append((one.answer.by, approved))
    return found


def _reviewed(given: GivenAnswer, known: _Known) -> ReviewedTicket:
    ticket, answer = given.ticket, given.answer
    return ReviewedTicket(
        reviewer=answer.by,
        kind=ticket.kind.value,
        agent=ticket.requested_by or ticket.opened_by,
        approved=answer.choice not in ticket.rejecting,
        words=len(ticket.shown.split()),
        seconds=(answer.answered_at - ticket.opened_at).total_seconds(),
        should_approve=known.should_approve(given),
    )
