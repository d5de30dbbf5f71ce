"""Separation of duties: an amendment that widens power takes effect when a second administrator has approved it.

amendment + caller -> powers gained -> none: at once | of one's own: refused | another administrator: a ticket
                                     | nobody else to ask: at once, marked `solo`, where it grants power to others
ticket approved -> the same amendment, in the commit that settles it
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from assay.facts.claims import policy_entry
from assay.facts.identity import (
    credential_issued,
    credential_revoked,
    principal_recorded,
    signing_key_added,
    signing_key_row,
)
from assay.facts.permits import GatewayReleased, gateway_entry
from assay.flows.errors.claims import ClaimsFlowError
from assay.flows.errors.identity import IdentityFlowError
from assay.flows.identity.authenticate import confirm
from assay.flows.identity.standing import other_administrators, stands_for
from assay.flows.known import get_principal
from assay.flows.ledger.in_force import require_newest
from assay.flows.review.open_review import draft_ticket, open_review_in
from assay.flows.tools import Tools
from assay.identity.authorise import require_active
from assay.identity.caller import Caller
from assay.identity.credential import ApiKeyRecord, ApiKeyRevocation, PasswordRecord
from assay.identity.power import (
    API_KEY,
    CREDENTIALS,
    PASSWORD,
    POWERLESS_ROLES,
    SIGNING_KEY,
    gained,
    has_power,
    is_administrator,
    role_power,
)
from assay.identity.principal import (
    LOCAL_OPERATOR,
    BuiltInRole,
    Granted,
    Principal,
    PrincipalChange,
    amend_principal,
)
from assay.identity.signing_key import SigningKeyRecord
from assay.kernel.canonical import canonical_json
from assay.kernel.digest import digest_of
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant, render_instant
from assay.kernel.ledger import EntryKind, Receipt
from assay.permits.gateway import ToolRow, find_opened
from assay.ports.claims_store import ReleasedClaimsPolicy
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.desk_store import PendingPower
from assay.ports.permit_store import ReleasedGatewayTable
from assay.review.answer import Answer
from assay.review.errors import ReviewError
from assay.review.kind import TicketKind
from assay.review.settle import Settlement
from assay.review.ticket import Ticket, TicketDraft

DECIDE_WITHIN = timedelta(days=7)
_APPROVE = "approve"
_ADMIN = str(BuiltInRole.ADMIN)


class _Amendment(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="amends"):
    """What is to change; it holds everything that the change needs, so that it can be applied later as it is."""


class AddPerson(_Amendment, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="principal.add"):
    """The first version of a principal, with the salt of its name; a password only for a person."""

    version: Principal
    salt: str
    password: PasswordRecord | None = None

    @property
    def subject(self) -> PrincipalId:
        return self.version.id

    def powers(self, _unit: Unit) -> tuple[str, ...]:
        return (*gained(None, self.version), *((PASSWORD,) if self.password is not None else ()))

    def shown(self) -> dict[str, Any]:
        return {"kind": self.version.kind, "roles": self.version.roles}

    def apply(self, unit: Unit, granted: Granted | UnsetType, at: Instant) -> Principal:
        version = replace(self.version, created_at=at, recorded_at=at, granted=granted)
        if unit.identity.find_principal(version.tenant_id, version.id) is not None:
            raise IdentityFlowError.exists(f"tenant `{version.tenant_id}` already has a principal `{version.id}`")
        record_version(unit, version, bytes.fromhex(self.salt))
        if self.password is not None:
            SetSecret(password=self.password).apply(unit, granted, at)
        return version


class Amend(_Amendment, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="principal.amend"):
    """A change, upon the version that is in force when it is applied."""

    tenant_id: TenantId
    principal_id: PrincipalId
    by: PrincipalId
    change: PrincipalChange
    salt: str

    @property
    def subject(self) -> PrincipalId:
        return self.principal_id

    def powers(self, unit: Unit) -> tuple[str, ...]:
        known = get_principal(unit, self.tenant_id, self.principal_id)
        return gained(known, amend_principal(known, self.change, at=known.recorded_at, by=self.by))

    def shown(self) -> dict[str, Any]:
        fields = msgspec.to_builtins(self.change)
        return {name: value for name, value in fields.items() if name != "name"}

    def apply(self, unit: Unit, granted: Granted | UnsetType, at: Instant) -> Principal:
        known = get_principal(unit, self.tenant_id, self.principal_id)
        following = replace(amend_principal(known, self.change, at=at, by=self.by), granted=granted)
        record_version(unit, following, bytes.fromhex(self.salt))
        return following


class SetSecret(_Amendment, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="principal.password"):
    """A person's password; only its argon2id hash is here."""

    password: PasswordRecord

    @property
    def subject(self) -> PrincipalId:
        return self.password.principal_id

    def powers(self, _unit: Unit) -> tuple[str, ...]:
        return (PASSWORD,)

    def shown(self) -> dict[str, Any]:
        return {}

    def apply(self, unit: Unit, granted: Granted | UnsetType, at: Instant) -> PasswordRecord:
        record = replace(self.password, set_at=at, granted=granted)
        row = unit.identity.sealed(record)
        unit.record(credential_issued(record, row, by=record.set_by), row)
        return record


class IssueSecret(_Amendment, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="key.issue"):
    """An API key, and where it replaces another the end of that one, after an overlap."""

    key: ApiKeyRecord
    by: PrincipalId
    ends: ApiKeyRevocation | None = None
    overlap_seconds: int = 0

    @property
    def subject(self) -> PrincipalId:
        return self.key.principal_id

    def powers(self, _unit: Unit) -> tuple[str, ...]:
        return (API_KEY,)

    def shown(self) -> dict[str, Any]:
        replaces = None if self.ends is None else self.ends.prefix
        return {"prefix": self.key.prefix, "scopes": self.key.scopes, "replaces": replaces}

    def apply(self, unit: Unit, granted: Granted | UnsetType, at: Instant) -> ApiKeyRecord:
        require_active(get_principal(unit, self.key.tenant_id, self.key.principal_id), at)
        record = replace(self.key, issued_at=at, granted=granted)
        if unit.identity.find_api_key(record.prefix) is not None:
            raise IdentityFlowError.credential_exists(f"`{record.prefix}` is the prefix of another key; issue it again")
        row = unit.identity.sealed(record)
        unit.record(credential_issued(record, row, by=self.by), row)
        if self.ends is not None:
            old = unit.identity.find_api_key(self.ends.prefix)
            assert old is not None  # noqa: S101 - credentials are never deleted
            require_live(unit, old, at)
            end = replace(self.ends, revoked_at=Instant(at + timedelta(seconds=self.overlap_seconds)))
            unit.record(credential_revoked(old.principal_id, end, at=at))
        return record


class AddSigner(_Amendment, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="public_key.add"):
    """The public key with which a principal signs its requests."""

    key: SigningKeyRecord

    @property
    def subject(self) -> PrincipalId:
        return self.key.principal_id

    def powers(self, _unit: Unit) -> tuple[str, ...]:
        return (SIGNING_KEY,)

    def shown(self) -> dict[str, Any]:
        return {"key_id": self.key.key_id, "scopes": self.key.scopes}

    def apply(self, unit: Unit, granted: Granted | UnsetType, at: Instant) -> SigningKeyRecord:
        require_active(get_principal(unit, self.key.tenant_id, self.key.principal_id), at)
        if unit.access.find_signing_key(self.key.key_id) is not None:
            raise IdentityFlowError.credential_exists(
                f"`{self.key.key_id}` is registered already; make a key of its own for each"
            )
        record = replace(self.key, added_at=at, granted=granted)
        unit.record(signing_key_added(record), signing_key_row(record))
        return record


class ReleasePolicy(_Amendment, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="gate_policy.release"):
    """A policy of the gates that lets more pass than the one in force; it is nobody's own, so nobody alone releases it.

    The number of its row is the one of the entry that will record it.
    """

    tenant_id: TenantId
    policy: ReleasedClaimsPolicy
    loosened: tuple[str, ...]

    @property
    def subject(self) -> PrincipalId | None:
        return None

    def powers(self, _unit: Unit) -> tuple[str, ...]:
        return tuple(f"gate_policy:{name}" for name in self.loosened)

    def shown(self) -> dict[str, Any]:
        one = self.policy
        named = {"policy_id": one.policy_id, "version": one.version, "policy_hash": one.policy_hash}
        return {**named, "document": one.document}

    def apply(self, unit: Unit, _granted: Granted | UnsetType, at: Instant) -> tuple[ReleasedClaimsPolicy, Receipt]:
        draft = replace(self.policy, released_at=at)
        released = {(one.policy_id, one.version) for one in unit.claims.policies(self.tenant_id)}
        if (draft.policy_id, draft.version) in released:
            raise ClaimsFlowError.policy_released(
                f"version `{draft.version}` of `{draft.policy_id}` was released meanwhile"
            )
        receipt = unit.record(policy_entry(self.tenant_id, draft))
        row = replace(draft, sequence_number=receipt.sequence_number)
        return row, receipt


def find_gateway_table(unit: Unit, tenant_id: TenantId) -> ReleasedGatewayTable | None:
    """The table of the gateway that is in force; a missing row of the newest one is damage, and no older table."""
    row = unit.permits.gateway_table(tenant_id)
    require_newest(unit, tenant_id, EntryKind.GATEWAY_RELEASED, None if row is None else row.sequence_number)
    return row


class ReleaseTools(_Amendment, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="gateway.release"):
    """A table of the gateway that lets tools do more than the one in force; like a policy, it is nobody's own."""

    tenant_id: TenantId
    table: GatewayReleased

    @property
    def subject(self) -> PrincipalId | None:
        return None

    def powers(self, unit: Unit) -> tuple[str, ...]:
        before = find_gateway_table(unit, self.tenant_id)
        known = () if before is None else msgspec.json.decode(before.text, type=tuple[ToolRow, ...])
        opened = find_opened(known, self.table.rows)
        return tuple(f"gateway:{tool}" for tool in opened)

    def shown(self) -> dict[str, Any]:
        rows: list[Any] = msgspec.to_builtins(self.table.rows)
        return {"rows": rows}

    def apply(self, unit: Unit, _granted: Granted | UnsetType, at: Instant) -> Receipt:
        before = find_gateway_table(unit, self.tenant_id)
        body = replace(self.table, version=1 if before is None else before.version + 1)
        return unit.record(gateway_entry(self.tenant_id, body, at=at))


Amendment = AddPerson | Amend | SetSecret | IssueSecret | AddSigner | ReleasePolicy | ReleaseTools


@dataclass(frozen=True, slots=True, kw_only=True)
class Amended:
    """What was recorded, with the grant that it is; or the ticket that it waits for."""

    made: Any
    granted: Granted | UnsetType = UNSET
    waiting: TicketId | None = None


def amend_power(tools: Tools, caller: Caller, amendment: Amendment) -> Amended:
    """Apply an amendment in one commit, or put it to a second administrator where it widens power.

    `identity.own_power` where it is the caller's own; `identity.second_administrator` where nobody could approve it and
    the caller may not act alone.
    """
    return tools.database.write(lambda unit: amend_power_in(unit, tools, caller, amendment))


def amend_power_in(unit: Unit, tools: Tools, caller: Caller, amendment: Amendment) -> Amended:
    asker = confirm(unit, caller).principal
    powers = amendment.powers(unit)
    if caller.is_local:
        # They hold the keys of the node, so no check could hold them back; the mark says that nobody else agreed.
        stated = tuple(sorted({*powers, *_vouched(amendment)}))
        granted = Granted(powers=stated, asked_by=LOCAL_OPERATOR, solo=True) if stated else UNSET
        return Amended(made=amendment.apply(unit, granted, caller.at), granted=granted)
    if amendment.subject == asker.id and not set(powers) - CREDENTIALS:
        inherited = _inherited(unit, asker, powers)
        return Amended(made=amendment.apply(unit, inherited, caller.at), granted=inherited)
    if not powers:
        return Amended(made=amendment.apply(unit, UNSET, caller.at))
    if amendment.subject is not None and amendment.subject in stands_for(unit, asker, asker.roles):
        raise IdentityFlowError.own_power(
            f"`{asker.id}` would widen their own power by `{', '.join(powers)}`: another administrator asks for it,"
            f" or the operator of the node's folder runs `assay principal amend {amendment.subject}`"
        )
    if other_administrators(unit, asker, caller.at):
        return Amended(made=amendment, waiting=_ask(unit, tools, caller, asker, amendment, powers))
    _require_alone(unit, asker, amendment, powers, caller.at)
    granted = Granted(powers=powers, asked_by=asker.id, solo=True)
    return Amended(made=amendment.apply(unit, granted, caller.at), granted=granted)


def _vouched(amendment: Amendment) -> tuple[str, ...]:
    """Roles that the operator of the folder states are theirs to vouch for, also where they were held before."""
    if not isinstance(amendment, Amend) or amendment.change.roles is UNSET:
        return ()
    return tuple(role_power(role) for role in amendment.change.roles if role not in POWERLESS_ROLES)


def _inherited(unit: Unit, person: Principal, powers: Sequence[str]) -> Granted | UnsetType:
    """One's own password is one's own, unless the one before it was made by one administrator alone."""
    before = unit.identity.find_password(person.tenant_id, person.id) if PASSWORD in powers else None
    if before is None or before.granted is UNSET or not before.granted.solo:
        return UNSET
    return UNSET if before.granted.asked_by == LOCAL_OPERATOR else before.granted


def _require_alone(unit: Unit, asker: Principal, amendment: Amendment, powers: Sequence[str], at: Instant) -> None:
    """Raise unless the only administrator may do this alone: grant power to others, and nothing else."""
    if amendment.subject is None:
        raise IdentityFlowError.second_administrator(
            f"expected a second administrator to approve `{', '.join(powers)}`, got none: {_REMEDY}"
        )
    removed = _removed_by(unit, asker, at)
    if removed is not None:
        raise IdentityFlowError.second_administrator(
            f"`{asker.id}` removed the administrator `{removed}`, and does not grant `{', '.join(powers)}` alone:"
            f" {_REMEDY}"
        )
    if set(powers) & CREDENTIALS and not _is_own_making(unit, asker, amendment):
        raise IdentityFlowError.second_administrator(
            f"expected a second administrator to approve `{', '.join(powers)}` for `{amendment.subject}`, whose power"
            f" `{asker.id}` did not grant, got none: {_REMEDY}"
        )


_REMEDY = "the operator of the node's folder does it there, or adds a second administrator with `assay principal add`"


def _is_own_making(unit: Unit, asker: Principal, amendment: Amendment) -> bool:
    """Whether the asker takes over nobody: the principal is new, has no power, or all that it has from the asker."""
    known = None if amendment.subject is None else unit.identity.find_principal(asker.tenant_id, amendment.subject)
    if known is None:
        return True
    history = unit.identity.principal_history(asker.tenant_id, known.id)
    if any(has_power(one) for one in history) and any(one.recorded_by != asker.id for one in history):
        return False
    password = unit.identity.find_password(asker.tenant_id, known.id)
    return password is None or password.set_by == asker.id


def _removed_by(unit: Unit, asker: Principal, at: Instant) -> PrincipalId | None:
    """Another administrator whom the asker removed; then the asker is not the only one there ever was."""
    own = stands_for(unit, asker, asker.roles)
    for history in unit.identity.histories(asker.tenant_id):
        name = history[-1].id
        if name == asker.id or is_administrator(history[-1], at):
            continue
        held = [one for one in history if is_administrator(one, one.recorded_at)]
        after = [one for one in history if held and one.version > held[-1].version]
        if after and after[0].recorded_by in own and not own & stands_for(unit, history[-1], (_ADMIN,)):
            return name
    return None


def _ask(
    unit: Unit, tools: Tools, caller: Caller, asker: Principal, amendment: Amendment, powers: Sequence[str]
) -> TicketId:
    text = msgspec.json.encode(amendment).decode()
    shown = {
        "amends": amendment.__struct_config__.tag,
        "subject": amendment.subject,
        "powers": powers,
        "asked_by": asker.id,
        "details": amendment.shown(),
        "amendment_hash": digest_of(text.encode()),
    }
    draft = TicketDraft(
        kind=TicketKind.POWER_CHANGE,
        title=f"{asker.id} asks for more power for {amendment.subject or 'agents'}: {', '.join(powers)}"[:300],
        shown=canonical_json(shown),
        eligible_roles=(_ADMIN,),
        opened_by=asker.id,
        requested_by=asker.id,
        about=f"power:{amendment.subject or amendment.__struct_config__.tag}"[:500],
        due_at=Instant(caller.at + DECIDE_WITHIN),
    )
    ticket = draft_ticket(tools, caller.tenant_id, draft, at=caller.at)
    open_review_in(unit, ticket)
    unit.desk.add_pending(caller.tenant_id, PendingPower(ticket_id=ticket.id, text=text))
    return ticket.id


class _Shown(Struct, frozen=True, kw_only=True):
    subject: PrincipalId | None
    powers: tuple[str, ...]
    asked_by: PrincipalId
    amendment_hash: str


def refuse_own_power(unit: Unit, ticket: Ticket, answer: Answer, _at: Instant) -> None:
    """The follow-up of each answer: nobody approves more power for themselves, under whatever name."""
    if answer.choice != _APPROVE:
        return
    subject = msgspec.json.decode(ticket.shown, type=_Shown).subject
    person = get_principal(unit, ticket.tenant_id, answer.by)
    if subject in stands_for(unit, person, (_ADMIN,)):
        raise ReviewError.own_request(
            f"`{ticket.id}` is about `{subject}`, not independent of `{answer.by}`: another answers"
        )


def apply_power(unit: Unit, ticket: Ticket, settlement: Settlement, answers: tuple[Answer, ...], at: Instant) -> None:
    """The follow-up of a decision: the amendment as it was asked for, in the commit that records it, or nothing."""
    shown = msgspec.json.decode(ticket.shown, type=_Shown)
    pending = unit.desk.find_pending(ticket.tenant_id, ticket.id)
    unit.desk.drop_pending(ticket.tenant_id, ticket.id)
    if settlement.denied or settlement.choice != _APPROVE:
        return
    if pending is None or digest_of(pending.text.encode()) != shown.amendment_hash:
        raise DamagedRecordError(f"expected the amendment that `{ticket.id}` shows, got another")
    amendment: Amendment = msgspec.json.decode(pending.text, type=Amendment)
    powers = amendment.powers(unit)
    if not set(powers) <= set(shown.powers):
        raise ReviewError.own_request(
            f"`{amendment.subject}` changed since `{ticket.id}` was opened: it would gain `{', '.join(powers)}`,"
            f" the ticket showed `{', '.join(shown.powers)}`; reject it, and ask again"
        )
    approved = tuple(sorted({one.by for one in answers if one.choice == _APPROVE}))
    granted = Granted(
        powers=shown.powers, asked_by=shown.asked_by, approved_by=approved, ticket_id=ticket.id, solo=False
    )
    amendment.apply(unit, granted, at)


def require_live(unit: Unit, record: ApiKeyRecord, at: Instant) -> None:
    """Raise if the key has already ended; nothing more can then be done with it."""
    ends = [fact.revoked_at for fact in unit.identity.ends(record.tenant_id, [record.prefix], ApiKeyRevocation)]
    if record.expires_at is not None:
        ends.append(record.expires_at)
    if ends and min(ends) <= at:
        raise IdentityFlowError.credential_ended(f"API key `{record.prefix}` ended at {render_instant(min(ends))}")


def record_version(unit: Unit, version: Principal, salt: bytes) -> None:
    """Record one version of a principal."""
    unit.record(principal_recorded(version, None if version.name is None else salt))
