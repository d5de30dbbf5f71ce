"""A knowledge graph is put to people, signed, and brought into use (SKI 2.1.2, 3.5).

draft -> valid? -> kept by its hash -> KNOWLEDGE_REVIEW ticket -> accepted -> signed -> loaded: active from its entry on
"""

import logging
from collections.abc import Callable, Iterator
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from assay.facts.verdicts import GraphActivated, graph_activated
from assay.flows.delivery.project_rules import project_graph
from assay.flows.errors import NotFoundError
from assay.flows.errors.verdicts import InvalidGraphError, VerdictFlowError
from assay.flows.identity.authenticate import confirm, require_credential
from assay.flows.request import Document, FieldsError, Option, Request
from assay.flows.review.open_review import draft_ticket, open_review_in
from assay.flows.tools import Tools
from assay.flows.verdicts.graphs_in_use import (
    accepted_by,
    add_graph,
    find_graph_in_use,
    is_accepted,
    open_document,
    stored_document,
)
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole, Principal
from assay.identity.problem import Problem
from assay.kernel.digest import Digest, digest_of, parse_digest
from assay.kernel.errors import KeyUseError
from assay.kernel.ids import KeyId, TenantId
from assay.kernel.key import key_id_of
from assay.ports.database import Unit
from assay.ports.graph_store import GRAPH_QUESTION, GraphActivation, GraphHead, GraphVersion, RecordedReview
from assay.review.kind import TicketKind
from assay.review.ticket import LONGEST_SHOWN, Ticket, TicketDraft
from assay.verdicts.errors import DowngradedGraphError
from assay.verdicts.graph.describe import describe_diff
from assay.verdicts.graph.graph import DRAFT, KnowledgeGraph, Notice
from assay.verdicts.graph.hash import graph_bytes
from assay.verdicts.graph.issue import DISCRETIONARY_ANYWAY, Issue, is_rejected
from assay.verdicts.graph.open import OpenGraph, SovereigntyMode, open_graph, sign_graph, verify_succession
from assay.verdicts.graph.parse import parse_document, parse_graph
from assay.verdicts.graph.validate import validate_graph

_log = logging.getLogger("assay.ski")
_MOST_LINES = 2000
_SHOWN_BYTES = LONGEST_SHOWN - 1024


class GraphDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The typed form (`nodes`, `edges`) or the flat one (`rules`, `tag_registry`), with its `signature`."""

    metadata: dict[str, Any] | UnsetType = UNSET
    nodes: dict[str, list[dict[str, Any]]] | UnsetType = UNSET
    edges: list[dict[str, Any]] | UnsetType = UNSET
    rules: list[dict[str, Any]] | UnsetType = UNSET
    tag_registry: dict[str, str] | UnsetType = UNSET
    signature: dict[str, str] | UnsetType = UNSET


class ReviewGraph(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    document: Annotated[
        bytes, Meta(description="The knowledge graph."), Document(kind=GraphDocument, metavar="FILE", is_long=True)
    ]


class LoadGraph(ReviewGraph, frozen=True, kw_only=True, forbid_unknown_fields=True):
    downgrade_reason: Annotated[
        str | None,
        Meta(description="Why a lesser or older graph may follow; only a person may choose that."),
        Option(metavar="TEXT"),
    ] = None


class PrepareRelease(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    content_hash: Annotated[str, Meta(description="The content that people accepted."), Option(metavar="HASH")]


class ReleaseGraph(PrepareRelease, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """With a key of one's own also its public key, and its signature over the prepared message."""

    public_key: Annotated[str | None, Meta(description="The Ed25519 key that signed, in hex."), Option(hidden=True)] = (
        None
    )
    signature: Annotated[str | None, Meta(description="Over the prepared message, in hex."), Option(hidden=True)] = None


class PreparedRelease(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sign the bytes of `message` (hex) with an Ed25519 key."""

    message: str


class GraphInReview(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What people are asked about; `issues` are remarks that do not stop the review."""

    content_hash: Digest
    document_hash: Digest
    ticket: Ticket
    issues: tuple[Issue, ...]


class ReleasedGraph(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The signed document, in canonical text, ready to be loaded here or elsewhere."""

    head: GraphHead
    signed_by: KeyId
    document: str


class LoadedGraph(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The graph in use from now on; `issues` and `notices` are remarks, and notices are logged too (SKI 3.5, 11.3)."""

    activation: GraphActivation
    notices: tuple[Notice, ...]
    issues: tuple[Issue, ...]


def review_graph(tools: Tools, caller: Caller, request: ReviewGraph) -> GraphInReview:
    """Put a knowledge graph to the reviewers; one with critical or high issues is refused at once."""
    require_credential(caller)
    tenant_id, by = caller.tenant_id, caller.principal.id
    opened, issues = open_candidate(tools, request.document)
    before = tools.database.read(lambda unit: _version_in_use(unit, tools, tenant_id))
    draft = TicketDraft(
        kind=TicketKind.KNOWLEDGE_REVIEW,
        title=f"review knowledge graph {opened.content_hash}",
        shown=render_graph_review(opened, issues, None if before is None else parse_graph(stored_document(before))),
        eligible_roles=(BuiltInRole.REVIEWER,),
        opened_by=by,
        requested_by=by,
        about=f"{GRAPH_QUESTION}{opened.content_hash}",
    )
    ticket = draft_ticket(tools, tenant_id, draft, at=caller.at)

    def work(unit: Unit) -> GraphInReview:
        confirm(unit, caller)
        head = add_graph(unit, tenant_id, opened, by=by, at=caller.at)
        open_review_in(unit, ticket)
        return GraphInReview(
            content_hash=opened.content_hash, document_hash=head.document_hash, ticket=ticket, issues=issues
        )

    return tools.database.write(work)


def open_candidate(tools: Tools, document: bytes) -> tuple[OpenGraph, tuple[Issue, ...]]:
    """A graph that may still be unsigned, with the validator's remarks; refused if an issue is high or critical."""
    opened = open_graph(document, tools.anchors, mode=SovereigntyMode.ADVISORY)
    issues = validate_graph(opened.graph)
    if is_rejected(issues):
        raise InvalidGraphError(issues)
    return opened, issues


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


def release_graph(tools: Tools, caller: Caller, request: ReleaseGraph) -> ReleasedGraph:
    """Sign a graph whose content people accepted: with the node's review key, or with a key of one's own.

    A node believes the signature if the key is one of its anchors.
    """
    require_credential(caller)
    content_hash = parse_digest(request.content_hash)
    if request.signature is None:
        return sign_accepted(tools, caller, content_hash, tools.review_signer.public_key, tools.review_signer.sign)
    signature, public_key = _hex("signature", request.signature), _hex("public_key", request.public_key or "")
    return sign_accepted(tools, caller, content_hash, public_key, lambda _content: signature)


def prepare_release(tools: Tools, caller: Caller, request: PrepareRelease) -> PreparedRelease:
    """Return the message that an operator with a key of their own signs to release a graph; nothing is recorded."""
    content_hash = parse_digest(request.content_hash)
    content = tools.database.read(lambda unit: _accepted_content(unit, caller.tenant_id, content_hash))
    return PreparedRelease(message=content.hex())


def sign_accepted(
    tools: Tools, caller: Caller, content_hash: Digest, public_key: bytes | None, sign: Callable[[bytes], bytes]
) -> ReleasedGraph:
    """Sign content that people accepted, and keep the signed document."""
    if public_key is None:
        raise KeyUseError("expected an Ed25519 key to sign a graph with, got one that only its holder can verify")
    tenant_id = caller.tenant_id
    # Of what is kept under this content a copy may be signed already: people accepted the content, so it can be signed
    # again, by another key or for somebody who lost the file; the same key gives the same document.
    content = tools.database.read(lambda unit: _accepted_content(unit, tenant_id, content_hash))
    signed = sign_graph(content, public_key, sign)
    opened, _ = open_candidate(tools, signed)

    def work(unit: Unit) -> ReleasedGraph:
        by = confirm(unit, caller).principal
        require_accepted(unit.graphs.reviews(tenant_id, content_hash), content_hash)
        head = add_graph(unit, tenant_id, opened, by=by.id, at=caller.at)
        return ReleasedGraph(head=head, signed_by=key_id_of(public_key), document=signed.decode())

    return tools.database.write(work)


def _accepted_content(unit: Unit, tenant_id: TenantId, content_hash: Digest) -> bytes:
    version = unit.graphs.find_content(tenant_id, content_hash)
    if version is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no graph with the content `{content_hash[:80]}`")
    require_accepted(unit.graphs.reviews(tenant_id, content_hash), content_hash)
    return graph_bytes(parse_document(stored_document(version)))


def _hex(name: str, text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise FieldsError([Problem(field=name, message="expected hex")]) from error


def require_accepted(reviews: tuple[RecordedReview, ...], content_hash: Digest) -> None:
    if not is_accepted(reviews, content_hash):
        raise VerdictFlowError.graph_unreviewed(
            f"expected people to have accepted `{content_hash[:80]}`, got {len(reviews)} reviews that do not"
        )


def load_graph(tools: Tools, caller: Caller, request: LoadGraph) -> LoadedGraph:
    """Put a graph into use (SKI 3.5).

    Strict mode takes only what an anchor of this node signed, what is valid, what people here accepted, and no step
    back. Advisory mode also takes an unsigned graph, with a notice; its verdicts carry the hash of no bytes.
    """
    require_credential(caller)
    document, reason = request.document, request.downgrade_reason
    current = tools.database.read(lambda unit: _version_in_use(unit, tools, caller.tenant_id))
    opened = open_document(tools, document)
    issues = validate_graph(opened.graph)
    is_advisory = tools.ski.mode is SovereigntyMode.ADVISORY
    if is_rejected(issues, tolerated=DISCRETIONARY_ANYWAY if is_advisory else frozenset()):
        raise InvalidGraphError(issues)
    _require_succession(tools, caller.principal, current, opened, reason)
    tools.graphs.get(caller.tenant_id, digest_of(document), lambda: opened)
    activation = tools.database.write(lambda unit: _activate(unit, tools, caller, opened, current, reason))
    for notice in opened.notices:
        _log.warning("%s: %s", notice.code, notice.message)
    return LoadedGraph(activation=activation, notices=opened.notices, issues=issues)


def _version_in_use(unit: Unit, tools: Tools, tenant_id: TenantId) -> GraphVersion | None:
    active = find_graph_in_use(unit, tools, tenant_id)
    return None if active is None else unit.graphs.find_version(tenant_id, active.document_hash)


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
    caller: Caller,
    opened: OpenGraph,
    before: GraphVersion | None,
    downgrade_reason: str | None,
) -> GraphActivation:
    principal, tenant_id, at = confirm(unit, caller).principal, caller.tenant_id, caller.at
    current = _version_in_use(unit, tools, tenant_id)
    if (current and current.document_hash) != (before and before.document_hash):
        raise DowngradedGraphError("expected the graph in use to stay the same meanwhile, got another: load again")
    active = unit.graphs.find_active(tenant_id)
    if active is not None and (active.document_hash, active.mode) == (digest_of(opened.document), tools.ski.mode.value):
        return active
    reviews = unit.graphs.reviews(tenant_id, opened.content_hash)
    _require_finished(opened, reviews)
    if tools.ski.require_review and tools.ski.is_strict:
        require_accepted(reviews, opened.content_hash)
    add_graph(unit, tenant_id, opened, by=principal.id, at=at)
    body = GraphActivated(
        document_hash=digest_of(opened.document),
        content_hash=opened.content_hash,
        kg_version_hash=opened.kg_version_hash,
        mode=tools.ski.mode.value,
        signed_by=opened.signed_by,
        reviewed_by=accepted_by(reviews),
        downgrade_reason=downgrade_reason,
        activated_by=principal.id,
    )
    number = unit.record(graph_activated(tenant_id, body, at=at)).sequence_number
    activation = unit.graphs.find_active(tenant_id)
    assert activation is not None and activation.sequence_number == number  # noqa: S101, PT018 - recorded above
    # In the same commit: no verdict is reached by a rule that the one registry does not know.
    vouched = reviews if is_accepted(reviews, opened.content_hash) else ()
    project_graph(unit, tenant_id, opened.graph, vouched, entry=activation.sequence_number, by=principal.id, at=at)
    return activation


def _require_finished(opened: OpenGraph, reviews: tuple[RecordedReview, ...]) -> None:
    """What a machine wrote from a text is marked as a draft: advisory mode does not let it pass unseen either."""
    if opened.graph.metadata.get(DRAFT) is not True:
        return
    if opened.signed_by is None or not is_accepted(reviews, opened.content_hash):
        raise VerdictFlowError.graph_draft(
            "expected a draft that people accepted and an anchor signed, got one without either"
        )
