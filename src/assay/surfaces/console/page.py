"""Pages: a template, its visitor, and the headers of every answer.

template + values -> HTML, every value escaped;   any fault -> a page that says what, with its code
"""

import json
import re
import traceback
from datetime import datetime
from functools import cache
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec
import structlog
from jinja2 import Environment, PackageLoader, StrictUndefined
from litestar import Request, Response, get
from litestar.exceptions import HTTPException
from litestar.response import Redirect
from litestar.types import ASGIApp, Message, Receive, Scope, Send
from markupsafe import Markup

from assay import __version__
from assay.flows.errors.identity import NotSignedInError
from assay.flows.review.ticket_titles import key_title, ticket_title
from assay.kernel.errors import Error
from assay.kernel.instant import render_instant
from assay.operations.problem import problem_of
from assay.surfaces.console.places import PLACES, Place, entry_path
from assay.surfaces.console.session import PERHAPS, PREFIX, UNMET, Visit, form_token
from assay.surfaces.console.times import ago, moment
from assay.surfaces.console.titles import ruling_words
from assay.surfaces.http.errors import HttpError, InternalError, NoRouteError

# Nothing inline, nothing from elsewhere, nothing around us.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
# Controls but tab and line feed, and what has no width or turns the direction of writing.
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_HASH_SHOWN = 12
_TITLES = {403: "You may not see this", 404: "Not found", 422: "That cannot be done", 503: "Not available now"}
_log = structlog.get_logger("assay.console")


def render_page(name: str, visit: Visit | None, *, status: int = 200, **values: Any) -> Response[bytes]:  # noqa: ANN401  whatever its template shows
    """A page for this person; nobody keeps a copy of it."""
    shared = {
        "prefix": PREFIX,
        "version": __version__,
        "visit": visit,
        "form_token": "" if visit is None else form_token(visit),
        "places": () if visit is None else _places(visit),
    }
    text = _environment().get_template(name).render({**shared, **values})
    return Response(text.encode(), status_code=status, media_type="text/html", headers={"cache-control": "no-store"})


def _places(visit: Visit) -> list[tuple[str, list[Place]]]:
    """The navigation of this person: pages that they may see, groups without one left out."""
    shown = [
        (name, [one for one in group if one.operation is None or visit.may(one.operation)]) for name, group in PLACES
    ]
    return [(name, group) for name, group in shown if group]


def see_other(path: str) -> Redirect:
    """After a form: the page that shows what holds now, which can be loaded again."""
    return Redirect(PREFIX + path, status_code=303)


def answer_fault(request: Request[Any, Any, Any], exception: Exception) -> Response[Any]:
    """Lead to the login without a session; else show what is wrong in words, with its code and the navigation."""
    error = _as_error(request, exception)
    if isinstance(error, NotSignedInError):
        return see_other(f"/login?next={quote(_asked(request), safe='')}")
    problem = problem_of(error)
    visit = request.scope.get("user")
    shown = visit if isinstance(visit, Visit) else None
    damage = None if problem.damage is msgspec.UNSET else problem.damage
    title = _TITLES.get(problem.status, problem.title) if damage is None else "A stored record was changed"
    unmet = request.scope.get(UNMET, ())
    return render_page(
        "fault.html", shown, status=problem.status, title=title, problem=problem, damage=damage, unmet=unmet
    )


@get("/{rest:path}", opt=PERHAPS)
async def refuse_unknown(request: Request[Any, Any, Any]) -> Response[bytes]:
    """An address without a page, with the navigation for a signed-in person."""
    raise NoRouteError(f"the console has no page `{request.scope['path'].rstrip('/')[:80]}`")


def guard_headers(app: ASGIApp) -> ASGIApp:
    """Every answer carries them, the faults too."""
    fixed = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *fixed]}
            await send(message)

        await app(scope, receive, marked)

    return guarded


def _as_error(request: Request[Any, Any, Any], exception: Exception) -> Error:
    if isinstance(exception, Error):
        return exception
    if isinstance(exception, HTTPException) and exception.status_code < HTTPStatus.INTERNAL_SERVER_ERROR:
        if exception.status_code == HTTPStatus.NOT_FOUND:
            return NoRouteError(f"the console has no page `{request.scope['path'].rstrip('/')[:80]}`")
        return HttpError(exception.detail or "expected another request")
    _log.error("fault", traceback="".join(traceback.format_exception(exception)))
    return InternalError("the console failed")


def _asked(request: Request[Any, Any, Any]) -> str:
    """The page to come back to, without what a form sent: the one that had the form, since only that can be loaded."""
    if request.method != "GET":
        # The console's own pages send it whole, and nothing else is believed.
        came = urlsplit(request.headers.get("referer", ""))
        is_ours = came.netloc == request.headers.get("host") and came.path.startswith(f"{PREFIX}/")
        return came.path.removeprefix(PREFIX) if is_ours else "/"
    query = request.scope["query_string"].decode("latin-1")
    return request.scope["path"] + (f"?{query}" if query else "")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("assay.surfaces.console"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        ago=ago,
        attribute=_attribute,
        entry_path=lambda item: entry_path(item.kind, item.about, item.sequence_number),
        instant=_instant,
        key_title=key_title,
        moment=moment,
        named=_named,
        percent=_percent,
        pretty=_pretty,
        ruling=ruling_words,
        short=_short,
        ticket_title=ticket_title,
        words=_words,
    )
    return made


def _visible(value: object) -> object:
    """What would not be seen, or would turn the words around it, is named in their place."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return _UNSEEN.sub(lambda match: f"⟨U+{ord(match.group()):04X}⟩", value)


def _instant(given: datetime | str | None) -> str:
    if given is None:
        return "–"
    return given if isinstance(given, str) else render_instant(given)


def _short(text: str | None) -> str:
    """A hash that is recognised, not compared; the whole of it is beside it or one click away."""
    found = (text or "–").removeprefix("sha256:")
    return found if len(found) <= _HASH_SHOWN else f"{found[:_HASH_SHOWN]}…"


def _named(text: str) -> str:
    """A reference as it is recognised: what it is of, and a hash in short."""
    kind, mark, rest = text.rpartition("sha256:")
    return f"{kind}{_short(rest)}" if mark else text


def _words(name: object) -> str:
    """`root_cause` as people write it."""
    return str(name).replace("_", " ").replace(".", " · ")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share * 100:.1f} %"


def _pretty(value: object) -> str:
    """JSON for reading. A text that is JSON is indented, any other text is shown as it is."""
    if not isinstance(value, str | bytes):
        return json.dumps(json.loads(msgspec.json.encode(value)), indent=2, ensure_ascii=False)
    text = value if isinstance(value, str) else value.decode(errors="replace")
    try:
        # By its tokens: a value that was parsed has lost a repeated key and the digits of a number, and people answer
        # for the text.
        return msgspec.json.format(text, indent=2)
    except (ValueError, RecursionError):
        return text


def _attribute(value: object) -> str:
    """JSON in an attribute, for a script to read; the template escapes it like any text."""
    return msgspec.json.encode(value).decode()
