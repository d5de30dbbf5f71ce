"""Find a thing by whatever name of it somebody has: an id, hash, number, key, rule, subject, person or trace."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

from litestar import Request, get
from litestar.response import Response
from msgspec import Struct

from assay.flows.claims.show_claims import ShowClaim
from assay.flows.delivery.answers import ShowAnswer
from assay.flows.delivery.rules import ShowRule
from assay.flows.delivery.trace import ShowTrace
from assay.flows.identity.principals import ShowPrincipal
from assay.flows.ledger.entries import ShowEntry
from assay.flows.permits.mandates import ShowMandate
from assay.flows.permits.permits import ShowPermit
from assay.flows.review.show_ticket import ShowTicket
from assay.flows.truth.states import ShowState
from assay.flows.verdicts.read_verdicts import ListVerdicts
from assay.kernel.errors import Error
from assay.operations.parse import parse_request
from assay.operations.table import BY_NAME
from assay.surfaces.console.page import render_page
from assay.surfaces.console.session import SIGNED_IN, GivenVisit, Visit
from assay.surfaces.http.query import parse_query

_NUMBER = re.compile(r"[1-9][0-9]{0,14}")
_TERMS = ("telemetry_id", "key_id", "content_hash")


class FindQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    q: str = ""


class Match(NamedTuple):
    """What a text was recognised as, and where that is shown."""

    what: str
    title: str
    path: str


@get("/find", opt=SIGNED_IN)
async def show_found(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """Everything that this person may see under a name, each with what it was recognised as."""
    text = parse_query(FindQuery, request).q.strip()
    matches = await visit.desk.run(lambda: list(_matches(visit, text))) if text else []
    return render_page("find.html", visit, text=text, matches=matches)


def _matches(visit: Visit, text: str) -> Iterator[Match]:
    name, seen = quote(text, safe=""), set[str]()
    for what, operation, ask, path in _candidates(text, name):
        if not visit.may(operation):
            continue
        try:
            found = visit.perform(operation, ask())
        except (Error, ValueError):
            continue
        if path not in seen and getattr(found, "items", True):
            seen.add(path)
            yield Match(what, text, path)


def _candidates(text: str, name: str) -> Iterator[tuple[str, str, Callable[[], Any], str]]:
    """Ways to read the text: what it would be, the operation that knows, its request, and the page."""
    if _NUMBER.fullmatch(text):
        yield "Entry number", "entry.show", lambda: ShowEntry(sequence=int(text)), f"/ledger/{text}"
    bundle = text.removeprefix("bundle:")
    yield "Ticket", "desk.ticket", lambda: ShowTicket(ticket_id=text), f"/review/{name}"
    yield "Answer", "answer.show", lambda: ShowAnswer(answer_id=text), f"/answers/{name}"
    yield "Permit", "permit.show", lambda: ShowPermit(permit_id=text), f"/permits#{name}"
    yield "Mandate", "mandate.show", lambda: ShowMandate(mandate_id=text), f"/permits/mandates/{name}"
    yield "Claim bundle", "claims.show", lambda: ShowClaim(bundle_hash=bundle), f"/claims/{quote(bundle, safe=':')}"
    yield "Truth key", "state.show", lambda: ShowState(key=text), f"/truth/state?key={name}"
    yield "Rule", "rule.show", lambda: ShowRule(rule_id=text), f"/rules/{name}"
    yield (
        "Person, agent or service",
        "principal.show",
        lambda: ShowPrincipal(principal_id=text),
        f"/access/people/{name}",
    )
    yield (
        "Subject of verdicts",
        "verdicts.list",
        lambda: ListVerdicts(subject=text, limit=1),
        f"/decisions?subject={name}",
    )
    yield "Rule of verdicts", "verdicts.list", lambda: ListVerdicts(rule_id=text, limit=1), f"/decisions?rule={name}"
    yield "History (record, outcome, root cause, trace id)", "trace.show", lambda: ShowTrace(id=text), f"/trace/{name}"
    for term in _TERMS:
        words = f"Entries with {term.replace('_', ' ')}"
        yield words, "search.find", lambda term=term: _search(term, text), f"/ledger?find={term}%3D{name}"  # type: ignore[misc]


def _search(term: str, text: str) -> Any:  # noqa: ANN401 - a request of the operation
    return parse_request(BY_NAME["search.find"], {"term": [f"{term}={text}"], "limit": 1})
