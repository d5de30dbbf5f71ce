"""Rules from the store and into it: versions with their content, certifications, the registry of them, and grants."""

from collections.abc import Iterable, Sequence

from assay.delivery.outcome import ReporterGrant
from assay.delivery.rule import Certification, RuleId, RuleRegistry, RuleVersion, fold_rules
from assay.flows.delivery.delivery_entry import delivery_entry, news, read_text, text_of
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.delivery_store import CertifiedRule, RecordedRule


def load_rules(unit: Unit, tenant_id: TenantId, rule_ids: Iterable[str]) -> RuleRegistry:
    """The registry as far as these rules go; one that is not known is simply not in it."""
    versions = unit.delivery.versions_of(tenant_id, rule_ids)
    return registry_of(versions, unit.delivery.certifications_of(tenant_id, {row.rule_id for row in versions}))


def load_registry(unit: Unit, tenant_id: TenantId) -> RuleRegistry:
    """All rules of the tenant, read in two passes however many they are."""
    # Whole before the next is read: two streams would share one cursor.
    versions = tuple(unit.delivery.every_rule(tenant_id))
    return registry_of(versions, tuple(unit.delivery.every_certification(tenant_id)))


def registry_of(versions: Sequence[RecordedRule], certified: Sequence[CertifiedRule]) -> RuleRegistry:
    """The registry that these rows amount to, by rule and version."""
    known = fold_rules(read_text(row.text, RuleVersion) for row in versions)
    return fold_rules((read_text(row.text, Certification) for row in certified), known)


def find_granted(unit: Unit, tenant_id: TenantId, principal_id: PrincipalId) -> ReporterGrant | None:
    """The grant in force."""
    row = unit.delivery.find_grant(tenant_id, principal_id)
    return None if row is None else read_text(row.text, ReporterGrant)


def content_of(unit: Unit, tenant_id: TenantId, rule_id: RuleId, version: int) -> str:
    """The text of one version, as it was recorded."""
    return unit.delivery.rule_versions(tenant_id, rule_id)[version - 1].content


def rule_row(version: RuleVersion, content: str) -> RecordedRule:
    """The whole row of a version, without the number of its entry."""
    return RecordedRule(
        rule_id=version.rule_id,
        version=version.version,
        content_hash=version.content_hash,
        text=text_of(version),
        content=content,
        sequence_number=0,
    )


def add_version(unit: Unit, tenant_id: TenantId, version: RuleVersion, content: str) -> None:
    """Record a version with its text, under an entry of its own."""
    event = news(
        EntryKind.RULE_RECORDED,
        version.rule_id,
        {"rule_id": version.rule_id, "version": version.version, "content_hash": version.content_hash},
    )
    draft = delivery_entry(tenant_id, EntryKind.RULE_RECORDED, version, at=version.recorded_at, events=(event,))
    unit.record(draft, rule_row(version, content))


def add_certification(unit: Unit, tenant_id: TenantId, certification: Certification, *, at: Instant) -> None:
    """Record that a person certified a version."""
    rule_id = certification.rule_id
    event = news(
        EntryKind.RULE_CERTIFIED,
        rule_id,
        {"rule_id": rule_id, "version": certification.version, "certified_by": certification.certified_by},
    )
    unit.record(delivery_entry(tenant_id, EntryKind.RULE_CERTIFIED, certification, at=at, events=(event,)))
