"""Who is acting on the command line, and the secrets a person types: sessions, passwords, spans of time."""

import re
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from assay.flows.errors.identity import NotSignedInError
from assay.flows.identity.authenticate import authenticate, require_scope
from assay.flows.tools import Tools
from assay.kernel.errors import Error
from assay.kernel.instant import Instant, parse_instant
from assay.operations.shown import text

if TYPE_CHECKING:
    from collections.abc import Callable

# Commands that do not follow from the table yet print with these.
columns, plain = text.columns, text.plain
_SPAN = re.compile(r"([0-9]{1,6})([smhd])", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}

session_option: "Callable[[Callable[..., None]], Callable[..., None]]" = click.option(
    "--session",
    envvar="ASSAY_SESSION",
    metavar="TOKEN",
    help="A session token of `assay principal login`; better in ASSAY_SESSION, where other users cannot see it.",
)

credential_option: "Callable[[Callable[..., None]], Callable[..., None]]" = click.option(
    "--credential",
    envvar=["ASSAY_CREDENTIAL", "ASSAY_SESSION"],
    metavar="TOKEN",
    help="An API key or a session token; better in ASSAY_CREDENTIAL or ASSAY_SESSION, where other users cannot see it.",
)


class _Span(click.ParamType[timedelta]):
    """`15m`, `24h`, `90d`."""

    name = "span"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        match = _SPAN.fullmatch(str(value))
        if match is None:
            self.fail(f"expected a number and s, m, h or d, such as 24h, got `{value}`", param, ctx)
        return timedelta(**{_UNITS[match[2]]: int(match[1])})


SPAN = _Span()


class _Instant(click.ParamType[Instant]):
    """`2026-01-07T12:00:00Z`; a time without an offset is refused."""

    name = "instant"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Instant:
        try:
            return parse_instant(str(value))
        except Error as error:
            self.fail(str(error), param, ctx)


INSTANT = _Instant()


class _Moment(click.ParamType[Instant]):
    """`2026-01-07T12:00:00Z`, or `2026-01-07` for the beginning of that day in UTC."""

    name = "moment"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Instant:
        from assay.flows.ledger.report import parse_day

        try:
            return parse_day(str(value))
        except Error as error:
            self.fail(str(error), param, ctx)


MOMENT = _Moment()


def read_credential(given: str | None) -> str:
    """The API key or session token given, or typed unseen at a terminal."""
    if given is not None:
        return given
    if not _is_terminal():
        raise NotSignedInError("expected an API key or session token in ASSAY_CREDENTIAL or --credential, got none")
    return str(click.prompt("API key or session token", hide_input=True, err=True))


def within(tools: Tools, credential: str, scope: str) -> str:
    """Return the credential; raise unless it was issued for this, as the route that does the same asks."""
    require_scope(authenticate(tools, credential, at=tools.clock.now()), scope)
    return credential


def read_password(*, from_stdin: bool, confirm: bool = False) -> str:
    """One line of standard input, or typed unseen at a terminal; never an argument, which everybody can see."""
    if from_stdin:
        return sys.stdin.readline().removesuffix("\n").removesuffix("\r")
    if not _is_terminal():
        raise click.UsageError("expected a terminal to ask for the password, or --password-stdin")
    return str(click.prompt("password", hide_input=True, confirmation_prompt=confirm, err=True))


def _is_terminal() -> bool:
    return sys.stdin.isatty()
