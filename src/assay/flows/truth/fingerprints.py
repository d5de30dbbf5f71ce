"""A fingerprint or a resemblance of evidence, computed outside, is put beside an observation that carries it."""

from typing import Annotated

from msgspec import Meta, Struct

from assay.facts.truth import record_entry, resemblance_id
from assay.flows.errors import NotFoundError
from assay.flows.errors.truth import TruthFlowError
from assay.flows.identity.authenticate import confirm
from assay.flows.request import Document, Done, Request
from assay.flows.tools import Tools
from assay.flows.truth.truth_entry import MOST_RESEMBLANCES, find_fingerprints, fingerprint_id
from assay.identity.caller import Caller
from assay.kernel.canonical import Profile, canonicalize
from assay.kernel.ids import TenantId
from assay.ports.database import Unit
from assay.ports.truth_store import RecordKind, TruthRecord
from assay.truth.evidence import Fingerprint, Resemblance, evidence_identities, fingerprint_hash, parse_fingerprint
from assay.truth.observation import parse_observation


class Attached(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fingerprint's id and the key under which it now speaks."""

    fingerprint_id: str
    truthkey: str
    sequence_number: int
    is_new: bool


class AttachFingerprint(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    observation_hash: Annotated[str, Meta(description="The hash of an observation that has the evidence.")]
    fingerprint: Annotated[
        bytes,
        Meta(description="The fingerprint or resemblance, as JSON."),
        Document(kind=Fingerprint, metavar="FILE|-"),
    ]


def attach_fingerprint(tools: Tools, caller: Caller, request: AttachFingerprint) -> Done[Attached]:
    """Record a fingerprint of evidence beside an observation; a second of the same method and piece is refused.

    FILE has `{"sha256": …, "method": "phash", "bits": …}` of a piece of evidence: 64 bits in hex that are alike where
    two pictures are. Or `{"sha256": …, "other": …, "method": "embedding", "model": …, "similarity": …}`: how alike a
    model finds two pieces, the lower hash first. Compiling the key applies what the contract says about copies.
    """
    fingerprint, tenant_id, at = parse_fingerprint(request.fingerprint), caller.tenant_id, caller.at
    observed = tools.database.read(lambda unit: _get_observation(unit, tenant_id, request.observation_hash))
    if fingerprint.sha256 not in evidence_identities(parse_observation(observed.text).evidence_refs):
        raise NotFoundError(f"expected an observation with the evidence {fingerprint.sha256}, got one without it")
    hash_ = fingerprint_hash(fingerprint)

    def work(unit: Unit) -> Attached:
        by = confirm(unit, caller).principal.id
        record_id = _name(fingerprint, hash_)
        known = _find_known(unit, tenant_id, fingerprint, hash_, observed.truthkey)
        if known is not None:
            number = known.sequence_number
            return Attached(fingerprint_id=record_id, truthkey=observed.truthkey, sequence_number=number, is_new=False)
        entry = record_entry(
            tenant_id,
            RecordKind.FINGERPRINT,
            canonicalize(fingerprint.canonical(), Profile.KAORI),
            truthkeys=[observed.truthkey],
            record_id=record_id,
            record_hash=hash_,
            submitted_by=by,
            at=at,
        )
        number = unit.record(entry).sequence_number
        return Attached(fingerprint_id=record_id, truthkey=observed.truthkey, sequence_number=number, is_new=True)

    done = tools.database.write(work)
    return Done(value=done, is_new=done.is_new)


def _name(given: Fingerprint | Resemblance, hash_: str) -> str:
    if isinstance(given, Fingerprint):
        return fingerprint_id(given.sha256, given.method)
    return resemblance_id(given.sha256, hash_)


def _find_known(
    unit: Unit, tenant_id: TenantId, given: Fingerprint | Resemblance, hash_: str, truthkey: str
) -> TruthRecord | None:
    """The record of this fingerprint if it counts under the key; another of the same method and piece is refused."""
    recorded = find_fingerprints(unit, tenant_id, [given.sha256])
    if isinstance(given, Fingerprint):
        name = fingerprint_id(given.sha256, given.method)
        alike = [one for one in recorded if one.record_id == name]
    else:
        pairs = [one for one in recorded if one.record_id.startswith(resemblance_id(given.sha256))]
        alike = [one for one in pairs if _is_of_pair(one, given)]
        if not alike and len({one.record_hash for one in pairs}) >= MOST_RESEMBLANCES:
            raise TruthFlowError.record_conflict(
                f"expected at most {MOST_RESEMBLANCES} resemblances of {given.sha256} by the lower hash, got another"
            )
    for known in alike:
        _require_same(known, hash_)
    last = unit.truth.last_record(tenant_id, truthkey) if alike else 0
    return next((one for one in alike if one.truthkey == truthkey or one.sequence_number <= last), None)


def _is_of_pair(known: TruthRecord, given: Resemblance) -> bool:
    held = parse_fingerprint(known.text)
    return isinstance(held, Resemblance) and (held.other, held.model) == (given.other, given.model)


def _get_observation(unit: Unit, tenant_id: TenantId, observation_hash: str) -> TruthRecord:
    found = unit.truth.find_observation(tenant_id, observation_hash)
    if found is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no observation {observation_hash[:80]}")
    return found


def _require_same(known: TruthRecord, hash_: str) -> None:
    if known.record_hash != hash_:
        raise TruthFlowError.record_conflict(
            f"`{known.record_id}` was recorded with the hash {known.record_hash}, got {hash_}"
        )
