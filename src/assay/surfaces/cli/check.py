"""`assay check`: does a service conform to the protocol, and does it hold when it is attacked."""

from xml.sax.saxutils import quoteattr

import click

from assay.kernel.conformance import Finding, Report
from assay.registry.conform import Profile
from assay.surfaces.cli.acting import plain
from assay.surfaces.cli.output import Call, Command

__all__ = ["check"]

_HONEST_NO = 1


@click.command(cls=Command)
@click.argument("url", metavar="URL")
@click.option(
    "--profile",
    type=click.Choice([one.value for one in Profile]),
    default=Profile.BASIC.value,
    help="How much is asked for; each contains those before it.",
)
@click.option("--registry", metavar="URL", help="Where the service announces itself; forja-full asks for its lease.")
@click.option("--active", is_flag=True, help="Really attack it: escalate, forge a restore, write unproved, spoof.")
@click.option("--junit", is_flag=True, help="Answer as JUnit XML, for build servers.")
@click.pass_context
def check(context: click.Context, url: str, profile: str, registry: str | None, *, active: bool, junit: bool) -> None:
    """Check the service at URL by rule, and exit 1 if a rule does not hold.

    Everything is fetched without credentials. With --active the service is attacked as a stranger could; each attack
    must be refused, and must have changed nothing.
    """
    from assay.adapters.clock import SystemClock
    from assay.adapters.service_client import HttpServiceClient
    from assay.flows.check_service import check_service

    call: Call = context.obj
    with HttpServiceClient() as client:
        at = SystemClock().now()
        report = check_service(client, url, Profile(profile), registry_url=registry, active=active, at=at)
    if junit:
        click.echo(_junit(report))
    else:
        call.answer({"profile": report.profile, "passed": report.passed, "findings": report.findings}, _text(report))
    held = sum(one.passed for one in report.findings)
    call.say(f"{held} of {len(report.findings)} rules hold: {'passed' if report.passed else 'not passed'}")
    if not report.passed:
        context.exit(_HONEST_NO)


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
