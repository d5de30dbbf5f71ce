"""Which page of the docs tells of what, and the section that each of them ends with.

Every command, route and error code belongs to one page, and each clause of a specification to a section of the page of
conformance. The generated pages take their headings from here, and the pages of rooms end with links to them.
Run it to write those closing sections.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

__all__ = [
    "DOCS",
    "ROOMS",
    "TITLE",
    "Room",
    "by_room",
    "render_closing",
    "render_room_page",
    "room_of_code",
    "room_of_command",
    "room_of_route",
    "slug",
]

DOCS = Path(__file__).resolve().parent.parent / "docs"
TITLE = "Clauses, commands, routes, errors"

Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class Room:
    """One page, and what is told there and nowhere else; `clauses` are `SPECIFICATION FIRST-CLAUSE-OF-A-SECTION`.

    `beside` names pages that tell of the same thing from another side.
    """

    page: str
    title: str
    clauses: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


# In the order in which somebody meets them: the node, its ledger, its people, then what it decides.
ROOMS = (
    Room(
        page="operating",
        title="Operating",
        commands=("init", "demo", "doctor", "serve", "operations", "completion", "backup", "restore"),
        routes=("/healthz", "/readyz", "/metrics"),
        errors=("backup", "cli", "config", "node", "pool", "serve"),
        beside=("http",),
    ),
    Room(
        page="audit",
        title="Audit",
        clauses=("ski 7", "ski 8"),
        commands=("ledger", "verify", "report"),
        routes=(
            "/log",
            "/api/v1/activity",
            "/api/v1/entries",
            "/api/v1/tenants",
            "/api/v1/checkpoints",
            "/api/v1/proofs",
            "/api/v1/reports",
            "/api/v1/ledger",
            "/api/v1/search",
            "/api/v1/indexes",
        ),
        errors=("cbor", "cose", "dsse", "ledger", "pdf", "proof", "report", "search", "statement"),
    ),
    Room(
        page="durability",
        title="Durability",
        clauses=("ski 7",),
        commands=("witness",),
        errors=("checkpoint", "merkle", "witness"),
        beside=("audit",),
    ),
    Room(
        page="lake",
        title="Readers elsewhere",
        clauses=(),
        commands=("lake", "monitor"),
        errors=("lake", "objects"),
        beside=("audit", "durability"),
    ),
    Room(
        page="storage",
        title="Storage",
        clauses=("ski 7", "kaori 3", "kaori 16"),
        commands=("canonical", "erase"),
        errors=("canonical", "flow", "form", "json", "store"),
        beside=("audit", "operating"),
    ),
    Room(
        page="keys",
        title="Keys",
        clauses=("ski 3", "kaori 11"),
        commands=("key",),
        errors=("commitment", "key", "signature"),
    ),
    Room(
        page="identity",
        title="Identity",
        clauses=("forja trust-bitmask", "pramana 14"),
        commands=("principal", "permitted"),
        routes=(
            "/api/v1/operations",
            "/auth",
            "/whoami",
            "/api/v1/why",
            "/api/v1/principals",
            "/api/v1/keys",
            "/api/v1/trust-anchors",
            "/api/v1/public-keys",
            "/api/v1/sessions",
            "/api/v1/whoami",
        ),
        errors=("identity", "signing"),
    ),
    Room(
        page="review",
        title="Review",
        clauses=("ski 5", "kaori 13", "claimbundle risk-tiers", "pramana 10"),
        commands=("review",),
        routes=("/api/v1/tickets", "/api/v1/desk"),
        errors=("review",),
    ),
    Room(
        page="truth",
        title="Truth",
        clauses=("kaori 1", "kaori 4", "kaori 6", "kaori 7", "kaori 10", "kaori 11", "kaori 13", "kaori 16"),
        commands=("contract", "truth"),
        routes=(
            "/api/v1/contracts",
            "/observations",
            "/truthstates",
            "/verify",
            "/votes",
            "/api/v1/observations",
            "/api/v1/states",
            "/api/v1/states:compile",
            "/api/v1/states:expire",
            "/api/v1/states:score",
            "/api/v1/states:verify",
            "/api/v1/fingerprints",
            "/api/v1/truth-map",
            "/api/v1/votes",
            "/api/v1/windows",
        ),
        errors=("contract", "truth"),
        beside=("trust",),
    ),
    Room(
        page="trust",
        title="Trust",
        clauses=("kaori 9",),
        commands=("trust",),
        routes=(
            *("/trust-snapshot", "/agents", "/signals"),
            *("/api/v1/trust-snapshot", "/api/v1/trust-check", "/api/v1/agents", "/api/v1/signals", "/api/v1/credits"),
            *("/api/v1/policies", "/api/v1/policies:compare", "/api/v1/penalties"),
        ),
        errors=("trust",),
        beside=("truth",),
    ),
    Room(
        page="graphs",
        title="Knowledge graphs",
        clauses=("ski 3", "ski 5", "ski 11"),
        commands=("graph", "coverage"),
        routes=("/api/kg", "/api/v1/graphs", "/api/v1/coverage"),
        errors=("graph",),
        beside=("verdicts", "evaluation"),
    ),
    Room(
        page="verdicts",
        title="Verdicts",
        clauses=("ski 4", "ski 5", "ski 8"),
        commands=("telemetry",),
        errors=("verdicts",),
        beside=("graphs", "evaluation"),
    ),
    Room(
        page="evaluation",
        title="Evaluation",
        clauses=("ski 1", "ski 5", "ski 8"),
        commands=("evaluate", "verdict", "replay", "receipt", "agreement", "health"),
        routes=(
            "/api/health",
            "/api/canary",
            "/api/evaluate",
            "/api/verdicts",
            "/api/v1/telemetry",
            "/api/v1/verdicts",
            "/api/v1/held-verdicts",
            "/api/v1/replays",
            "/api/v1/telemetry-buffers",
            "/api/v1/transcripts",
            "/api/v1/agreement",
            "/api/v1/health",
        ),
        errors=("attestation", "receipt", "replay", "telemetry", "verdict"),
        beside=("graphs", "verdicts", "sovereignty"),
    ),
    Room(
        page="sovereignty",
        title="Sovereignty",
        clauses=("ski 6", "ski 9"),
        commands=("sovereignty",),
        routes=("/api/sovereignty", "/api/v1/sovereignty"),
        errors=("quote", "sovereignty"),
    ),
    Room(
        page="model",
        title="The judge",
        clauses=("ski 1", "ski 5", "ski 7"),
        commands=("model",),
        routes=("/api/v1/models",),
        errors=("judge", "training"),
        beside=("evaluation",),
    ),
    Room(
        page="models",
        title="General models",
        clauses=("ski 6", "kaori 13"),
        errors=("model", "validator"),
        beside=("model",),
    ),
    Room(
        page="claims",
        title="Claims",
        clauses=("claimbundle structure", "claimbundle fact", "claimbundle semantic-entropy", "claimbundle risk-tiers"),
        commands=("claims",),
        routes=(
            "/api/v1/claims",
            "/api/v1/evidence",
            "/api/v1/gate-policies",
            "/api/v1/gate-policy",
            "/api/v1/gate-approvers",
            "/api/v1/estimates",
            "/api/v1/calibrations",
            "/api/v1/oversight",
            "/api/v1/sample-plan",
            "/api/v1/sample-plans",
            "/api/v1/claim-labels",
        ),
        errors=("claims",),
    ),
    Room(
        page="permits",
        title="Permits",
        commands=("permit", "mandate", "gateway"),
        routes=("/api/v1/permits", "/api/v1/mandates", "/api/v1/gateway"),
        errors=("gateway", "guard", "mandate", "permit"),
        beside=("claims",),
    ),
    Room(
        page="delivery",
        title="Delivery",
        clauses=(
            "pramana 6",
            "pramana 7.1",
            "pramana 7.4",
            "pramana 8",
            "pramana 9",
            "pramana 10",
            "pramana 11",
            "pramana 13",
            "pramana 14",
            "pramana 15",
        ),
        commands=(
            *("ask", "resume", "answers", "outcome", "outcomes", "trace"),
            *("rules", "query", "rca", "pairs", "peer"),
        ),
        routes=(
            *("/api/v2/pramana", "/api/v1/answers", "/api/v1/trace", "/api/v1/outcomes", "/api/v1/outcome-sessions"),
            *("/api/v1/rules", "/api/v1/rule-proofs", "/api/v1/rule-recount", "/api/v1/rule-alerts"),
            *("/api/v1/pramana-state", "/api/v1/pramana-trust"),
            *("/api/v1/reporters", "/api/v1/queries", "/api/v1/shortfalls", "/api/v1/root-causes"),
            *("/api/v1/pairs", "/api/v1/peers"),
        ),
        errors=("delivery", "plugin"),
        beside=("events",),
    ),
    Room(
        page="events",
        title="Events",
        clauses=("pramana 7.3",),
        commands=("webhook", "emit", "watch"),
        routes=("/api/v1/events", "/api/v1/webhooks", "/api/v2/pramana/sense"),
        errors=("events",),
    ),
    Room(
        page="registry",
        title="Registry",
        clauses=(
            "forja endpoints",
            "forja codex",
            "forja trust-bitmask",
            "forja kill-switch",
            "forja announce",
            "forja proof",
        ),
        commands=("service", "check", "proof"),
        routes=(
            "/api/v1/services",
            "/api/v1/who-can",
        ),
        errors=("FRJ", "fleet", "forja", "registry"),
        beside=("identity",),
    ),
    Room(page="mcp", title="Tools for agents", commands=("mcp",), errors=("mcp",), beside=("registry",)),
    Room(page="console", title="Console", routes=("/",), errors=("console",), beside=("http",)),
    Room(
        page="http",
        title="HTTP",
        clauses=("pramana 11", "kaori 16"),
        routes=("/openapi.json",),
        errors=("client", "http", "request"),
        beside=("operating",),
    ),
)
_BY_PAGE = {room.page: room for room in ROOMS}


def slug(heading: str) -> str:
    """A heading's anchor, as the site makes it: lower case, words and hyphens alone."""
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def room_of_command(name: str) -> Room:
    """Of `ledger` in `assay ledger append`."""
    return _find("command", name, lambda room: name in room.commands)


def room_of_code(code: str) -> Room:
    """By what stands before the first dot of an error's code, or before the hyphen of Forja's own."""
    prefix = re.split(r"[.-]", code)[0]
    return _find("error", code, lambda room: prefix in room.errors)


def room_of_route(path: str) -> Room:
    """By the longest beginning that a room names."""
    begins = {one: room for room in ROOMS for one in room.routes if _is_below(path, one)}
    longest = max(begins, key=len, default="")
    return _find("route", path, lambda room: room is begins.get(longest))


def _is_below(path: str, beginning: str) -> bool:
    return path == beginning or path.startswith((f"{beginning}/", f"{beginning}:"))


def _find(kind: str, name: str, is_told: Callable[[Room], bool]) -> Room:
    found = [room for room in ROOMS if is_told(room)]
    if len(found) != 1:
        message = f"expected one page of ROOMS in tools/rooms.py to tell of the {kind} `{name}`, got {len(found)}"
        raise LookupError(message)
    return found[0]


def by_room(things: Iterable[Thing], room_of: Callable[[Thing], Room]) -> Iterator[tuple[Room, list[Thing]]]:
    """What each room has, in the order of the rooms; those that have nothing are left out."""
    told: dict[str, list[Thing]] = {}
    for thing in things:
        told.setdefault(room_of(thing).page, []).append(thing)
    return ((room, told[room.page]) for room in ROOMS if room.page in told)


def render_closing(room: Room) -> str:
    """The section that the room's page ends with."""
    rows = (
        ("Clauses", _clauses(room)),
        ("Commands", _commands(room)),
        ("Routes", _named(room, "routes", lambda one: one)),
        ("Errors", _named(room, "errors", lambda one: f"{one}-…" if one.isupper() else f"{one}.…")),
    )
    return f"## {TITLE}\n\n| | |\n|---|---|\n" + "".join(f"| {name} | {told} |\n" for name, told in rows)


def render_room_page(room: Room, page: str) -> str:
    """The page with its closing section as it should be, in place of the one it has."""
    body = page.partition(f"## {TITLE}\n")[0]
    return f"{body.rstrip()}\n\n{render_closing(room)}"


def _clauses(room: Room) -> str:
    titles = [_section_title(*one.split(" ", 1)) for one in room.clauses]
    return ", ".join(f"[{one}](conformance.md#{slug(one)})" for one in titles) or "none: no specification speaks of it"


def _commands(room: Room) -> str:
    own = ", ".join(f"[`assay {one}`](commands.md#assay-{one})" for one in room.commands)
    return own + _beside(room, "commands", has_own=bool(own))


def _named(room: Room, kind: str, shown: Callable[[str], str]) -> str:
    """Names under one link: the room's own section of the generated page."""
    names: tuple[str, ...] = getattr(room, kind)
    own = f"[{', '.join(f'`{shown(one)}`' for one in names)}]({kind}.md#{slug(room.title)})" if names else ""
    return own + _beside(room, kind, has_own=bool(own))


def _beside(room: Room, kind: str, *, has_own: bool) -> str:
    others = [_BY_PAGE[page] for page in room.beside if getattr(_BY_PAGE[page], kind)]
    links = ", ".join(f"[{one.title.lower()}]({kind}.md#{slug(one.title)})" for one in others)
    if not links:
        return "" if has_own else "none of its own"
    return f"; see also {links}" if has_own else f"none of its own; see {links}"


def _section_title(specification: str, clause: str) -> str:
    sections = tomllib.loads((DOCS / "clauses" / f"{specification}.toml").read_text())["section"]
    titles: list[str] = [one["title"] for one in sections if clause in one["clauses"]]
    if len(titles) != 1:
        message = f"expected one section of {specification}.toml with clause `{clause}`, got {len(titles)}"
        raise LookupError(message)
    return titles[0]


def write_rooms() -> None:
    for room in ROOMS:
        path = DOCS / f"{room.page}.md"
        path.write_text(render_room_page(room, path.read_text()))


if __name__ == "__main__":
    write_rooms()
