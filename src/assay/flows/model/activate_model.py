"""A model comes into use by a person's answer, and never silently (SKI 2.1.3 leaves no verdict without one).

request -> measured here? -> worse? refused -> MODEL_ACTIVATION ticket with both models' figures -> `model.activated`
A model that was in use before may come back without being better: the ticket says so, and shows what is known.
"""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from assay.facts.model import activated_entry
from assay.flows.errors.model import ModelFlowError, WorseModelError
from assay.flows.identity.authenticate import confirm, require_credential
from assay.flows.model.known_model import active_hash, get_manifest, load_weights, shipped_card
from assay.flows.model.show_model import figure_lines
from assay.flows.request import Option, Request
from assay.flows.review.open_review import draft_ticket, open_review_in
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.model.figures import Figures, check_worse
from assay.model.manifest import Manifest
from assay.ports.database import Unit
from assay.review.answer import Answer
from assay.review.kind import TicketKind
from assay.review.settle import Settlement
from assay.review.ticket import Ticket, TicketDraft

_ABOUT = "model:"
_ACTIVATE = "activate"


class ActivateModel(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    weights: Annotated[str, Meta(description="The hash of the weights."), Option(metavar="HASH")]


class NeededCases(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file on which both models must have been measured; `cases` is how many of it at least."""

    name: str
    cases_hash: Digest
    cases: int = 1


class ComparedFigures(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Both models on one file."""

    name: str
    cases_hash: Digest
    before: Figures | None
    after: Figures | None


class ActivationAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question to people; `is_return` says that these weights were in use before."""

    weight_hash: Digest
    before_hash: Digest
    is_return: bool
    compared: tuple[ComparedFigures, ...]
    ticket: Ticket


def activate_model(tools: Tools, caller: Caller, request: ActivateModel) -> ActivationAsked:
    """Ask for a model to judge from now on; a reviewer who is somebody else answers.

    A model that is worse than the one in use, on the sealed cases or on the pairs held out when it was trained, is
    refused and nobody is asked. After the answer the node's next start judges by it.
    """
    require_credential(caller)
    return ask_activation(tools, caller, parse_digest(request.weights))


def ask_activation(
    tools: Tools, caller: Caller, weight_hash: Digest, *, sealed: NeededCases | None = None
) -> ActivationAsked:
    """Open the ticket. `sealed` are the shipped sealed cases, all of them, unless given."""
    tenant_id, at = caller.tenant_id, caller.at
    # The bytes too: nobody is asked about weights that are not there, or not what they were.
    load_weights(tools, tenant_id, weight_hash)

    def work(unit: Unit) -> ActivationAsked:
        by = confirm(unit, caller).principal
        before = active_hash(unit, tenant_id)
        if before == weight_hash:
            raise ModelFlowError.moved(f"the weights `{weight_hash}` are in use already")
        manifest, is_return = get_manifest(unit, tenant_id, weight_hash), _was_in_use(unit, tenant_id, weight_hash)
        compared = _compare(unit, tenant_id, before, manifest, sealed or _shipped_sealed())
        if not is_return:
            _refuse_worse(compared)
        shown = _render(manifest, get_manifest(unit, tenant_id, before), compared, is_return=is_return)
        ticket = draft_ticket(tools, tenant_id, _draft(weight_hash, before, shown, by), at=at)
        open_review_in(unit, ticket)
        return ActivationAsked(
            weight_hash=weight_hash, before_hash=before, is_return=is_return, compared=compared, ticket=ticket
        )

    return tools.database.write(work)


def put_model_in_use(
    unit: Unit, ticket: Ticket, settlement: Settlement, answers: tuple[Answer, ...], at: Instant
) -> None:
    """The follow-up of a decided MODEL_ACTIVATION ticket; refused if another model came into use meanwhile."""
    if settlement.denied or settlement.choice != _ACTIVATE:
        return
    after, before = (parse_digest(part) for part in (ticket.about or "").removeprefix(_ABOUT).split(" over "))
    active = active_hash(unit, ticket.tenant_id)
    if active != before:
        raise ModelFlowError.moved(f"expected `{before}` in use, as the ticket says, got `{active}`: ask again")
    by = next(one.by for one in answers if one.choice == _ACTIVATE)
    unit.record(activated_entry(ticket.tenant_id, after, before, ticket_id=ticket.id, by=by, at=at))


def _draft(weight_hash: Digest, before: Digest, shown: str, by: Principal) -> TicketDraft:
    return TicketDraft(
        kind=TicketKind.MODEL_ACTIVATION,
        title=f"put the model {weight_hash} into use",
        shown=shown,
        eligible_roles=(BuiltInRole.REVIEWER,),
        opened_by=by.id,
        requested_by=by.id,
        about=f"{_ABOUT}{weight_hash} over {before}",
    )


def _shipped_sealed() -> NeededCases:
    card = shipped_card()
    return NeededCases(name="sealed cases", cases_hash=card.sealed_hash, cases=card.cases)


def _was_in_use(unit: Unit, tenant_id: TenantId, weight_hash: Digest) -> bool:
    activations = unit.models.activations(tenant_id)
    return any(weight_hash in {one.weight_hash, one.before_hash} for one in activations)


def _compare(
    unit: Unit, tenant_id: TenantId, before: Digest, after: Manifest, sealed: NeededCases
) -> tuple[ComparedFigures, ...]:
    needed = [sealed]
    if after.held_out_hash is not None:
        needed.append(NeededCases(name="held-out pairs", cases_hash=after.held_out_hash))
    return tuple(
        ComparedFigures(
            name=one.name,
            cases_hash=one.cases_hash,
            before=_find(unit, tenant_id, before, one),
            after=_find(unit, tenant_id, after.weight_hash, one),
        )
        for one in needed
    )


def _find(unit: Unit, tenant_id: TenantId, weight_hash: Digest, needed: NeededCases) -> Figures | None:
    for one in unit.models.evaluations(tenant_id, weight_hash):
        if one.cases_hash == needed.cases_hash and one.cases >= needed.cases:
            return msgspec.json.decode(one.figures, type=Figures)
    return None


def _refuse_worse(compared: tuple[ComparedFigures, ...]) -> None:
    reasons: list[str] = []
    for one in compared:
        if one.before is None or one.after is None:
            whose = "the model in use" if one.before is None else "it"
            raise ModelFlowError.not_evaluated(
                f"expected {whose} to be measured on all {one.name} `{one.cases_hash}`, got nothing"
            )
        reasons += check_worse(one.before, one.after, one.name)
    if reasons:
        raise WorseModelError(tuple(reasons))


def _render(after: Manifest, before: Manifest, compared: tuple[ComparedFigures, ...], *, is_return: bool) -> str:
    lines = [
        f"model: {after.name} {after.version}, {after.parameters} parameters, {after.size} bytes",
        f"came from: {after.parent_hash or 'outside'}",
        f"in use now: {before.name} {before.version}, {before.weight_hash}",
    ]
    if is_return:
        lines.append("these weights were in use before: a return, for which nothing needs to be better")
    for one in compared:
        lines += [f"{one.name} {one.cases_hash}", *figure_lines(one.before, one.after)]
    return "\n".join([*lines, f"weight hash: {after.weight_hash}"])
