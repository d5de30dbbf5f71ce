"""From a conclusion of category C to a new version of the rule: proposed first, in force only after a second person.

Conclusion -> propose_correction -> Proposal -> its own review -> accept_proposal -> RuleVersion and Certification
A rule of a graph, a contract or code is corrected where it lives, and comes back from there as a new version.
"""

from enum import StrEnum

from msgspec import Struct

from assay.delivery.conclude import Conclusion
from assay.delivery.errors import DeliveryError
from assay.delivery.plugin import Category
from assay.delivery.rule import (
    Certification,
    RuleId,
    RuleRegistry,
    RuleSource,
    RuleVersion,
    certify,
    fold_rules,
    next_version,
)
from assay.identity.principal import Principal
from assay.kernel.digest import Digest, digest_of
from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.instant import Instant


class ProposalRoute(StrEnum):
    """Where a correction goes (the source of the rule decides)."""

    GRAPH_DRAFT = "graph_draft"  # a draft graph version: validate, review, sign, load
    CONTRACT_VERSION = "contract_version"  # a new version of the contract
    CODE_CHANGE = "code_change"  # a change of the annotated code
    REGISTRY_VERSION = "registry_version"  # a new version of the text, here


_ROUTES = {
    RuleSource.GRAPH: ProposalRoute.GRAPH_DRAFT,
    RuleSource.CONTRACT: ProposalRoute.CONTRACT_VERSION,
    RuleSource.CODE: ProposalRoute.CODE_CHANGE,
    RuleSource.TEXT: ProposalRoute.REGISTRY_VERSION,
}


class Proposal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A corrected text for one rule, based on one version; it changes nothing by itself."""

    rule_id: RuleId
    base_version: int
    content: str
    content_hash: Digest
    route: ProposalRoute
    source_ref: str
    item_id: str
    proposed_by: PrincipalId
    proposed_at: Instant


def propose_correction(conclusion: Conclusion, registry: RuleRegistry) -> Proposal | None:
    """The proposal that follows from a wrong rule; categories A and B leave the rule as it is.

    None also where the corrected text is in force already, since a version after the one that failed.
    """
    if conclusion.failure_category is not Category.RULE:
        return None
    if conclusion.corrected_rule is None:
        raise DeliveryError.proposal(f"expected a corrected text of `{conclusion.rule.rule_id}`, got none")
    latest = registry.get(conclusion.rule.rule_id).latest
    content_hash = digest_of(conclusion.corrected_rule.encode())
    if content_hash == latest.content_hash and conclusion.rule.version < latest.version:
        return None
    if content_hash == latest.content_hash:
        raise DeliveryError.proposal(f"the corrected text of `{latest.rule_id}` is the text in force")
    return Proposal(
        rule_id=latest.rule_id,
        base_version=latest.version,
        content=conclusion.corrected_rule,
        content_hash=content_hash,
        route=_ROUTES[latest.source],
        source_ref=latest.source_ref,
        item_id=conclusion.item_id,
        proposed_by=conclusion.concluded_by,
        proposed_at=conclusion.concluded_at,
    )


def accept_proposal(
    proposal: Proposal,
    registry: RuleRegistry,
    *,
    seen: Digest,
    by: Principal,
    at: Instant,
    ticket_id: TicketId,
) -> tuple[RuleVersion, Certification]:
    """The new version of a text rule, certified by the person who accepted it, who is never the one who proposed it."""
    if proposal.route is not ProposalRoute.REGISTRY_VERSION:
        raise DeliveryError.proposal(f"`{proposal.rule_id}` is corrected in its source, by {proposal.route}")
    latest = registry.get(proposal.rule_id).latest
    if latest.version != proposal.base_version:
        raise DeliveryError.proposal(f"expected version {proposal.base_version} in force, got {latest.version}")
    version = next_version(
        registry,
        proposal.rule_id,
        content_hash=proposal.content_hash,
        source=latest.source,
        source_ref=latest.source_ref,
        capabilities=latest.capabilities,
        domains=latest.domains,
        at=at,
        by=proposal.proposed_by,
    )
    if version is None or digest_of(proposal.content.encode()) != proposal.content_hash:
        raise DeliveryError.proposal(f"the proposal for `{proposal.rule_id}` does not hold the text of its hash")
    after = fold_rules([version], registry)
    return version, certify(after, proposal.rule_id, seen=seen, by=by, at=at, ticket_id=ticket_id)
