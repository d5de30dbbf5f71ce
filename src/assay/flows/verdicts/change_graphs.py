"""A knowledge graph is put to people, signed, and brought into use (SKI 2.1.2, 3.5).

draft -> valid? -> kept by its hash -> KNOWLEDGE_REVIEW ticket -> accepted -> signed -> loaded: active from its entry on
"""

from collections.abc import Iterator

from msgspec import Struct

from assay.flows.delivery.project_rules import project_graph
from assay.flows.errors import NotFoundError
from assay.flows.errors.verdicts import DraftGraphError, InvalidGraphError, UnreviewedGraphError
from assay.flows.identity.admit_principal import admit_principal
from assay.flows.review.open_review import draft_ticket, open_review_in
from assay.flows.tools import Tools
from assay.flows.verdicts.graphs_in_use import (
    accepted_by,
    activation_entry,
    add_graph,
    find_graph_in_use,
    is_accepted,
    open_document,
    stored_document,
)
from assay.flows.verdicts.verdict_entry import coverage_text, read_coverage
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.digest import Digest, digest_of, parse_digest
from assay.kernel.errors import KeyUseError
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.graph_store import GraphActivation, GraphHead, GraphVersion, RecordedReview, ReviewChoice
from assay.ports.signer import Signer
from assay.review.answer import Answer
from assay.review.kind import TicketKind
from assay.review.ticket import LONGEST_SHOWN, Ticket, TicketDraft
from assay.verdicts.cover import register_mapped
from assay.verdicts.errors import DowngradedGraphError
from assay.verdicts.graph.describe import describe_diff
from assay.verdicts.graph.graph import DRAFT, KnowledgeGraph, Notice
from assay.verdicts.graph.hash import graph_bytes
from assay.verdicts.graph.index import GraphIndex
from assay.verdicts.graph.issue import DISCRETIONARY_ANYWAY, Issue, is_rejected
from assay.verdicts.graph.open import OpenGraph, SovereigntyMode, open_graph, sign_graph, verify_succession
from assay.verdicts.graph.parse import parse_document, parse_graph
from assay.verdicts.graph.validate import Prover, validate_graph

_ABOUT = "graph:"
_MOST_LINES = 2000
_SHOWN_BYTES = LONGEST_SHOWN - 1024


class GraphInReview(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What people are asked about; `issues` are those that do not stand in the way."""

    content_hash: Digest
    document_hash: Digest
    ticket: Ticket
    issues: tuple[Issue, ...]


def review_graph(
    tools: Tools, document: bytes, *, credential: str, at: Instant, prover: Prover | None = None
) -> GraphInReview:
    """Ask people about a graph, as an operator; one with critical or high issues is refused before anyone is asked."""
    principal = _operator(tools, credential, at)
    tenant_id = principal.tenant_id
    opened, issues = open_candidate(tools, document, prover)
    before = tools.database.read(lambda unit: _graph_in_use(unit, tools, tenant_id))
    draft = TicketDraft(
        kind=TicketKind.KNOWLEDGE_REVIEW,
        title=f"review knowledge graph {opened.content_hash}",
        shown=render_graph_review(opened, issues, None if before is None else parse_graph(stored_document(before))),
        eligible_roles=(BuiltInRole.REVIEWER,),
        opened_by=principal.id,
        requested_by=principal.id,
        about=f"{_ABOUT}{opened.content_hash}",
    )
    ticket = draft_ticket(tools, tenant_id, draft, at=at)

    def work(unit: Unit) -> GraphInReview:
        admit_principal(unit, credential, any_of=[BuiltInRole.OPERATOR], at=at)
        head = add_graph(unit, tenant_id, opened, by=principal.id, at=at)
        open_review_in(unit, ticket)
        return GraphInReview(
            content_hash=opened.content_hash, document_hash=head.document_hash, ticket=ticket, issues=issues
        )

    return tools.database.write(work)


def open_candidate(tools: Tools, document: bytes, prover: Prover | None) -> tuple[OpenGraph, tuple[Issue, ...]]:
    """A graph that may still be unsigned, and what the validator says of it; refused if that is too much."""
    opened = open_graph(document, tools.anchors, mode=SovereigntyMode.ADVISORY)
    issues = validate_graph(opened.graph, prover=prover)
    if is_rejected(issues):
        raise InvalidGraphError(issues)
    return opened, issues


def note_graph_review(unit: Unit, ticket: Ticket, answer: Answer, _at: Instant) -> None:
    """The follow-up of each answer to a review of a graph: who said what about which content."""
    content_hash = reviewed_content(ticket.about)
    if content_hash is None:
        return  # another room's knowledge
    # The answer's own entry, which is the last one so far.
    number = unit.ledger.head(ticket.tenant_id).sequence_number
    unit.graphs.add_review(ticket.tenant_id, review_of(content_hash, answer, sequence_number=number))


def reviewed_content(about: str | None) -> Digest | None:
    """The content that a ticket asks about; None where it asks about something else."""
    return parse_digest(about.removeprefix(_ABOUT)) if about is not None and about.startswith(_ABOUT) else None


def review_of(content_hash: Digest, answer: Answer, *, sequence_number: int) -> RecordedReview:
    """What is kept of an answer; `sequence_number` is that of its entry."""
    return RecordedReview(
        content_hash=content_hash,
        ticket_id=answer.ticket_id,
        by=answer.by,
        choice=ReviewChoice(answer.choice),
        note=answer.reason,
        reviewed_at=answer.answered_at,
        sequence_number=sequence_number,
    )


def render_graph_review(opened: OpenGraph, issues: tuple[Issue, ...], before: KnowledgeGraph | None) -> str:
    """What a reviewer reads: what changed against the graph in use, or everything; the last line is the hash."""
    sentences = describe_diff(before or KnowledgeGraph(), opened.graph)
    against = "the graph in use" if before is not None else "nothing: no graph is in use"
    lines = [*_head_lines(opened, issues), f"{len(sentences)} changes against {against}:", *map(_line, sentences)]
    kept, size = list[str](), 0
    for line in lines[:_MOST_LINES]:
        size += len(line.encode("utf-8", "replace")) + 1
        if size > _SHOWN_BYTES:
            break
        kept.append(line)
    if len(kept) < len(lines):
        kept.append(f"and {len(lines) - len(kept)} lines more: read the document itself")
    return "\n".join([*kept, f"content hash: {opened.content_hash}"])


def _head_lines(opened: OpenGraph, issues: tuple[Issue, ...]) -> Iterator[str]:
    graph = opened.graph
    yield f"knowledge graph: {_line(str(graph.metadata.get('name', 'without a name')))}"
    yield f"form: {graph.form}"
    yield f"signed by: {opened.signed_by or 'nobody yet'}"
    yield f"{len(graph.rules)} rules, {len(graph.obligations)} obligations, {len(graph.subjects)} subjects"
    yield f"remarks of the validator: {len(issues)}"
    yield from (f"  {one.severity} {one.code} {one.node or ''}: {_line(one.message)}" for one in issues)


def _line(text: str) -> str:
    return " ".join(text.split())


def _operator(tools: Tools, credential: str, at: Instant) -> Principal:
    return tools.database.read(lambda unit: admit_principal(unit, credential, any_of=[BuiltInRole.OPERATOR], at=at))


def _graph_in_use(unit: Unit, tools: Tools, tenant_id: TenantId) -> GraphVersion | None:
    active = find_graph_in_use(unit, tools, tenant_id)
    return None if active is None else unit.graphs.find_version(tenant_id, active.document_hash)


class ReleasedGraph(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The signed document, in canonical bytes, ready to be loaded here or elsewhere."""

    head: GraphHead
    document: bytes


def release_graph(tools: Tools, content_hash: Digest, signer: Signer, *, credential: str, at: Instant) -> ReleasedGraph:
    """Sign a reviewed graph, as an operator. Whether a node believes that signature is for its own anchors to say."""
    if signer.public_key is None:
        raise KeyUseError("expected an Ed25519 key to sign a graph with, got one that only its holder can verify")

    def look(unit: Unit) -> tuple[Principal, GraphVersion]:
        principal = admit_principal(unit, credential, any_of=[BuiltInRole.OPERATOR], at=at)
        version = unit.graphs.find_content(principal.tenant_id, content_hash)
        if version is None:
            raise NotFoundError(f"tenant `{principal.tenant_id}` has no graph with the content `{content_hash[:80]}`")
        require_accepted(unit.graphs.reviews(principal.tenant_id, content_hash), content_hash)
        return principal, version

    principal, version = tools.database.read(look)
    # Of what is kept under this content a copy may be signed already: people accepted the content, so it can be signed
    # again, by another key or for whoever lost the file; the same key gives the same document.
    content = graph_bytes(parse_document(stored_document(version)))
    signed = sign_graph(content, signer.public_key, signer.sign)
    opened, _ = open_candidate(tools, signed, None)

    def work(unit: Unit) -> ReleasedGraph:
        admit_principal(unit, credential, any_of=[BuiltInRole.OPERATOR], at=at)
        require_accepted(unit.graphs.reviews(principal.tenant_id, content_hash), content_hash)
        head = add_graph(unit, principal.tenant_id, opened, by=principal.id, at=at)
        return ReleasedGraph(head=head, document=signed)

    return tools.database.write(work)


def require_accepted(reviews: tuple[RecordedReview, ...], content_hash: Digest) -> None:
    if not is_accepted(reviews, content_hash):
        raise UnreviewedGraphError(
            f"expected people to have accepted `{content_hash[:80]}`, got {len(reviews)} reviews that do not"
        )


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
