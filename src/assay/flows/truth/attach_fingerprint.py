"""A fingerprint or a resemblance of evidence, computed outside, is put beside an observation that carries it."""

from typing import Any

from msgspec import Struct

from assay.flows.errors import NotFoundError
from assay.flows.errors.truth import RecordConflictError
from assay.flows.identity.admit_principal import admit_principal
from assay.flows.tools import Tools
from assay.flows.truth.truth_entry import (
    MOST_RESEMBLANCES,
    add_bronze,
    draft_bronze,
    fingerprint_id,
    resemblance_ids,
    stand_under,
)
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.canonical import Profile, canonicalize
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.truth_store import RecordKind, TruthRecord
from assay.truth.evidence import Fingerprint, Resemblance, evidence_identities, fingerprint_hash, parse_fingerprint
from assay.truth.observation import parse_observation

_MAY = (BuiltInRole.OPERATOR, BuiltInRole.RELAY)


class Attached(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fingerprint's id and the key under which it now speaks."""

    fingerprint_id: str
    truthkey: str
    sequence_number: int
    is_new: bool


def attach_fingerprint(
    tools: Tools, observation_hash: str, given: bytes | str | dict[str, Any], *, credential: str, at: Instant
) -> Attached:
    """Record a fingerprint, as an operator or a relay; for one method and piece of evidence, a second one is refused.

    A piece may resemble several others; of one pair a model says one thing. A pair is put beside the piece of the lower
    hash, and speaks wherever that piece is: at a key that has only the other one, nothing could be alike.
    """
    fingerprint = parse_fingerprint(given)

    def look(unit: Unit) -> tuple[Principal, TruthRecord]:
        principal = admit_principal(unit, credential, any_of=_MAY, at=at)
        return principal, _get_observation(unit, principal.tenant_id, observation_hash)

    principal, observed = tools.database.read(look)
    if fingerprint.sha256 not in evidence_identities(parse_observation(observed.text).evidence_refs):
        raise NotFoundError(f"expected an observation with the evidence {fingerprint.sha256}, got one without it")
    hash_ = fingerprint_hash(fingerprint)

    def work(unit: Unit) -> Attached:
        admit_principal(unit, credential, any_of=_MAY, at=at)
        record_id, known = _find_place(unit, principal.tenant_id, fingerprint)
        if known is not None:
            _require_same(known, hash_)
            stand_under(unit, principal.tenant_id, known, observed.truthkey)
            number = known.sequence_number
            return Attached(fingerprint_id=record_id, truthkey=observed.truthkey, sequence_number=number, is_new=False)
        bronze = draft_bronze(
            principal.tenant_id,
            RecordKind.FINGERPRINT,
            canonicalize(fingerprint.canonical(), Profile.KAORI),
            truthkeys=[observed.truthkey],
            record_id=record_id,
            record_hash=hash_,
            by=principal.id,
            occurred_at=at,
            submitted_by=principal.id,
            at=at,
        )
        number = add_bronze(unit, bronze).sequence_number
        return Attached(fingerprint_id=record_id, truthkey=observed.truthkey, sequence_number=number, is_new=True)

    return tools.database.write(work)


def _find_place(unit: Unit, tenant_id: TenantId, given: Fingerprint | Resemblance) -> tuple[str, TruthRecord | None]:
    """The id, and what is recorded there: a fingerprint has one, a resemblance the first that is its pair's or free."""
    if isinstance(given, Fingerprint):
        record_id = fingerprint_id(given.sha256, given.method)
        return record_id, unit.truth.find_record(tenant_id, RecordKind.FINGERPRINT, record_id)
    for record_id in resemblance_ids(given.sha256):
        known = unit.truth.find_record(tenant_id, RecordKind.FINGERPRINT, record_id)
        if known is None or _is_of_pair(known, given):
            return record_id, known
    raise RecordConflictError(
        f"expected at most {MOST_RESEMBLANCES} resemblances of {given.sha256} by the lower hash, got another"
    )


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
        raise RecordConflictError(f"`{known.record_id}` was recorded with the hash {known.record_hash}, got {hash_}")
