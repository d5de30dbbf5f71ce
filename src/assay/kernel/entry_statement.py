"""An entry as an in-toto statement in a DSSE envelope: the subject is the entry by its hash, the predicate its proof.

bundle -> seal_statement -> DSSE envelope;   envelope + anchors -> check_statement -> Finding

Whoever knows in-toto reads which bytes are meant and who vouches; whoever knows this ledger finds the whole proof
bundle in the predicate, and verifies it as one that came alone.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from assay.kernel.bundle import Bundle, parse_bundle
from assay.kernel.check_bundle import Check, CheckName, Finding, Outcome, UntrustedSignerError, check_bundle
from assay.kernel.checkpoint import parse_checkpoint
from assay.kernel.digest import raw_digest
from assay.kernel.dsse import DsseEnvelope, payload_of, seal_envelope, verify_envelope
from assay.kernel.errors import Error
from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant, parse_instant, render_instant
from assay.kernel.intoto import (
    PAYLOAD_TYPE,
    STATEMENT_TYPE,
    MalformedStatementError,
    ResourceDescriptor,
    Statement,
    digests_of,
    parse_statement,
    render_statement,
)
from assay.kernel.key import KeyPurpose, TrustAnchors, trusted_keys

ENTRY_PREDICATE_TYPE = "urn:assay:ledger-entry:v1"


def seal_statement(bundle: Bundle, key_id: KeyId, sign: Callable[[bytes], bytes], *, at: Instant) -> DsseEnvelope:
    """The statement about the bundle's entry, signed.

    INVARIANT: the caller has verified the bundle, and it holds neither disclosures nor attachments: a statement is
    passed on freely.
    """
    origin = parse_checkpoint(bundle.checkpoint.encode()).checkpoint.origin
    statement = Statement(
        type=STATEMENT_TYPE,
        subject=(_subject(bundle, origin),),
        predicate_type=ENTRY_PREDICATE_TYPE,
        predicate={"signed_at": render_instant(at), "bundle": msgspec.json.decode(msgspec.json.encode(bundle))},
    )
    return seal_envelope(PAYLOAD_TYPE, render_statement(statement), [(key_id, sign)])


def check_statement(
    envelope: DsseEnvelope,
    anchors: TrustAnchors,
    *,
    witnesses: Mapping[str, bytes] | None = None,
    threshold: int = 0,
    origin: str | None = None,
) -> Finding:
    """Every check of the bundle inside, after the two of the statement itself.

    Raises for an envelope that holds no statement about an entry; what is untrue is a finding.
    """
    statement = parse_statement(payload_of(envelope, payload_type=PAYLOAD_TYPE))
    bundle, signed_at = _parse_predicate(statement)
    inner = check_bundle(bundle, anchors, witnesses=witnesses, threshold=threshold, origin=origin)
    own = (
        _attempt(CheckName.STATEMENT, lambda: _matches(statement, bundle)),
        _attempt(CheckName.STATEMENT_SIGNATURE, lambda: _signature(envelope, bundle, anchors, signed_at)),
    )
    failures = [check.code for check in own if check.outcome is Outcome.FAILED]
    return msgspec.structs.replace(
        inner,
        holds=inner.holds and not failures,
        code=failures[0] if failures else inner.code,
        checks=own + inner.checks,
    )


def _subject(bundle: Bundle, origin: str) -> ResourceDescriptor:
    return ResourceDescriptor(
        name=f"{origin}/entries/{bundle.leaf_index + 1}", digest={"sha256": raw_digest(bundle.entry_hash).hex()}
    )


def _parse_predicate(statement: Statement) -> tuple[Bundle, Instant]:
    if statement.predicate_type != ENTRY_PREDICATE_TYPE:
        got = ascii(statement.predicate_type)[1:-1][:80]
        raise MalformedStatementError(f"expected a predicate of type `{ENTRY_PREDICATE_TYPE}`, got `{got}`")
    predicate: dict[str, Any] = statement.predicate
    signed_at = predicate.get("signed_at")
    if set(predicate) != {"bundle", "signed_at"} or not isinstance(signed_at, str):
        raise MalformedStatementError("expected `bundle` and `signed_at` in the predicate, and nothing else")
    return parse_bundle(msgspec.json.encode(predicate["bundle"])), parse_instant(signed_at)


def _matches(statement: Statement, bundle: Bundle) -> str:
    """The subject is the entry that the bundle proves, under the name of the bundle's log."""
    expected = _subject(bundle, parse_checkpoint(bundle.checkpoint.encode(errors="surrogatepass")).checkpoint.origin)
    if digests_of(statement.subject) != {expected.name: expected.digest["sha256"]}:
        raise MalformedStatementError(f"expected the one subject `{expected.name}` with the hash of the entry")
    return f"about `{expected.name}`, {bundle.entry_hash}"


def _signature(envelope: DsseEnvelope, bundle: Bundle, anchors: TrustAnchors, signed_at: Instant) -> str:
    ring = trusted_keys(anchors, bundle.keys, bundle.retirements)
    trusted = [record for records in ring.records.values() for record in records]
    offered = [endorsement.record for endorsement in bundle.keys]
    keys: Iterable[bytes | None] = dict.fromkeys(record.raw_public_key for record in (*trusted, *offered))
    signers = verify_envelope(envelope, [key for key in keys if key is not None])
    known = sorted(signers & set(ring.records))
    if not known:
        raise UntrustedSignerError(f"expected a key that an anchor leads to, got {', '.join(sorted(signers))}")
    ring.get(known[0], signed_at, purpose=KeyPurpose.LEDGER)
    return f"signed by {known[0]} at {render_instant(signed_at)}"


def _attempt(name: CheckName, step: Callable[[], str]) -> Check:
    try:
        return Check(name=name, outcome=Outcome.OK, message=step())
    except Error as error:
        return Check(name=name, outcome=Outcome.FAILED, message=str(error), code=error.code)
