"""How knowledge graphs are written down: an entry that names the hashes, and the bytes beside it for ever."""

from msgspec import Raw, Struct

from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest, digest_of
from assay.kernel.ids import KeyId, PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, Event, draft_entry
from assay.ports.database import Unit
from assay.ports.graph_store import GraphActivation, GraphHead, GraphVersion, RecordedReview, ReviewChoice
from assay.verdicts.graph.open import OpenGraph
from assay.verdicts.graph.review import GraphReview, has_review


class GraphAdded(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `graph.added` entry."""

    document_hash: Digest
    content_hash: Digest
    form: str
    signed_by: KeyId | None
    added_by: PrincipalId


class GraphActivated(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `graph.activated` entry: which graph, under which mode, and who had accepted it."""

    document_hash: Digest
    content_hash: Digest
    kg_version_hash: Digest
    mode: str
    signed_by: KeyId | None
    reviewed_by: tuple[PrincipalId, ...]
    downgrade_reason: str | None
    activated_by: PrincipalId


def add_graph(unit: Unit, tenant_id: TenantId, opened: OpenGraph, *, by: PrincipalId, at: Instant) -> GraphHead:
    """Keep a graph byte for byte; one that is kept already stays as it is."""
    document_hash = digest_of(opened.document)
    known = unit.graphs.find_head(tenant_id, document_hash)
    if known is not None:
        return known
    body = GraphAdded(
        document_hash=document_hash,
        content_hash=opened.content_hash,
        form=opened.graph.form.value,
        signed_by=opened.signed_by,
        added_by=by,
    )
    entry = _entry(tenant_id, EntryKind.GRAPH_ADDED, body, at)
    head = GraphHead(
        document_hash=document_hash,
        content_hash=opened.content_hash,
        form=body.form,
        signed_by=opened.signed_by,
        added_at=at,
        by=by,
        sequence_number=unit.ledger.append(entry).sequence_number,
    )
    fields = {name: getattr(head, name) for name in head.__struct_fields__}
    unit.graphs.add_version(tenant_id, GraphVersion(document=opened.document.decode(), **fields))
    return head


def activation_entry(
    unit: Unit,
    tenant_id: TenantId,
    opened: OpenGraph,
    *,
    mode: str,
    reviewed_by: tuple[PrincipalId, ...],
    downgrade_reason: str | None,
    by: PrincipalId,
    at: Instant,
) -> GraphActivation:
    """From this entry on the graph is in use."""
    document_hash = digest_of(opened.document)
    body = GraphActivated(
        document_hash=document_hash,
        content_hash=opened.content_hash,
        kg_version_hash=opened.kg_version_hash,
        mode=mode,
        signed_by=opened.signed_by,
        reviewed_by=reviewed_by,
        downgrade_reason=downgrade_reason,
        activated_by=by,
    )
    activation = GraphActivation(
        sequence_number=unit.ledger.append(_entry(tenant_id, EntryKind.GRAPH_ACTIVATED, body, at)).sequence_number,
        document_hash=document_hash,
        content_hash=opened.content_hash,
        kg_version_hash=opened.kg_version_hash,
        mode=mode,
        reviewers=len(reviewed_by),
        downgrade_reason=downgrade_reason,
        by=by,
        activated_at=at,
    )
    unit.graphs.activate(tenant_id, activation)
    return activation


def accepted_by(reviews: tuple[RecordedReview, ...]) -> tuple[PrincipalId, ...]:
    return tuple(sorted({one.by for one in reviews if one.choice is ReviewChoice.ACCEPT}))


def is_accepted(reviews: tuple[RecordedReview, ...], content_hash: Digest) -> bool:
    """Somebody accepted this content, and nobody's last word on it is a rejection."""
    told = tuple(
        GraphReview(
            content_hash=one.content_hash,
            reviewed_by=one.by,
            reviewed_at=one.reviewed_at,
            approved=one.choice is ReviewChoice.ACCEPT,
            note=one.note or None,
        )
        for one in reviews
    )
    return has_review(told, content_hash)


def _entry(tenant_id: TenantId, kind: EntryKind, body: GraphAdded | GraphActivated, at: Instant) -> Draft:
    news = {"content_hash": body.content_hash, "document_hash": body.document_hash}
    event = Event(type=kind.value, subject=body.content_hash, body=Raw(canonicalize(news)))
    return draft_entry(tenant_id, kind, body, at=at, events=(event,))
