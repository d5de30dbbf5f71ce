"""`assay trust standings`, `show`, `credits`, `snapshot` and `verify`: reading works beside a running server."""

import click
from msgspec.structs import asdict

from assay.flows.errors import NotFoundError
from assay.flows.trust.check_trust import check_trust
from assay.flows.trust.inspect_trust import AgentView, freeze_agents, list_standings
from assay.flows.trust.recall_trust import recall_trust
from assay.flows.trust.tally_credits import tally_credits
from assay.kernel.instant import Instant, render_instant
from assay.surfaces.cli.acting import INSTANT, columns
from assay.surfaces.cli.output import Call, ListCommand, NodeCommand, tenant_option

_HONEST_NO = 1
_claim_type_option = click.option(
    "--claim-type", metavar="ID", help="For this claim type; else for none in particular, without its profiles."
)


@click.command(cls=NodeCommand)
@_claim_type_option
@click.option("--policy", "policy_hash", metavar="HASH", help="Under this registered policy; else the one in force.")
@tenant_option
@click.pass_obj
def standings(call: Call, claim_type: str | None, policy_hash: str | None, tenant: str | None) -> None:
    """Where all known agents stand, under the policy in force."""
    with call.open_node() as (tools, config):
        found = list_standings(
            tools,
            call.tenant_of(config, tenant),
            at=tools.clock.now(),
            claim_type=claim_type,
            policy_hash=policy_hash,
        )
    table = columns([("AGENT", "STANDING", "CLASS", "TRUST", "HEARD", "ROLES"), *map(_row, found.agents)])
    call.answer(found, f"{table}\n{found.signals} signals under {found.policy_id}, at {render_instant(found.at)}")


@click.command(cls=ListCommand, name="credits")
@click.argument("agents", nargs=-1, metavar="[AGENT]...")
@tenant_option
@click.pass_obj
def credits_(call: Call, agents: tuple[str, ...], tenant: str | None) -> None:
    """What agents have earned by the `credits` of contracts, by the last final state of each key.

    Credits are no trust: they move no standing.
    """
    with call.open_node() as (tools, config):
        found = tally_credits(tools, call.tenant_of(config, tenant), agents=agents or None)
    rows = [(one.agent_id, f"{one.credits:f}", str(one.keys)) for one in found.agents]
    call.answer_table(found, ("AGENT", "CREDITS", "KEYS"), rows, nothing="nobody earned credits")


@click.command(cls=NodeCommand)
@click.argument("agent", metavar="AGENT")
@_claim_type_option
@tenant_option
@click.pass_obj
def show(call: Call, agent: str, claim_type: str | None, tenant: str | None) -> None:
    """Where AGENT stands, what it is worth, and who vouches for it."""
    with call.open_node() as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        found = list_standings(tools, tenant_id, at=tools.clock.now(), agents=[agent], claim_type=claim_type)
    if not found.agents:
        raise NotFoundError(f"tenant `{tenant_id}` knows no agent `{agent[:80]}`")
    view = found.agents[0]
    facts = [
        ("agent", view.agent_id),
        ("standing", f"{view.standing:f}, {view.standing_class}"),
        ("trust", f"{view.trust_score:f}, {'heard' if view.is_admissible else 'not heard'}"),
        ("roles", ", ".join(view.roles) or "-"),
        ("endorsed by", ", ".join(view.endorsed_by) or "-"),
        ("policy", f"{found.policy_id} {found.policy_hash}"),
        ("at", render_instant(found.at)),
    ]
    call.answer({**asdict(view), "policy_hash": found.policy_hash, "at": found.at}, columns(list(facts)))


@click.command(cls=NodeCommand)
@click.option("--claim-type", required=True, metavar="ID", help="The claim type to be compiled.")
@click.option("--agent", "agents", multiple=True, metavar="AGENT", help="Only these; else all. May be repeated.")
@click.option("--at", type=INSTANT, metavar="TIME", help="As it was, or will have decayed, then; else now.")
@click.option("--probe", metavar="ID", help="In this probe, with its bonus and its own least trust.")
@tenant_option
@click.pass_obj
def snapshot(
    call: Call, claim_type: str, agents: tuple[str, ...], at: Instant | None, probe: str | None, tenant: str | None
) -> None:
    """The frozen trust that a compilation would take, or would have taken; nothing is recorded."""
    with call.open_node() as (tools, config):
        tenant_id, now = call.tenant_of(config, tenant), tools.clock.now()
        if at is not None and at < now:
            frozen = recall_trust(tools, tenant_id, claim_type=claim_type, at=at, agents=agents or None, probe=probe)
        else:
            frozen = freeze_agents(
                tools, tenant_id, claim_type=claim_type, at=at or now, agents=agents or None, probe=probe
            )
    rows = [
        (agent, one.standing, f"{one.trust_score:f}", "heard" if one.admissible else "not heard")
        for agent, one in sorted(frozen.agent_trusts.items())
    ]
    words = f"{frozen.snapshot_hash} at {render_instant(frozen.snapshot_time)}"
    told = {**asdict(frozen), "agent_trusts": dict(frozen.agent_trusts)}
    call.answer(told, "\n".join([columns([("AGENT", "CLASS", "TRUST", "HEARD"), *rows]), words]))


@click.command(cls=NodeCommand)
@tenant_option
@click.pass_context
def verify(context: click.Context, tenant: str | None) -> None:
    """Whether the log of signals is what the ledger holds, and the short cuts are what the log amounts to.

    Exit 1 if not. The ledger itself is verified by `assay ledger verify`.
    """
    call: Call = context.obj
    with call.open_node() as (tools, config):
        finding = check_trust(tools, call.tenant_of(config, tenant))
    lines = [f"{problem.message} [{problem.code}]" for problem in finding.problems]
    words = f"{finding.signals} signals, {'holds' if finding.holds else 'DOES NOT HOLD'}"
    call.answer({"holds": finding.holds, **asdict(finding)}, "\n".join([*lines, words]))
    if not finding.holds:
        context.exit(_HONEST_NO)


def _row(one: AgentView) -> tuple[str, ...]:
    heard = "heard" if one.is_admissible else "not heard"
    return one.agent_id, f"{one.standing:f}", one.standing_class, f"{one.trust_score:f}", heard, ",".join(one.roles)
