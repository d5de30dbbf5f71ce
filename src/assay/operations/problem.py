"""Problem details (RFC 9457): every refusal in one form, with the stable code of the error behind it.

Error -> status by code, else by blame -> ProblemDetails; every door renders the same one
"""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Protocol

from msgspec import UNSET, Struct, UnsetType

from assay.flows.errors.verdicts import InvalidGraphError, SovereigntyError
from assay.flows.ledger.check_entry import NEXT_STEPS, EntryFaultError
from assay.flows.request import FieldProblem
from assay.identity.problem import Problem
from assay.kernel.errors import Blame, Error
from assay.ports.damage import DamagedRecordError
from assay.verdicts.graph.issue import Issue

PROBLEM_TYPE = "application/problem+json"

_BY_BLAME = {
    Blame.ANSWER: HTTPStatus.CONFLICT,
    Blame.USAGE: HTTPStatus.BAD_REQUEST,
    Blame.INPUT: HTTPStatus.UNPROCESSABLE_ENTITY,
    Blame.OURS: HTTPStatus.INTERNAL_SERVER_ERROR,
}
# Where HTTP has a narrower word than the blame.
STATUS_BY_CODE: Mapping[str, HTTPStatus] = {
    "claims.busy": HTTPStatus.SERVICE_UNAVAILABLE,
    "claims.evidence_size": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "claims.origin": HTTPStatus.FORBIDDEN,
    # The answerer is ours to keep running; whoever asked can only come again.
    "delivery.answerer": HTTPStatus.SERVICE_UNAVAILABLE,
    "delivery.emitter": HTTPStatus.FORBIDDEN,
    "delivery.no_answerer": HTTPStatus.NOT_FOUND,
    "delivery.outcome_conflict": HTTPStatus.CONFLICT,
    "delivery.outcome_source": HTTPStatus.FORBIDDEN,
    "delivery.unknown_rule": HTTPStatus.NOT_FOUND,
    "events.too_many": HTTPStatus.SERVICE_UNAVAILABLE,
    "flow.not_found": HTTPStatus.NOT_FOUND,
    "graph.downgraded": HTTPStatus.CONFLICT,
    "http.body_size": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "http.body_time": HTTPStatus.REQUEST_TIMEOUT,
    "http.content_encoding": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    "http.lines": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "http.media_type": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    "http.method": HTTPStatus.METHOD_NOT_ALLOWED,
    "http.no_route": HTTPStatus.NOT_FOUND,
    "http.logins_busy": HTTPStatus.SERVICE_UNAVAILABLE,
    "http.not_ready": HTTPStatus.SERVICE_UNAVAILABLE,
    "http.undecided": HTTPStatus.SERVICE_UNAVAILABLE,
    "http.precondition": HTTPStatus.PRECONDITION_FAILED,
    "http.too_fast": HTTPStatus.TOO_MANY_REQUESTS,
    "http.csrf": HTTPStatus.FORBIDDEN,
    # Passwords are slow to check, and only so many are at once.
    "identity.busy": HTTPStatus.SERVICE_UNAVAILABLE,
    "identity.disabled": HTTPStatus.FORBIDDEN,
    "identity.id_token": HTTPStatus.UNAUTHORIZED,
    "identity.no_provider": HTTPStatus.NOT_FOUND,
    "identity.not_signed_in": HTTPStatus.UNAUTHORIZED,
    # Another tenant's things do not exist for the caller.
    "identity.other_tenant": HTTPStatus.NOT_FOUND,
    # The provider is the operator's to look after; whoever logs in can only come again.
    "identity.provider": HTTPStatus.SERVICE_UNAVAILABLE,
    "identity.replayed": HTTPStatus.UNAUTHORIZED,
    "identity.role": HTTPStatus.FORBIDDEN,
    "identity.scope": HTTPStatus.FORBIDDEN,
    "identity.session_required": HTTPStatus.FORBIDDEN,
    "identity.signature_form": HTTPStatus.UNAUTHORIZED,
    "identity.stale_request": HTTPStatus.UNAUTHORIZED,
    "identity.throttled": HTTPStatus.TOO_MANY_REQUESTS,
    "json.size": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    # The operator has something to do first; the request itself is as it should be.
    "key.no_truth_key": HTTPStatus.CONFLICT,
    "ledger.clock_behind": HTTPStatus.SERVICE_UNAVAILABLE,
    # Another process has the writer's place by now; whoever asked can only come again.
    "ledger.fenced": HTTPStatus.SERVICE_UNAVAILABLE,
    # The record was changed in the database: nothing of it is given out until the operator has seen to it.
    "ledger.fault": HTTPStatus.SERVICE_UNAVAILABLE,
    # The model is ours to keep running; whoever sent the record can only come again.
    "model.busy": HTTPStatus.SERVICE_UNAVAILABLE,
    "model.timeout": HTTPStatus.SERVICE_UNAVAILABLE,
    "model.unavailable": HTTPStatus.SERVICE_UNAVAILABLE,
    "model.weights": HTTPStatus.SERVICE_UNAVAILABLE,
    "registry.bits_missing": HTTPStatus.FORBIDDEN,
    "registry.tier_closed": HTTPStatus.FORBIDDEN,
    "report.size": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "review.machine": HTTPStatus.FORBIDDEN,
    "review.not_eligible": HTTPStatus.FORBIDDEN,
    "review.own_request": HTTPStatus.FORBIDDEN,
    "serve.standing_by": HTTPStatus.SERVICE_UNAVAILABLE,
    # Nothing is evaluated until the operator has seen to it (SKI 6.1, 6.3).
    "sovereignty.egress": HTTPStatus.SERVICE_UNAVAILABLE,
    "sovereignty.measured_other": HTTPStatus.SERVICE_UNAVAILABLE,
    "sovereignty.tpm": HTTPStatus.SERVICE_UNAVAILABLE,
    "sovereignty.unmet": HTTPStatus.SERVICE_UNAVAILABLE,
    "sovereignty.weights": HTTPStatus.SERVICE_UNAVAILABLE,
    "store.busy": HTTPStatus.SERVICE_UNAVAILABLE,
    "store.cannot_open": HTTPStatus.SERVICE_UNAVAILABLE,
    "store.closed": HTTPStatus.SERVICE_UNAVAILABLE,
    "store.commit_failed": HTTPStatus.SERVICE_UNAVAILABLE,
    "store.connection_lost": HTTPStatus.SERVICE_UNAVAILABLE,
    "store.damaged_file": HTTPStatus.SERVICE_UNAVAILABLE,
    "store.damaged_record": HTTPStatus.SERVICE_UNAVAILABLE,
    "store.file_taken": HTTPStatus.SERVICE_UNAVAILABLE,
    "store.unavailable": HTTPStatus.SERVICE_UNAVAILABLE,
    "store.writer_held": HTTPStatus.SERVICE_UNAVAILABLE,
    "store.writer_stopped": HTTPStatus.SERVICE_UNAVAILABLE,
    "telemetry.conflict": HTTPStatus.CONFLICT,
    "trust.no_policy": HTTPStatus.CONFLICT,
    "trust.signal_refused": HTTPStatus.FORBIDDEN,
    "truth.busy": HTTPStatus.SERVICE_UNAVAILABLE,
    "truth.contract_changed": HTTPStatus.CONFLICT,
    "truth.not_reporter": HTTPStatus.FORBIDDEN,
    "verdict.no_graph": HTTPStatus.CONFLICT,
    "verdict.no_model": HTTPStatus.SERVICE_UNAVAILABLE,
}


class _Told(Protocol):
    """What is wrong with a contract, a record or a graph: each room has a type of its own."""

    @property
    def path(self) -> str: ...

    @property
    def message(self) -> str: ...


class Damage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which entry is damaged, what still holds before it, and what to do; `report` is where the full report is."""

    first_bad_entry: int | None
    last_good_checkpoint: int | None
    next_steps: tuple[str, ...]
    report: str


class ProblemDetails(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """RFC 9457, with `code` (docs/errors.md) and every field that is wrong; `damage` where a record was changed."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    errors: tuple[FieldProblem, ...] = ()
    damage: Damage | UnsetType = UNSET


def status_of(error: Error) -> HTTPStatus:
    return STATUS_BY_CODE.get(error.code, _BY_BLAME[error.blame])


def problem_of(error: Error) -> ProblemDetails:
    """What the caller may know: of our own faults only the code, since a message may name files and hosts."""
    status = status_of(error)
    listed, damage = tuple(_listed_of(error)), _damage_of(error)
    is_ours = status >= HTTPStatus.INTERNAL_SERVER_ERROR and not listed and not isinstance(error, EntryFaultError)
    detail = "the node could not do this; its log says why" if is_ours else str(error)
    if damage is not UNSET and not isinstance(error, EntryFaultError):
        # The words of such an error may quote the row.
        detail = "a stored record differs from the ledger, so it is neither shown nor used"
    return ProblemDetails(
        title=status.phrase,
        status=status,
        detail=detail,
        code=error.code,
        errors=listed,
        damage=damage,
    )


def _damage_of(error: Error) -> Damage | UnsetType:
    if not isinstance(error, DamagedRecordError | EntryFaultError):
        return UNSET
    return Damage(
        first_bad_entry=error.entry,
        last_good_checkpoint=getattr(error, "last_good_checkpoint", None),
        next_steps=NEXT_STEPS,
        report="/api/v1/ledger/verification?full=true",
    )


def _listed_of(error: Error) -> Iterator[FieldProblem]:
    """Everything an error lists: wrong fields, defects of a graph, checks of sovereignty that are not met."""
    for problem in getattr(error, "problems", ()):
        yield _listed(problem)
    if isinstance(error, InvalidGraphError):
        yield from (FieldProblem(field=_place(one), message=f"{one.code}: {one.message}") for one in error.issues)
    if isinstance(error, SovereigntyError):
        yield from (FieldProblem(field=one.check, message=one.detail) for one in error.findings if not one.is_met)


def _listed(problem: FieldProblem | Problem | _Told) -> FieldProblem:
    """Texts that people write have lines; what is wrong with one is found by that."""
    if isinstance(problem, FieldProblem):
        return problem
    if isinstance(problem, Problem):
        return FieldProblem(field=problem.field, message=problem.message)
    line = getattr(problem, "line", None)
    message = ("" if line is None else f"line {line}: ") + problem.message
    pointer = _pointer(problem.path) if line is None else UNSET
    return FieldProblem(field=problem.path, message=message, pointer=pointer)


def _pointer(path: str) -> str:
    """`a.b[0]` as rooms say it, and `/a/b/0` as RFC 6901 does; some say it so already."""
    if path == "" or path.startswith("/"):
        return path
    return "/" + path.replace("[", ".").replace("]", "").replace("~", "~0").replace("/", "~1").replace(".", "/")


def _place(issue: Issue) -> str:
    edge = issue.edge
    return issue.node or ("" if edge is None else f"{edge.source} {edge.type} {edge.target}")
