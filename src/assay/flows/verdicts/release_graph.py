"""A reviewed knowledge graph is signed (SKI 3.5): only content that people accepted, and only what is valid.

content hash -> accepted? -> the kept document -> signature -> the signed document, kept too
"""

from msgspec import Struct

from assay.flows.errors import NotFoundError
from assay.flows.errors.verdicts import UnreviewedGraphError
from assay.flows.identity.admit_principal import admit_principal
from assay.flows.tools import Tools
from assay.flows.verdicts.active_graph import stored_document
from assay.flows.verdicts.graph_entry import add_graph, is_accepted
from assay.flows.verdicts.review_graph import open_candidate
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.digest import Digest
from assay.kernel.errors import KeyUseError
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.graph_store import GraphHead, GraphVersion, RecordedReview
from assay.ports.signer import Signer
from assay.verdicts.graph.hash import graph_bytes
from assay.verdicts.graph.open import sign_graph
from assay.verdicts.graph.parse import parse_document


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
