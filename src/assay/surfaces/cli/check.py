"""`assay check`: does a service conform to the protocol, and does it hold when it is attacked."""

import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import click

from assay.delivery.conform import Profile as DeliveryProfile
from assay.kernel.conformance import Finding, Report
from assay.registry.conform import Profile
from assay.surfaces.cli.acting import plain
from assay.surfaces.cli.output import Call, Command

if TYPE_CHECKING:
    from assay.flows.delivery.check_delivery import Probe

_HONEST_NO = 1
# A query type and what it is asked; a JSON text never begins so.
_NAMED = re.compile(r"([a-z][a-z0-9._-]*)=(.*)", re.DOTALL)


@click.command(cls=Command)
@click.argument("url", metavar="URL")
@click.option(
    "--profile",
    type=click.Choice([one.value for one in (*Profile, *DeliveryProfile)]),
    default=Profile.BASIC.value,
    help="How much is asked for; each of a protocol contains those before it.",
)
@click.option("--registry", metavar="URL", help="Where the service announces itself; forja-full asks for its lease.")
@click.option("--active", is_flag=True, help="Really attack it: escalate, forge a restore, write unproved, spoof.")
@click.option(
    "--key",
    "agent_key",
    envvar="ASSAY_AGENT_KEY",
    metavar="API_KEY",
    help="forja, with --active: escalate also as this agent, whose tier is below 3.",
)
@click.option("--credential", envvar="ASSAY_CREDENTIAL", metavar="TOKEN", help="pramana: who asks, reports and reads.")
@click.option("--session", envvar="ASSAY_SESSION", metavar="TOKEN", help="pramana: the person who concludes.")
@click.option("--floored", metavar="TOKEN", help="pramana: somebody whose floor is above what can be reached.")
@click.option(
    "--question",
    "questions",
    multiple=True,
    metavar="[TYPE=]JSON",
    help="pramana: what a query type is asked, or with JSON alone every other type; may be repeated.",
)
@click.option("--patience", type=float, default=15.0, metavar="SECONDS", help="pramana: for what comes by itself.")
@click.option("--junit", is_flag=True, help="Answer as JUnit XML, for build servers.")
@click.pass_context
def check(
    context: click.Context,
    url: str,
    profile: str,
    registry: str | None,
    *,
    active: bool,
    junit: bool,
    agent_key: str | None,
    credential: str | None,
    session: str | None,
    floored: str | None,
    questions: tuple[str, ...],
    patience: float,
) -> None:
    """Check the service at URL by rule, and exit 1 if a rule does not hold.

    The forja profiles fetch everything without credentials. With --active the service is attacked as a stranger could;
    each attack must be refused, and must have changed nothing. With --key it is attacked as an agent, too.

    The pramana profiles ask questions as --credential. With --active they also report failures, conclude as --session,
    and attack: that leaves traces, so it is for a node that was set up to be checked.
    """
    call: Call = context.obj
    if profile in tuple(DeliveryProfile):
        probe = _probe(credential, session, floored, questions, patience)
        report = _check_delivery(url, DeliveryProfile(profile), probe, active=active)
    else:
        report = _check_service(url, Profile(profile), registry, agent_key, active=active)
    if junit:
        click.echo(_junit(report))
    else:
        call.answer({"profile": report.profile, "passed": report.passed, "findings": report.findings}, _text(report))
    held = sum(one.passed for one in report.findings)
    call.say(f"{held} of {len(report.findings)} rules hold: {'passed' if report.passed else 'not passed'}")
    if not report.passed:
        context.exit(_HONEST_NO)


def _check_delivery(url: str, profile: DeliveryProfile, probe: "Probe", *, active: bool) -> Report:
    from assay.adapters.clock import SystemClock
    from assay.adapters.service_client import HttpServiceClient
    from assay.flows.delivery.check_delivery import check_delivery

    with HttpServiceClient() as client:
        return check_delivery(client, url, profile, probe=probe, active=active, at=SystemClock().now())


def _check_service(url: str, profile: Profile, registry: str | None, agent_key: str | None, *, active: bool) -> Report:
    from assay.adapters.clock import SystemClock
    from assay.adapters.service_client import HttpServiceClient
    from assay.flows.registry.check_service import check_service

    with HttpServiceClient() as client:
        at = SystemClock().now()
        return check_service(client, url, profile, registry_url=registry, active=active, agent_key=agent_key, at=at)


def _probe(
    credential: str | None, session: str | None, floored: str | None, questions: tuple[str, ...], patience: float
) -> "Probe":
    from assay.flows.delivery.check_delivery import Probe
    from assay.kernel.json_text import parse_json

    named = {match[1]: parse_json(match[2]) for text in questions if (match := _NAMED.fullmatch(text))}
    others = [parse_json(text) for text in questions if not _NAMED.fullmatch(text)]
    if len(others) > 1:
        raise click.UsageError("expected one --question for every other query type, got several")
    question = others[0] if others else None
    return Probe(
        credential=credential,
        session=session,
        floored=floored,
        question=question,
        questions=named,
        seconds=patience,
    )


def _text(report: Report) -> str:
    return "\n".join(_line(one) for one in report.findings)


def _line(finding: Finding) -> str:
    word = "ok" if finding.passed else finding.severity.value
    told = "" if finding.passed else f": {plain(finding.message)}"
    return f"{word:<8}{finding.rule}  {plain(finding.where)}{told}"


def _junit(report: Report) -> str:
    counts = f'tests="{len(report.findings)}" failures="{len(report.failures)}"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuite name={quoteattr(report.profile)} {counts}>"]
    for one in report.findings:
        case = f"  <testcase classname={quoteattr(one.rule)} name={quoteattr(plain(one.where))}"
        if one in report.failures:
            lines.append(f"{case}><failure message={quoteattr(plain(one.message))}/></testcase>")
        else:
            lines.append(f"{case}/>")
    return "\n".join([*lines, "</testsuite>"])
