"""An observation arrives (Kaori 7): who submits it, where it belongs, and that it was not said before.

credential -> reporter or relay; bytes -> observation -> contract -> truth key -> entry, row and signal
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from msgspec import Struct

from assay.flows.errors.truth import FutureObservationError, NotReporterError, RecordConflictError, TooManyReportsError
from assay.flows.identity.admit_principal import admit_principal
from assay.flows.ledger.verify_clock import verify_clock
from assay.flows.tools import Tools
from assay.flows.truth.released import get_contract, read_contract
from assay.flows.truth.truth_entry import Bronze, add_bronze, draft_bronze, known_fingerprints, stand_under
from assay.flows.truth.vouch_rows import is_same_text
from assay.identity.authorise import has_role
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, render_instant
from assay.ports.database import Unit
from assay.ports.truth_store import RecordKind, TruthRecord
from assay.trust.signal import ObservationSubmitted, SignalKind, TrustSignal
from assay.truth.address import address_observation
from assay.truth.contract import Contract
from assay.truth.evidence import evidence_identities, verify_evidence
from assay.truth.form import verify_payload
from assay.truth.key import render_truth_key
from assay.truth.limits import parse_arriving
from assay.truth.observation import Observation, observation_hash, render_observation

# Of one reporter at one key: one each minute of an hour, and a few.
MOST_REPORTS = 64


class Observed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where an observation is kept; `is_new` is false for one that was recorded before, byte for byte the same."""

    observation_id: str
    observation_hash: str
    truthkey: str
    sequence_number: int
    is_new: bool


class Arriving(Struct, frozen=True, kw_only=True):
    """An observation that was judged by itself, before anyone looked whether it is new."""

    observation: Observation
    observation_hash: str
    truthkey: str
    bronze: Bronze


def observe(
    tools: Tools,
    given: bytes | str | dict[str, Any],
    *,
    credential: str,
    at: Instant,
    contents: Mapping[str, bytes] | None = None,
) -> Observed:
    """Record it once: the same again is answered with what is recorded, another under its id is refused.

    The reporter is whoever is signed in; a principal with the role `relay` submits for others, and the entry says so.
    `contents` are bytes of evidence by URI, where they are at hand: any that is not what was named is refused.
    """
    observation = parse_arriving(given)
    for ref in observation.evidence_refs:
        if contents is not None and ref.uri in contents:
            verify_evidence(ref, contents[ref.uri])

    def look(unit: Unit) -> tuple[Principal, Contract]:
        principal = admit_principal(unit, credential, at=at)
        verify_clock(unit, tools, principal.tenant_id, at)
        released = get_contract(unit, principal.tenant_id, observation.claim_type)
        return principal, read_contract(released.document, released.schema_text, tools.domain_systems)

    principal, contract = tools.database.read(look)
    arriving = prepare_observation(
        principal, contract, observation, at=at, skew=tools.reporter_skew, domain_systems=tools.domain_systems
    )

    def work(unit: Unit) -> Observed:
        admit_principal(unit, credential, at=at)
        return record_observation(unit, principal.tenant_id, arriving)

    return tools.database.write(work)


def prepare_observation(
    principal: Principal,
    contract: Contract,
    observation: Observation,
    *,
    at: Instant,
    skew: timedelta,
    domain_systems: Mapping[str, str] | None = None,
) -> Arriving:
    """Every refusal that needs no look into the store, and everything that costs time.

    `skew` is by how much a reporter's clock may be ahead of ours.
    """
    _require_reporter(principal, observation)
    if observation.reported_at > at + skew:
        raise FutureObservationError(
            f"expected at most {skew} after {render_instant(at)}, got {render_instant(observation.reported_at)}"
        )
    verify_payload(contract, observation.payload)
    truthkey = render_truth_key(address_observation(contract, observation, domain_systems=domain_systems))
    hash_ = observation_hash(observation)
    bronze = draft_bronze(
        principal.tenant_id,
        RecordKind.OBSERVATION,
        render_observation(observation),
        truthkeys=[truthkey],
        record_id=observation.observation_id,
        record_hash=hash_,
        by=observation.reporter_id,
        occurred_at=observation.reported_at,
        submitted_by=principal.id,
        signal=_signal(principal, observation, hash_, truthkey, at),
        at=at,
    )
    return Arriving(observation=observation, observation_hash=hash_, truthkey=truthkey, bronze=bronze)


def _require_reporter(principal: Principal, observation: Observation) -> None:
    if observation.reporter_id != principal.id and not has_role(principal, [BuiltInRole.RELAY]):
        raise NotReporterError(
            f"expected `{principal.id}` as the reporter, or the role `relay`, got `{observation.reporter_id}`"
        )


def _signal(principal: Principal, observation: Observation, hash_: str, truthkey: str, at: Instant) -> TrustSignal:
    return TrustSignal(
        signal_id=f"observation.{hash_}",
        kind=SignalKind.OBSERVATION_SUBMITTED,
        agent_id=observation.reporter_id,
        occurred_at=at,
        object=ObservationSubmitted(
            observation_id=observation.observation_id,
            observation_hash=hash_,
            truthkey=truthkey,
            probe_id=observation.probe_id,
        ),
        submitted_by=None if principal.id == observation.reporter_id else principal.id,
    )


def record_observation(unit: Unit, tenant_id: TenantId, arriving: Arriving) -> Observed:
    """In a unit of work; fingerprints that are known of its evidence now speak under its key too."""
    known = _find_known(unit, tenant_id, arriving)
    if known is not None:
        return _again(known, arriving)
    _require_room(unit, tenant_id, arriving)
    receipt = add_bronze(unit, arriving.bronze)
    _bring_fingerprints(unit, tenant_id, arriving)
    return _observed(arriving, receipt.sequence_number, is_new=True)


def _find_known(unit: Unit, tenant_id: TenantId, arriving: Arriving) -> TruthRecord | None:
    """An id is its reporter's own, so that nobody can take it from them at some other key.

    At one key it names one observation whoever made it: states say by ids alone who was heard.
    """
    kind, said = RecordKind.OBSERVATION, arriving.observation
    own = unit.truth.find_record(tenant_id, kind, said.observation_id, by=said.reporter_id)
    return own or unit.truth.find_record(tenant_id, kind, said.observation_id, truthkey=arriving.truthkey)


def _require_room(unit: Unit, tenant_id: TenantId, arriving: Arriving) -> None:
    """Every observation stays in its key's states for ever, heard or not: nobody may fill them alone."""
    reporter = arriving.observation.reporter_id
    if unit.truth.count_reports(tenant_id, arriving.truthkey, reporter) >= MOST_REPORTS:
        raise TooManyReportsError(
            f"expected at most {MOST_REPORTS} observations by `{reporter}` at `{arriving.truthkey}`, got another"
        )


def _again(known: TruthRecord, arriving: Arriving) -> Observed:
    if known.record_hash != arriving.observation_hash:
        raise RecordConflictError(
            f"`{known.record_id}` was recorded with the hash {known.record_hash}, got {arriving.observation_hash}"
        )
    if not is_same_text(known.text.encode(), arriving.bronze.rows[0].text):
        # The hash leaves out media types and times of capture, which a contract may go by.
        raise RecordConflictError(f"`{known.record_id}` was recorded with another media type or time of capture")
    return _observed(arriving, known.sequence_number, is_new=False)


def _observed(arriving: Arriving, sequence_number: int, *, is_new: bool) -> Observed:
    return Observed(
        observation_id=arriving.observation.observation_id,
        observation_hash=arriving.observation_hash,
        truthkey=arriving.truthkey,
        sequence_number=sequence_number,
        is_new=is_new,
    )


def _bring_fingerprints(unit: Unit, tenant_id: TenantId, arriving: Arriving) -> None:
    """A fingerprint stands under each key whose observations carry its evidence, by the one entry it has."""
    for sha256 in evidence_identities(arriving.observation.evidence_refs):
        for known in known_fingerprints(
            sha256, lambda name: unit.truth.find_record(tenant_id, RecordKind.FINGERPRINT, name)
        ):
            stand_under(unit, tenant_id, known, arriving.truthkey)
