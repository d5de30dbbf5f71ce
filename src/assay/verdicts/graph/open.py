"""Signing a knowledge graph and opening a signed one (SKI 3.5).

document -> verify against the operator's anchors -> parse -> OpenGraph
The key inside a document says at most which anchor to use; it is never believed by itself.
"""

from collections.abc import Callable
from enum import StrEnum

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from msgspec import Struct

from assay.kernel.canonical import canonicalize
from assay.kernel.digest import EMPTY_DIGEST, Digest, digest_of
from assay.kernel.errors import KeyUseError, SignatureError
from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant, render_instant
from assay.kernel.json_text import JsonValue
from assay.kernel.key import TrustAnchors, key_id_of, parse_public_key
from assay.kernel.signature import load_public_key, parse_signature_hex, verify_ed25519
from assay.verdicts.errors import AlteredGraphError, DowngradedGraphError, GraphError, GraphKeyError, UnsignedGraphError
from assay.verdicts.graph._read import Reader
from assay.verdicts.graph.graph import GraphForm, KnowledgeGraph, Notice, NoticeCode
from assay.verdicts.graph.hash import graph_bytes
from assay.verdicts.graph.parse import parse_document, read_graph

_ALGORITHM = "ed25519"
_FIELDS = frozenset({"algorithm", "public_key_pem", "value_hex"})


class SovereigntyMode(StrEnum):
    """`SKI_SOVEREIGNTY` (SKI 6.1); strict unless the operator says otherwise."""

    STRICT = "strict"
    ADVISORY = "advisory"


class OpenGraph(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A graph that may be used, with the bytes it came from.

    `kg_version_hash` is what envelopes record: the hash of what was signed, or that of no bytes for a graph that
    nobody we trust has signed. `content_hash` names the content in either case. `notices` are to be logged.
    """

    document: bytes
    graph: KnowledgeGraph
    content_hash: Digest
    kg_version_hash: Digest
    signed_by: KeyId | None
    notices: tuple[Notice, ...]


def open_graph(document: bytes, anchors: TrustAnchors, *, mode: SovereigntyMode = SovereigntyMode.STRICT) -> OpenGraph:
    """Verify, then parse. Strict: an unsigned graph, an unknown key, one altered byte are refused.

    Advisory: a graph without a signature, or by a key that is no anchor, opens as unsigned with a notice. An altered
    one, or one under another algorithm, is refused there too: somebody vouched for something else. The caller still
    validates, and compares with the graph in use by `verify_succession`.
    """
    value = parse_document(document)
    content = graph_bytes(value)
    signed_by: KeyId | None = None
    told: tuple[Notice, ...] = ()
    try:
        signed_by = _require_signed(value, content, anchors)
    except (UnsignedGraphError, GraphKeyError) as error:
        if mode is SovereigntyMode.STRICT:
            raise
        told = (Notice(code=NoticeCode.UNSIGNED, message=f"opened without a trusted signature: {error}"),)
    graph, content_hash = read_graph(value), digest_of(content)
    return OpenGraph(
        document=document,
        graph=graph,
        content_hash=content_hash,
        kg_version_hash=content_hash if signed_by else EMPTY_DIGEST,
        signed_by=signed_by,
        notices=told + graph.notices,
    )


def sign_graph(document: bytes, public_key: bytes, sign: Callable[[bytes], bytes]) -> bytes:
    """The signed document, in canonical bytes; what the signer gave is verified before it is returned.

    Refuses a document that is no graph, or that carries a signature already. The caller still validates the graph, and
    checks that people reviewed this hash.
    """
    value = parse_document(document)
    read_graph(value)
    if "signature" in value:
        raise GraphError.signed("expected a graph without a signature, got one with")
    content = graph_bytes(value)
    signature = sign(content)
    verify_ed25519(public_key, content, signature)
    pem = load_public_key(public_key).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    block: JsonValue = {"algorithm": _ALGORITHM, "public_key_pem": pem.decode("ascii"), "value_hex": signature.hex()}
    return canonicalize({**value, "signature": block})


def verify_succession(current: OpenGraph, candidate: OpenGraph) -> None:
    """Raise if the candidate says less than the graph in use: a valid signature on an old graph is still valid.

    Refused are an unsigned graph after a signed one, a flat one after a typed one, and one compiled earlier, or without
    saying when. An operator who means to go back says so elsewhere.
    """
    if current.signed_by is not None and candidate.signed_by is None:
        raise DowngradedGraphError("expected a signed graph after a signed one, got one without a trusted signature")
    if current.graph.form is GraphForm.TYPED and candidate.graph.form is GraphForm.FLAT:
        raise DowngradedGraphError("expected a typed graph after a typed one, got a flat one")
    before, after = _compiled_at(current), _compiled_at(candidate)
    if before is not None and (after is None or after < before):
        got = "nothing" if after is None else render_instant(after)
        raise DowngradedGraphError(f"expected `compiled_at` of {render_instant(before)} or later, got {got}")


def _compiled_at(opened: OpenGraph) -> Instant | None:
    """None also for what is no instant, which only the flat form lets pass."""
    text = opened.graph.metadata.get("compiled_at")
    return Reader().instant({"compiled_at": text}, "compiled_at", ())[0]


def _require_signed(value: dict[str, JsonValue], content: bytes, anchors: TrustAnchors) -> KeyId:
    """The anchor that signed; every way in which none did has a code of its own."""
    block = value.get("signature")
    if block is None:
        raise UnsignedGraphError("expected a signed graph, got one without a signature")
    fields = _signature_fields(block)
    if fields.get("algorithm") != _ALGORITHM:
        raise GraphError.algorithm(f"expected the algorithm `{_ALGORITHM}`, got `{str(fields.get('algorithm'))[:80]}`")
    signature = _signature(fields)
    embedded = fields.get("public_key_pem")
    if embedded is None:
        return _any_anchor(anchors, content, signature)
    return _named_anchor(anchors, _embedded_key(embedded), content, signature)


def _signature_fields(block: JsonValue) -> dict[str, JsonValue]:
    if not isinstance(block, dict) or not _FIELDS.issuperset(block):
        raise GraphError.signature_form(f"expected a signature of {', '.join(sorted(_FIELDS))}, got something else")
    return block


def _signature(fields: dict[str, JsonValue]) -> bytes:
    text = fields.get("value_hex")
    if not isinstance(text, str):
        raise GraphError.signature_form(f"expected `value_hex` as text, got {type(text).__name__}")
    try:
        return parse_signature_hex(text)
    except SignatureError as error:
        raise GraphError.signature_form(f"value_hex: {error}") from error


def _embedded_key(text: JsonValue) -> bytes:
    try:
        return parse_public_key(text if isinstance(text, str) else "")
    except KeyUseError as error:
        raise GraphError.signature_form(f"public_key_pem: {error}") from error


def _named_anchor(anchors: TrustAnchors, raw: bytes, message: bytes, signature: bytes) -> KeyId:
    key_id = key_id_of(raw)
    if key_id not in anchors.all_key_ids:
        raise GraphKeyError(f"expected an anchor of the operator, got key `{key_id}`")
    _verify(raw, message, signature)
    return key_id


def _any_anchor(anchors: TrustAnchors, message: bytes, signature: bytes) -> KeyId:
    """Without an embedded key the anchors are tried in turn; those known by id alone cannot be."""
    for raw in sorted(anchors.public_keys):
        try:
            _verify(raw, message, signature)
        except AlteredGraphError:
            continue
        return key_id_of(raw)
    raise GraphKeyError(f"expected a signature by one of {len(anchors.public_keys)} anchors, got one by none of them")


def _verify(raw: bytes, message: bytes, signature: bytes) -> None:
    try:
        verify_ed25519(raw, message, signature)
    except SignatureError as error:
        raise AlteredGraphError(f"the graph is not the one that was signed: {error}") from error
