"""The people, agents and services of the sample, and what each may do."""

from typing import NamedTuple

from assay.identity.principal import BuiltInRole, PrincipalKind
from assay.identity.risk import RiskTier
from assay.registry.permission import mask_of
from assay.surfaces.sample.stage import Stage

PASSWORD = "sample node, port authority"  # noqa: S105 - it opens a node of invented data


class Person(NamedTuple):
    """A principal of the sample; people log in with the one password of the sample."""

    id: str
    name: str
    kind: PrincipalKind = PrincipalKind.PERSON
    roles: tuple[str, ...] = ()
    risk: RiskTier | None = None
    mask: int | None = None
    tier: int | None = None


_ADMIN, _OPERATOR, _REVIEWER, _AUDITOR = (
    BuiltInRole.ADMIN,
    BuiltInRole.OPERATOR,
    BuiltInRole.REVIEWER,
    BuiltInRole.AUDITOR,
)
_AGENT, _SERVICE = PrincipalKind.AGENT, PrincipalKind.SERVICE
_ASKS = mask_of(["READ", "QUERY"])
_BOOKS = mask_of(["READ", "WRITE", "BOOK"])

EVERYONE = (
    Person("user:ada", "Ada Vermeer", roles=(_ADMIN,)),
    Person("user:bas", "Bas de Wit", roles=(_ADMIN,)),
    Person("user:olga", "Olga Brandt", roles=(_OPERATOR,)),
    Person("user:rita", "Rita Okafor", roles=(_REVIEWER,)),
    Person("user:sam", "Sam Lindqvist", roles=(_REVIEWER,)),
    Person("user:eve", "Eve Marchetti", roles=(_REVIEWER,)),
    Person("user:otto", "Otto Hansen", roles=(BuiltInRole.OPS_TEAM, _OPERATOR)),
    Person("user:nina", "Nina Kovač", roles=(BuiltInRole.SECURITY_TEAM,)),
    Person("user:alan", "Alan Reyes", roles=(_AUDITOR,)),
    Person("service:relay", "Sensor relay", _SERVICE, (BuiltInRole.RELAY,)),
    Person("service:plant", "Plant historian", _SERVICE),
    Person("service:bridge", "Bridge display", _SERVICE, mask=_ASKS, tier=1),
    Person("ai:planner", "Berth planner", _AGENT, risk=RiskTier.READ_ONLY, mask=_BOOKS, tier=2),
    Person("ai:clerk", "Records clerk", _AGENT, risk=RiskTier.MODIFY),
    Person("ai:cleaner", "Archive cleaner", _AGENT, risk=RiskTier.DELETE),
)
LOGINS = tuple((person.id, person.name, person.roles) for person in EVERYONE if person.kind is PrincipalKind.PERSON)


def admit_everyone(stage: Stage) -> str:
    """Add everyone, with a password or an API key; one more key is issued, replaced and revoked."""
    for person in EVERYONE:
        is_person = person.kind is PrincipalKind.PERSON
        granted = {
            "roles": person.roles or None,
            "risk_ceiling": person.risk,
            "trust_mask": person.mask,
            "action_tier": person.tier,
        }
        stage.local(
            "principal.add",
            principal_id=person.id,
            kind=person.kind,
            name=person.name,
            password=PASSWORD if is_person else None,
            **{name: value for name, value in granted.items() if value is not None},
        )
        if is_person:
            stage.passwords[person.id] = PASSWORD
        else:
            stage.keys[person.id] = str(stage.local("key.issue", principal_id=person.id).api_key)
    old = str(stage.local("key.issue", principal_id="service:plant").api_key)
    stage.local("key.revoke", prefix=old.partition(".")[0], reason="found in a log file of the historian")
    return f"{len(EVERYONE)} people, agents and services"
