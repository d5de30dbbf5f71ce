"""A knowledge graph is put to people before it is signed (SKI 2.1.2): what they see, and their word on it.

draft -> valid? -> kept by its hash -> KNOWLEDGE_REVIEW ticket -> answers, each a review of exactly this content
"""

from collections.abc import Iterator

from msgspec import Struct

from assay.flows.errors.verdicts import InvalidGraphError
from assay.flows.identity.admit_principal import admit_principal
from assay.flows.review.open_review import draft_ticket, open_review_in
from assay.flows.tools import Tools
from assay.flows.verdicts.active_graph import find_graph_in_use, stored_document
from assay.flows.verdicts.graph_entry import add_graph
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.graph_store import GraphVersion, RecordedReview, ReviewChoice
from assay.review.answer import Answer
from assay.review.kind import TicketKind
from assay.review.ticket import LONGEST_SHOWN, Ticket, TicketDraft
from assay.verdicts.graph.describe import describe_diff
from assay.verdicts.graph.graph import KnowledgeGraph
from assay.verdicts.graph.issue import Issue, is_rejected
from assay.verdicts.graph.open import OpenGraph, SovereigntyMode, open_graph
from assay.verdicts.graph.parse import parse_graph
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
