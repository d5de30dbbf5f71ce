"""Whether the scores of bundles still come from where the thresholds were fitted; if not, the certified ones return.

known cases -> certificate of the threshold in force … scores of new bundles -> martingale -> alarm -> policy + ticket
After an alarm nothing is watched until the next certificate.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct
from msgspec.structs import replace

from assay.claims.bundle import UncertaintyMethod
from assay.claims.estimate.fit_threshold import fit_threshold
from assay.claims.oversight.exchange import ALARM_WEALTH, ExchangeWatch
from assay.claims.parse_bundle import parse_bundle
from assay.claims.policy import ClaimsPolicy, MethodThresholds, Thresholds, policy_hash
from assay.claims.render_policy import render_policy
from assay.claims.signed_policy import policy_message
from assay.facts.claims import (
    CLAIMS_SERVICE,
    BundleContext,
    ClaimsDecided,
    ScoresShifted,
    ThresholdsCertified,
    oversight_entry,
    policy_entry,
)
from assay.flows.claims.calibrate import LabelledCases
from assay.flows.claims.claims_facts import active_policy
from assay.flows.claims.oversight_log import bodies, find_newest
from assay.flows.errors.claims import ClaimsFlowError
from assay.flows.identity.authenticate import confirm
from assay.flows.request import Done, Request
from assay.flows.review.open_review import draft_ticket, open_review_in
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.claims_store import ReceivedBundle, ReleasedClaimsPolicy
from assay.ports.database import Unit
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket, TicketDraft

# An entry stays small; of more cases every n-th score is kept.
_MOST_SCORES = 2000
_BATCH = 500
_PLACES = 1 << 64


class CertifyThresholds(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    cases: LabelledCases
    alpha: Annotated[float, Meta(gt=0.0, lt=1.0, description="At most this share of the published wrong,")] = 0.1
    delta: Annotated[float, Meta(gt=0.0, lt=1.0, description="with confidence 1 - delta.")] = 0.1
    method: Annotated[UncertaintyMethod, Meta(description="The method that the uncertainties are of.")] = (
        UncertaintyMethod.SEMANTIC_ENTROPY
    )


class ShiftStanding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the watch since the newest certificate stands; at `wealth` of `line` it alarms, and then `ticket_id` is set.

    `scores` are those that were read so far.
    """

    certificate: int
    method: UncertaintyMethod
    scores: int
    wealth: float
    line: float = ALARM_WEALTH
    ticket_id: TicketId | None = None


def certify_thresholds(tools: Tools, caller: Caller, request: CertifyThresholds) -> Done[ThresholdsCertified]:
    """Record that the threshold in force holds on known cases; scores to come are compared with theirs.

    Refused where the threshold in force lets more pass than the cases show to hold: release the policy that
    `claims calibrate` drafts first.
    """
    scores = [one.uncertainty for one in request.cases]
    fitted = fit_threshold(scores, [one.wrong for one in request.cases], alpha=request.alpha, delta=request.delta)

    def work(unit: Unit) -> Done[ThresholdsCertified]:
        person = confirm(unit, caller).principal
        policy = active_policy(unit, caller.tenant_id)
        in_force = policy.uncertainty.for_method(request.method)
        if fitted.threshold is None or in_force.defer_above > fitted.threshold:
            shown = "none" if fitted.threshold is None else f"{fitted.threshold:g}"
            told = f"expected a policy that defers above {shown}, which the cases show, got {in_force.defer_above:g}"
            raise ClaimsFlowError.not_certified(f"{told}: release what `assay claims calibrate` drafts, or add cases")
        body = ThresholdsCertified(
            policy_hash=policy_hash(policy),
            method=request.method,
            defer_above=in_force.defer_above,
            explain_above=in_force.explain_above,
            alpha=request.alpha,
            delta=request.delta,
            cases=len(scores),
            scores=tuple(scores[:: -(-len(scores) // _MOST_SCORES)]),
            certified_by=person.id,
        )
        receipt = unit.record(oversight_entry(caller.tenant_id, body, at=caller.at))
        return Done(value=body, receipt=receipt)

    return tools.database.write(work)


def find_shift(unit: Unit, tools: Tools, tenant_id: TenantId) -> ShiftStanding | None:
    """How the watch stands; None without a certificate."""
    found = find_newest(unit, tenant_id, EntryKind.CLAIMS_CERTIFIED, ThresholdsCertified)
    if found is None:
        return None
    number, certificate = found
    alarm = find_newest(unit, tenant_id, EntryKind.CLAIMS_SHIFTED, ScoresShifted)
    if alarm is not None and alarm[1].certificate == number:
        told = alarm[1]
        return ShiftStanding(
            certificate=number,
            method=certificate.method,
            scores=told.scores,
            wealth=told.wealth,
            ticket_id=told.ticket_id,
        )
    watch = _watched(unit, tools, tenant_id, number, certificate)
    return ShiftStanding(certificate=number, method=certificate.method, scores=watch.scores, wealth=watch.highest)


def watch_scores(tools: Tools, tenant_id: TenantId, *, at: Instant) -> TicketId | None:
    """One round: read the scores of new bundles; on an alarm restore the certified thresholds and open a ticket."""
    standing = tools.database.read(lambda unit: find_shift(unit, tools, tenant_id))
    if standing is None or standing.ticket_id is not None or standing.wealth < ALARM_WEALTH:
        return None
    return tools.database.write(lambda unit: _alarm(unit, tools, tenant_id, standing, at))


def score_of(row: ReceivedBundle, method: UncertaintyMethod) -> float | None:
    """The highest uncertainty of a bundle by one method: what the node computed, else what the agent said."""
    context = msgspec.json.decode(row.context, type=BundleContext)
    scores = [
        estimate.value if estimate is not None and estimate.method is method else claim.uncertainty.value
        for claim in parse_bundle(row.text).claims
        for estimate in (context.estimates.get(claim.id),)
        if claim.uncertainty.method is method or (estimate is not None and estimate.method is method)
    ]
    return max(scores, default=None)


def _watched(
    unit: Unit, tools: Tools, tenant_id: TenantId, number: int, certificate: ThresholdsCertified
) -> ExchangeWatch:
    """The watch of a certificate, after every bundle that was decided since it."""
    key = (tenant_id, number)
    watch, read = tools.watches.find(key) or (ExchangeWatch(certificate.scores), number)
    for last, row in _first_decided(unit, tenant_id, read + 1):
        score = score_of(row, certificate.method)
        if score is not None and watch.alarm_at is None:
            watch.see(score, _tie_break(number, row.bundle_hash))
        tools.watches.keep(key, watch, last)
    return watch


def _first_decided(unit: Unit, tenant_id: TenantId, first: int) -> Iterator[tuple[int, ReceivedBundle]]:
    """Each bundle once, with the entry of its first decision."""
    part: list[tuple[int, Digest]] = []
    for number, body in bodies(unit, tenant_id, EntryKind.CLAIMS_DECIDED, ClaimsDecided, first=first):
        if body.position == 1:
            part.append((number, body.bundle_hash))
        if len(part) == _BATCH:
            yield from _rows(unit, tenant_id, part)
            part = []
    yield from _rows(unit, tenant_id, part)


def _rows(unit: Unit, tenant_id: TenantId, part: list[tuple[int, Digest]]) -> Iterator[tuple[int, ReceivedBundle]]:
    found = {row.bundle_hash: row for row in unit.claims.find_bundles(tenant_id, [wanted for _, wanted in part])}
    for number, wanted in part:
        yield number, found[wanted]


def _tie_break(certificate: int, wanted: Digest) -> float:
    """A number of [0, 1) that anybody can compute again."""
    return int.from_bytes(sha256(f"assay.tie\0{certificate}\0{wanted}".encode()).digest()[:8]) / _PLACES


def _alarm(unit: Unit, tools: Tools, tenant_id: TenantId, standing: ShiftStanding, at: Instant) -> TicketId | None:
    found = find_newest(unit, tenant_id, EntryKind.CLAIMS_CERTIFIED, ThresholdsCertified)
    alarm = find_newest(unit, tenant_id, EntryKind.CLAIMS_SHIFTED, ScoresShifted)
    is_told = alarm is not None and alarm[1].certificate == standing.certificate
    if found is None or found[0] != standing.certificate or is_told:
        # Another process was quicker, or there is a new certificate.
        return None
    certificate = found[1]
    before = active_policy(unit, tenant_id)
    restored = _restored(before, certificate, standing.certificate)
    ticket = _ticket(tools, tenant_id, standing, certificate, before, restored, at)
    if restored is not None:
        _release(unit, tools, tenant_id, restored, at)
    body = ScoresShifted(
        certificate=standing.certificate,
        scores=standing.scores,
        wealth=standing.wealth,
        ticket_id=ticket.id,
        restored=UNSET if restored is None else policy_hash(restored),
    )
    unit.record(oversight_entry(tenant_id, body, at=at))
    open_review_in(unit, ticket)
    return ticket.id


def _restored(policy: ClaimsPolicy, certificate: ThresholdsCertified, number: int) -> ClaimsPolicy | None:
    """The policy with the certified thresholds; None where it is as strict already: nothing is loosened here."""
    now = policy.uncertainty.for_method(certificate.method)
    strict = Thresholds(
        explain_above=min(now.explain_above, certificate.explain_above),
        defer_above=min(now.defer_above, certificate.defer_above),
    )
    if strict == now:
        return None
    row = MethodThresholds(method=certificate.method, thresholds=strict)
    others = tuple(one for one in policy.uncertainty.by_method if one.method is not certificate.method)
    order = list(UncertaintyMethod)
    by_method = tuple(sorted((*others, row), key=lambda one: order.index(one.method)))
    uncertainty = replace(policy.uncertainty, by_method=by_method)
    return replace(policy, version=f"{policy.version}-certified-{number}"[:100], uncertainty=uncertainty)


def _release(unit: Unit, tools: Tools, tenant_id: TenantId, policy: ClaimsPolicy, at: Instant) -> None:
    """The node itself may put a stricter policy in force; it signs it like one of a person."""
    document, signer = render_policy(policy), tools.review_signer
    row = ReleasedClaimsPolicy(
        policy_hash=policy_hash(policy),
        policy_id=policy.id,
        version=policy.version,
        document=document,
        key_id=signer.key_id,
        signature=signer.sign(policy_message(document)).hex(),
        released_at=at,
        released_by=CLAIMS_SERVICE,
        sequence_number=0,
    )
    unit.record(policy_entry(tenant_id, row))


def _ticket(
    tools: Tools,
    tenant_id: TenantId,
    standing: ShiftStanding,
    certificate: ThresholdsCertified,
    before: ClaimsPolicy,
    restored: ClaimsPolicy | None,
    at: Instant,
) -> Ticket:
    now = before.uncertainty.for_method(certificate.method)
    done = (
        f"The thresholds in force are as strict as the certified ones and stay: defer above {now.defer_above:g}."
        if restored is None
        else f"Deferring above {now.defer_above:g} was ended; the certified {certificate.defer_above:g} is in force,"
        f" as policy {restored.id} version {restored.version}."
    )
    bet = (
        f"after {standing.scores} bundles a bet against that has multiplied its stake by {standing.wealth:.0f};"
        f" by chance alone it reaches {standing.line:.0f} at most once in a hundred, ever."
    )
    lines = (
        f"The uncertainties of bundles by {certificate.method} are no longer like those of the certified cases.",
        f"certificate: entry {standing.certificate}, {certificate.cases} cases, by {certificate.certified_by}",
        bet,
        done,
        "The promise of the calibration does not cover what is published now.",
        "Gather labels (`assay claims labels`), calibrate again, release the policy and certify it.",
    )
    draft = TicketDraft(
        kind=TicketKind.SHIFT,
        title=f"Uncertainties by {certificate.method} have shifted since they were certified",
        shown="\n".join(lines),
        eligible_roles=(BuiltInRole.OPERATOR, BuiltInRole.ADMIN),
        opened_by=CLAIMS_SERVICE,
        about=f"certificate:{standing.certificate}",
    )
    return draft_ticket(tools, tenant_id, draft, at=at)
