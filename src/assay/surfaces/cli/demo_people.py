"""Who takes part in the demonstration of truth, and the laws they follow."""

from typing import NamedTuple

from assay.flows.tools import Tools
from assay.identity.principal import BuiltInRole, PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId, TenantId
from assay.surfaces.cli.contract_template import render_contract
from assay.surfaces.cli.demo_keys import add_principal, issue_api_key
from assay.surfaces.cli.demo_step import Step, act
from assay.surfaces.cli.shipped import find_shipped

PASSWORD = "only for the demonstration"  # noqa: S105 - it opens a node that is thrown away
VOTERS = ("user:eve", "user:fay")
_BY = PrincipalId("operator:demo")
_CHIEF, _GATEWAY = PrincipalId("user:olga"), PrincipalId("service:gateway")
_REPORTERS = ("user:amira", "user:ben", "user:cem", "user:dina")
_ROLES = {"user:eve": "specialist", "user:fay": "official"}
# The shipped policy, but for newcomers: nobody wants to watch a demonstration for half a year. What that lets happen is
# said when it is registered.
_NEWCOMERS = (("id: flow_v1\n", "id: demo_v1\n"), ("initial_standing: 300\n", "initial_standing: 600\n"))
_WEAKNESSES = ("quick_authority", "sybils_lift_each_other", "collusion_outvotes")


class Credentials(NamedTuple):
    """API keys of the operator and of the service that submits for others, and the names of those who report."""

    chief: str
    gateway: str
    reporters: tuple[str, ...]


def gather_people(tools: Tools, tenant_id: TenantId) -> Credentials:
    """An operator, a relay, and two people who can log in."""
    everyone = (
        (_CHIEF, PrincipalKind.PERSON, (BuiltInRole.OPERATOR, BuiltInRole.ADMIN), None),
        (_GATEWAY, PrincipalKind.SERVICE, (BuiltInRole.RELAY,), None),
        *((PrincipalId(name), PrincipalKind.PERSON, (BuiltInRole.REVIEWER,), PASSWORD) for name in VOTERS),
    )
    for name, kind, roles, password in everyone:
        add_principal(
            tools,
            tenant_id,
            name,
            kind=kind,
            name=name.partition(":")[2],
            granted=PrincipalChange(roles=tuple(roles)),
            password=password,
            by=_BY,
            at=tools.clock.now(),
        )
    chief, gateway = (
        issue_api_key(tools, tenant_id, name, by=_BY, at=tools.clock.now())[0] for name in (_CHIEF, _GATEWAY)
    )
    return Credentials(chief=chief, gateway=gateway, reporters=_REPORTERS)


def release_laws(tools: Tools, people: Credentials) -> Step:
    """The shipped flood contract, a critical one from the template, and the policy that weighs everybody."""
    flood = find_shipped("contracts/flood_v1.yaml")
    schema = (flood.parent / "schemas" / "output" / "flood_v1.json").read_bytes()
    laws = ((flood.read_text(), schema), (render_contract("earth.dam_breach.v1", is_critical=True), None))
    released = [
        act(tools, people.chief, "contract.release", document=text, schema_text=content and content.decode())
        for text, content in laws
    ]
    policy = find_shipped("trust/flow_v1.yaml").read_text()
    for shipped, ours in _NEWCOMERS:
        policy = policy.replace(shipped, ours, 1)
    act(tools, people.chief, "policy.register", document=policy, accept=_WEAKNESSES)
    act(tools, people.chief, "agents.admit", agents=[*_REPORTERS, *VOTERS])
    for name, role in _ROLES.items():
        act(tools, people.chief, "agent.grant", agent_id=name, role=role)
    names = " and ".join(one.claim_type for one in released)
    words = f"{names} released, a trust policy registered, {len(_REPORTERS) + len(VOTERS)} agents admitted"
    return Step("Contracts", words, is_right=len(released) == len(laws))
