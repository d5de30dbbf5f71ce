"""A knowledge graph comes into use (SKI 3.5): signed by an anchor of the operator, valid, reviewed, and no step back.

document -> open (strict or advisory) -> validate -> reviews -> succession -> kept, and active from its entry on
"""

from msgspec import Struct

from assay.flows.delivery.project_rules import project_graph
from assay.flows.errors.verdicts import DraftGraphError, InvalidGraphError
from assay.flows.identity.admit_principal import admit_principal
from assay.flows.tools import Tools
from assay.flows.verdicts.active_graph import find_graph_in_use, open_document, stored_document
from assay.flows.verdicts.graph_entry import accepted_by, activation_entry, add_graph, is_accepted
from assay.flows.verdicts.release_graph import require_accepted
from assay.flows.verdicts.verdict_entry import coverage_text, read_coverage
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.digest import digest_of
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.graph_store import GraphActivation, GraphVersion, RecordedReview
from assay.verdicts.cover import register_mapped
from assay.verdicts.errors import DowngradedGraphError
from assay.verdicts.graph.graph import DRAFT, Notice
from assay.verdicts.graph.index import GraphIndex
from assay.verdicts.graph.issue import DISCRETIONARY_ANYWAY, Issue, is_rejected
from assay.verdicts.graph.open import OpenGraph, SovereigntyMode, open_graph, verify_succession
from assay.verdicts.graph.validate import Prover, validate_graph


class LoadedGraph(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The graph in use from now on. `notices` are to be logged (an unsigned graph is one of them, SKI 3.5)."""

    activation: GraphActivation
    notices: tuple[Notice, ...]
    issues: tuple[Issue, ...]


def load_graph(
    tools: Tools,
    document: bytes,
    *,
    credential: str,
    at: Instant,
    downgrade_reason: str | None = None,
    prover: Prover | None = None,
) -> LoadedGraph:
    """Put a graph into use, as an operator. Strict mode refuses an unsigned, altered or older graph and an unknown key.

    `downgrade_reason` is a person's own choice to go back: only a person gives one, and it is on record.
    """
    principal, current = tools.database.read(lambda unit: _look(unit, tools, credential, at))
    opened = open_document(tools, document)
    issues = validate_graph(opened.graph, prover=prover)
    is_advisory = tools.ski.mode is SovereigntyMode.ADVISORY
    if is_rejected(issues, tolerated=DISCRETIONARY_ANYWAY if is_advisory else frozenset()):
        raise InvalidGraphError(issues)
    _require_succession(tools, principal, current, opened, downgrade_reason)
    ready = tools.graphs.get(principal.tenant_id, digest_of(document), lambda: opened)

    def work(unit: Unit) -> GraphActivation:
        return _activate(unit, tools, opened, ready.index, current, credential, downgrade_reason, at)

    return LoadedGraph(activation=tools.database.write(work), notices=opened.notices, issues=issues)


def _look(unit: Unit, tools: Tools, credential: str, at: Instant) -> tuple[Principal, GraphVersion | None]:
    principal = admit_principal(unit, credential, any_of=[BuiltInRole.OPERATOR], at=at)
    active = find_graph_in_use(unit, tools, principal.tenant_id)
    version = None if active is None else unit.graphs.find_version(principal.tenant_id, active.document_hash)
    return principal, version


def _require_succession(
    tools: Tools, principal: Principal, current: GraphVersion | None, candidate: OpenGraph, reason: str | None
) -> None:
    if current is None:
        return
    # Advisory here: the graph in use may be one that strict mode would not load again, and giving it up is no fault.
    before = open_graph(stored_document(current), tools.anchors, mode=SovereigntyMode.ADVISORY)
    try:
        verify_succession(before, candidate)
    except DowngradedGraphError as error:
        if reason is None or not reason.strip():
            raise
        if not principal.is_person():
            raise DowngradedGraphError(f"expected a person to choose this, got `{principal.id}`: {error}") from error


def _activate(
    unit: Unit,
    tools: Tools,
    opened: OpenGraph,
    index: GraphIndex,
    before: GraphVersion | None,
    credential: str,
    downgrade_reason: str | None,
    at: Instant,
) -> GraphActivation:
    principal, current = _look(unit, tools, credential, at)
    if (current and current.document_hash) != (before and before.document_hash):
        raise DowngradedGraphError("expected the graph in use to stay the same meanwhile, got another: load again")
    active = unit.graphs.find_active(principal.tenant_id)
    if active is not None and (active.document_hash, active.mode) == (digest_of(opened.document), tools.ski.mode.value):
        return active
    reviews = unit.graphs.reviews(principal.tenant_id, opened.content_hash)
    _require_finished(opened, reviews)
    if tools.ski.require_review and tools.ski.is_strict:
        require_accepted(reviews, opened.content_hash)
    add_graph(unit, principal.tenant_id, opened, by=principal.id, at=at)
    _note_mapped(unit, principal.tenant_id, opened, index)
    activation = activation_entry(
        unit,
        principal.tenant_id,
        opened,
        mode=tools.ski.mode.value,
        reviewed_by=accepted_by(reviews),
        downgrade_reason=downgrade_reason,
        by=principal.id,
        at=at,
    )
    # In the same commit: no verdict is reached by a rule that the one registry does not know.
    vouched = reviews if is_accepted(reviews, opened.content_hash) else ()
    project_graph(
        unit, principal.tenant_id, opened.graph, vouched, entry=activation.sequence_number, by=principal.id, at=at
    )
    return activation


def _require_finished(opened: OpenGraph, reviews: tuple[RecordedReview, ...]) -> None:
    """What a machine wrote from a text is marked as a draft: advisory mode does not let it pass unseen either."""
    if opened.graph.metadata.get(DRAFT) is not True:
        return
    if opened.signed_by is None or not is_accepted(reviews, opened.content_hash):
        raise DraftGraphError("expected a draft that people accepted and an anchor signed, got one without either")


def _note_mapped(unit: Unit, tenant_id: TenantId, opened: OpenGraph, index: GraphIndex) -> None:
    """Gaps of the Coverage Register that this graph closes."""
    for covered in unit.verdicts.coverage(tenant_id):
        entry = read_coverage(covered)
        if entry.mapped_by is None and index.find_subject(entry.subject) is not None:
            unit.verdicts.put_coverage(tenant_id, coverage_text(register_mapped(entry, opened.content_hash)))
