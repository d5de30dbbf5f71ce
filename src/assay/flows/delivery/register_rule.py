"""An operator records a version of a rule: a text, or code that is annotated with its id (PRAMANA 14.3)."""

from collections.abc import Iterable

from assay.delivery.rule import RuleRef, RuleSource, next_version, parse_rule_id, verify_author
from assay.flows.delivery.rule_rows import add_version, load_rules
from assay.flows.identity.admit_principal import admit_principal
from assay.flows.tools import Tools
from assay.kernel.digest import digest_of
from assay.kernel.instant import Instant
from assay.ports.database import Unit

__all__ = ["register_rule"]

# Where the text of such a rule is kept: nowhere else.
_REGISTRY = "registry"


def register_rule(
    tools: Tools,
    rule_id: str,
    content: str,
    *,
    domains: Iterable[str],
    capabilities: Iterable[str] = (),
    source: RuleSource = RuleSource.TEXT,
    credential: str,
    at: Instant,
) -> RuleRef:
    """The version in force from now on; the same again adds nothing. Until it is certified nobody stands by it."""
    name, fields, served = parse_rule_id(rule_id), tuple(domains), tuple(capabilities)

    def work(unit: Unit) -> RuleRef:
        principal = admit_principal(unit, credential, at=at)
        verify_author(principal, at=at)
        tenant_id = principal.tenant_id
        registry = load_rules(unit, tenant_id, [name])
        version = next_version(
            registry,
            name,
            content_hash=digest_of(content.encode()),
            source=source,
            source_ref=_REGISTRY,
            capabilities=served,
            domains=fields,
            at=at,
            by=principal.id,
        )
        if version is None:
            return registry.get(name).ref
        add_version(unit, tenant_id, version, content)
        return RuleRef(rule_id=name, version=version.version)

    return tools.database.write(work)
