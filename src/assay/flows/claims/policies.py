"""The policy of the gates: released by an operator, listed, shown, checked and tried; and who could approve by it.

text -> document + signature -> a key that is trusted, or the node's own -> entry and row; the last one is in force
"""

from typing import Annotated, Any

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from assay.claims.bundle import ClaimBundle
from assay.claims.decide import Outcome
from assay.claims.decide import gate_document as decide_document
from assay.claims.errors import BundleError, ClaimsError
from assay.claims.gate import GateFacts, standard_gates
from assay.claims.guardian import BuiltInGuardian
from assay.claims.parse_bundle import check_bundle
from assay.claims.parse_policy import check_policy as read_policy
from assay.claims.parse_policy import parse_policy
from assay.claims.policy import DEFAULT_POLICY, ApprovalNeed, ClaimsPolicy, policy_hash
from assay.claims.policy_change import find_loosened
from assay.claims.problem import ClaimProblem
from assay.claims.render_policy import render_policy
from assay.claims.signed_policy import SignedPolicy, policy_message, split_signed_policy, verify_signed_policy
from assay.flows.claims.claims_facts import active_policy, count_approvers, find_unheld, needs_of
from assay.flows.claims.claims_rows import find_active_policy, read_claims_policy
from assay.flows.claims.gate_claims import parse_object
from assay.flows.errors import NotFoundError
from assay.flows.errors.claims import ClaimsFlowError
from assay.flows.identity.authenticate import confirm
from assay.flows.identity.duties import ReleasePolicy, amend_power_in
from assay.flows.ledger.own_keys import own_key_ring_in
from assay.flows.request import Done, Option, Page, Paged, Request, cut, read_number
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import Principal
from assay.identity.risk import RiskTier
from assay.kernel.digest import Digest
from assay.kernel.ids import KeyId, PrincipalId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.key import KeyPurpose
from assay.ports.claims_store import ReleasedClaimsPolicy
from assay.ports.database import Unit

_PolicyText = Annotated[
    str,
    Meta(min_length=1, max_length=1024 * 1024, description="The policy as YAML, signed or not."),
    Option(form="text_argument", metavar="FILE|-"),
]


class ReleaseGatePolicy(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    document: _PolicyText


class ListGatePolicies(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every released policy."""


class ShowGatePolicy(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    policy_hash: Annotated[
        str | None, Meta(description="The hash of a released policy; else the one in force."), Option(flag="--hash")
    ] = None


class CheckGatePolicy(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    document: _PolicyText


class TryGates(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    bundle: Annotated[
        dict[str, Any],
        Meta(description="The bundle."),
        Option(form="text_argument", metavar="FILE|-", read=parse_object),
    ]
    policy: Annotated[
        str | None,
        Meta(description="The policy to try, as YAML; else the one in force."),
        Option(form="text", metavar="FILE"),
    ] = None
    ceiling: Annotated[RiskTier, Meta(description="The highest tier that the agent may act at.")] = RiskTier.PRIVILEGE
    tool_arguments: Annotated[
        tuple[str, ...], Meta(description="What tools are to be called with."), Option(flag="--tool-argument")
    ] = ()
    contents: Annotated[
        dict[str, bytes],
        Meta(description="Content of a source."),
        Option(flag="--evidence", form="file_pairs", metavar="SOURCE FILE"),
    ] = field(default_factory=dict)


class ListApprovers(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of the policy in force."""


class PolicyRelease(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The policy in force; `is_new` is false where this very document is in force already.

    `unheld` are the roles that too few people hold for what it asks of them, with how many are missing. With `waiting`,
    it comes into force when the ticket of that id is approved.
    """

    policy: ReleasedClaimsPolicy
    is_new: bool
    unheld: tuple[ApprovalNeed, ...] = ()
    waiting: TicketId | None = None


class GatePolicyView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A policy with every setting that its text leaves out; `released` is None for the specification's own."""

    policy_id: str
    version: str
    policy_hash: Digest
    document: str
    in_force: bool
    released: ReleasedClaimsPolicy | None = None


class PolicyCheck(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a text is a policy of the gates, with everything that is wrong; `unheld` as in a release."""

    holds: bool
    problems: tuple[ClaimProblem, ...]
    policy_hash: Digest | None
    unheld: tuple[ApprovalNeed, ...] = ()


class TriedBundle(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the gates would decide; nothing is recorded."""

    outcome: Outcome
    bundle: ClaimBundle


class Approvers(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many people the policy in force asks for as a role, and how many could answer now."""

    role: str
    people: int
    holders: int

    @property
    def missing(self) -> int:
        return max(self.people - self.holders, 0)


class ApproversView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    policy_hash: Digest
    roles: tuple[Approvers, ...]


def release_gate_policy(tools: Tools, caller: Caller, request: ReleaseGatePolicy) -> Done[PolicyRelease]:
    """Put a policy of the gates into force, in an operator's own session: it changes what every agent may do.

    A signature in the text must be by a trust anchor or by this node; a text without one is signed by the node's review
    key, which vouches for the person whose session this is. An id and version are released once. A policy that
    lets more pass than the one in force waits for an administrator's approval (`waiting`).
    """
    signed = split_signed_policy(request.document)
    policy = read_claims_policy(signed.document)
    if signed.signature is not None:
        tools.database.read(lambda unit: _require_trusted(unit, tools, signed, caller.at))
    key_id, signature = _signature(tools, signed)

    def work(unit: Unit) -> Done[PolicyRelease]:
        person = confirm(unit, caller).principal
        unheld = find_unheld(unit, caller.tenant_id, policy, at=caller.at)
        known = next((one for one in unit.claims.policies(caller.tenant_id) if _is_named(one, policy)), None)
        if known is not None:
            done = _again(known, signed, unit.claims.active_policy(caller.tenant_id))
            return Done(value=replace(done, unheld=unheld), is_new=False)
        draft = _row(policy, signed, key_id, signature, person, caller.at)
        loosened = find_loosened(active_policy(unit, caller.tenant_id), policy)
        wanted = ReleasePolicy(tenant_id=caller.tenant_id, policy=draft, loosened=loosened)
        amended = amend_power_in(unit, tools, caller, wanted)
        if amended.waiting is not None:
            return Done(value=PolicyRelease(policy=draft, is_new=True, unheld=unheld, waiting=amended.waiting))
        row, receipt = amended.made
        return Done(value=PolicyRelease(policy=row, is_new=True, unheld=unheld), receipt=receipt)

    return tools.database.write(work)


def gate_policies(tools: Tools, caller: Caller, request: ListGatePolicies) -> Page[ReleasedClaimsPolicy]:
    """List the released policies of the gates in the order of their release; the last one is in force."""
    after = read_number("gate-policies", request.cursor)

    def look(unit: Unit) -> list[ReleasedClaimsPolicy]:
        find_active_policy(unit, caller.tenant_id)
        return [one for one in unit.claims.policies(caller.tenant_id) if one.sequence_number > after]

    found = tools.database.read(look)
    return cut("gate-policies", found[: request.limit + 1], request.limit, lambda one: one.sequence_number)


def gate_policy(tools: Tools, caller: Caller, request: ShowGatePolicy) -> GatePolicyView:
    """Show a policy of the gates with every setting: the one in force, or another that was released."""

    def look(unit: Unit) -> GatePolicyView:
        active = find_active_policy(unit, caller.tenant_id)
        if request.policy_hash is None:
            return _view(active, in_force=True)
        released = unit.claims.policies(caller.tenant_id)
        found = next((one for one in released if one.policy_hash == request.policy_hash), None)
        if found is None and not (active is None and request.policy_hash == policy_hash(DEFAULT_POLICY)):
            raise NotFoundError(f"`{caller.tenant_id}` has no policy of the gates `{request.policy_hash[:80]}`")
        return _view(found, in_force=found == active)

    return tools.database.read(look)


def check_gate_policy(tools: Tools | None, caller: Caller, request: CheckGatePolicy) -> PolicyCheck:
    """Check a policy of the gates without releasing it: what is wrong with it, and roles nobody holds."""
    found = read_policy(split_signed_policy(request.document).document)
    policy = found.policy
    if policy is None:
        return PolicyCheck(holds=False, problems=found.problems, policy_hash=None)
    unheld: tuple[ApprovalNeed, ...] = ()
    if tools is not None:
        unheld = tools.database.read(lambda unit: find_unheld(unit, caller.tenant_id, policy, at=caller.at))
    return PolicyCheck(
        holds=not found.problems, problems=found.problems, policy_hash=policy_hash(policy), unheld=unheld
    )


def try_gates(tools: Tools | None, caller: Caller, request: TryGates) -> TriedBundle:
    """Show what the gates would decide under the policy in force or another; nothing is recorded.

    Nobody is authenticated as its agent, and nothing was sent before: origin and rate are taken as in order.
    """
    finding = check_bundle(request.bundle)
    if finding.bundle is None:
        raise BundleError(finding.problems)
    policy, guardians = DEFAULT_POLICY, (BuiltInGuardian(),)
    if tools is not None:
        policy = tools.database.read(lambda unit: active_policy(unit, caller.tenant_id))
    if request.policy is not None:
        policy = read_draft(request.policy)
    facts = GateFacts(
        now=caller.at,
        submitter=finding.bundle.origin_agent,
        risk_ceiling=request.ceiling,
        contents=request.contents,
        tool_arguments=request.tool_arguments,
        audit_recorded=True,
    )
    outcome = decide_document(finding, standard_gates(guardians), facts, policy)
    return TriedBundle(outcome=outcome, bundle=finding.bundle)


def approvers(tools: Tools, caller: Caller, request: ListApprovers) -> ApproversView:  # noqa: ARG001 - no fields
    """Show how many people could approve as each role that the policy in force asks for."""

    def look(unit: Unit) -> ApproversView:
        policy = active_policy(unit, caller.tenant_id)
        needs = needs_of(policy)
        found = count_approvers(unit, caller.tenant_id, needs, at=caller.at)
        roles = tuple(Approvers(role=one.role, people=one.people, holders=found[one.role]) for one in needs)
        return ApproversView(policy_hash=policy_hash(policy), roles=roles)

    return tools.database.read(look)


def read_draft(text: str) -> ClaimsPolicy:
    """A policy that is only tried; a signature that is there must be valid, by whichever key."""
    signed = split_signed_policy(text)
    if signed.signature is not None:
        verify_signed_policy(signed)
    return parse_policy(signed.document)


def _view(released: ReleasedClaimsPolicy | None, *, in_force: bool) -> GatePolicyView:
    policy = DEFAULT_POLICY if released is None else read_claims_policy(released.document)
    return GatePolicyView(
        policy_id=policy.id,
        version=policy.version,
        policy_hash=policy_hash(policy),
        document=render_policy(policy),
        in_force=in_force,
        released=released,
    )


def _require_trusted(unit: Unit, tools: Tools, signed: SignedPolicy, at: Instant) -> None:
    verify_signed_policy(signed)
    key_id = signed.key_id or KeyId("")
    if key_id in tools.anchors.all_key_ids:
        return
    if own_key_ring_in(unit, tools.founder).find(key_id, at, purpose=KeyPurpose.REVIEW) is None:
        raise ClaimsError.policy_signature(
            f"expected a signature by a trust anchor or this node's review key, got {key_id}"
        )


def _signature(tools: Tools, signed: SignedPolicy) -> tuple[KeyId, str]:
    if signed.signature is not None and signed.key_id is not None:
        return signed.key_id, signed.signature
    signer = tools.review_signer
    return signer.key_id, signer.sign(policy_message(signed.document)).hex()


def _is_named(one: ReleasedClaimsPolicy, policy: ClaimsPolicy) -> bool:
    return (one.policy_id, one.version) == (policy.id, policy.version)


def _again(known: ReleasedClaimsPolicy, signed: SignedPolicy, active: ReleasedClaimsPolicy | None) -> PolicyRelease:
    if known.document != signed.document:
        raise ClaimsFlowError.policy_released(
            f"version `{known.version}` of `{known.policy_id}` was released as {known.policy_hash},"
            " a change needs another"
        )
    if active != known:
        # A version comes into force once; to return to it, it is released under a version of its own.
        now = "none" if active is None else f"version `{active.version}` of `{active.policy_id}`"
        raise ClaimsFlowError.policy_released(
            f"version `{known.version}` of `{known.policy_id}` was released before, and {now} is in force:"
            " to go back, release it under another version"
        )
    return PolicyRelease(policy=known, is_new=False)


def _row(
    policy: ClaimsPolicy, signed: SignedPolicy, key_id: KeyId, signature: str, person: Principal, at: Instant
) -> ReleasedClaimsPolicy:
    return ReleasedClaimsPolicy(
        policy_hash=policy_hash(policy),
        policy_id=policy.id,
        version=policy.version,
        document=signed.document,
        key_id=key_id,
        signature=signature,
        released_at=at,
        released_by=PrincipalId(person.id),
        sequence_number=0,
    )
