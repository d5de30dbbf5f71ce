"""Rules to the store and back: a version with its content, a certification, and the registry they amount to."""

from collections.abc import Iterable, Sequence

from assay.delivery.rule import Certification, RuleId, RuleRegistry, RuleVersion, fold_rules
from assay.flows.delivery.delivery_entry import delivery_entry, news, text_of
from assay.flows.delivery.rule_proofs import RuleProofs
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.delivery_store import CertifiedRule, RecordedRule


def load_rules(unit: Unit, tenant_id: TenantId, rule_ids: Iterable[str]) -> RuleRegistry:
    """The registry as far as these rules go; one that is not known is simply not in it."""
    names = tuple(dict.fromkeys(rule_ids))
    versions = unit.delivery.versions_of(tenant_id, names)
    certified = unit.delivery.certifications_of(tenant_id, {row.rule_id for row in versions})
    return _fold(unit, tenant_id, versions, certified)


def load_registry(unit: Unit, tenant_id: TenantId) -> RuleRegistry:
    """All rules of the tenant, read in two passes however many they are, each with its entry."""
    # Whole before the entries are looked up: a stream and another question would share one cursor.
    versions = tuple(unit.delivery.every_rule(tenant_id))
    return _fold(unit, tenant_id, versions, tuple(unit.delivery.every_certification(tenant_id)))


def _fold(
    unit: Unit, tenant_id: TenantId, versions: Sequence[RecordedRule], certified: Sequence[CertifiedRule]
) -> RuleRegistry:
    proofs = RuleProofs(unit, tenant_id)
    proofs.read_entries([*(row.sequence_number for row in versions), *(row.sequence_number for row in certified)])
    return fold_rules(map(proofs.certification, certified), fold_rules(map(proofs.version, versions)))


def content_of(unit: Unit, tenant_id: TenantId, rule_id: RuleId, version: int) -> str:
    """The text of one version, as it was recorded."""
    return unit.delivery.rule_versions(tenant_id, rule_id)[version - 1].content


def add_version(
    unit: Unit, tenant_id: TenantId, version: RuleVersion, content: str, *, entry: int | None = None
) -> RecordedRule:
    """Under an entry of its own, unless it is a projection of what `entry` already holds."""
    row = RecordedRule(
        rule_id=version.rule_id,
        version=version.version,
        content_hash=version.content_hash,
        text=text_of(version),
        content=content,
        sequence_number=_version_entry(unit, tenant_id, version) if entry is None else entry,
    )
    unit.delivery.add_rule(tenant_id, row)
    return row


def _version_entry(unit: Unit, tenant_id: TenantId, version: RuleVersion) -> int:
    event = news(
        EntryKind.RULE_RECORDED,
        version.rule_id,
        {"rule_id": version.rule_id, "version": version.version, "content_hash": version.content_hash},
    )
    draft = delivery_entry(tenant_id, EntryKind.RULE_RECORDED, version, at=version.recorded_at, events=(event,))
    return unit.record(draft).sequence_number


def add_certification(
    unit: Unit, tenant_id: TenantId, certification: Certification, *, at: Instant, entry: int | None = None
) -> None:
    """Add a certification: its row, and its entry unless `entry` has it already."""
    row = CertifiedRule(
        rule_id=certification.rule_id,
        version=certification.version,
        text=text_of(certification),
        sequence_number=_certification_entry(unit, tenant_id, certification, at) if entry is None else entry,
    )
    unit.delivery.add_certification(tenant_id, row)


def _certification_entry(unit: Unit, tenant_id: TenantId, certification: Certification, at: Instant) -> int:
    rule_id = certification.rule_id
    event = news(
        EntryKind.RULE_CERTIFIED,
        rule_id,
        {"rule_id": rule_id, "version": certification.version, "certified_by": certification.certified_by},
    )
    draft = delivery_entry(tenant_id, EntryKind.RULE_CERTIFIED, certification, at=at, events=(event,))
    return unit.record(draft).sequence_number
