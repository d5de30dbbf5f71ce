"""Where the console leads: the pages of its navigation, and the page of a thing by its id."""

from typing import NamedTuple
from urllib.parse import quote

from assay.kernel.ledger import EntryKind


class Place(NamedTuple):
    """A page of the navigation; it is shown to people who may perform its operation."""

    path: str
    name: str
    operation: str | None


# Groups with a heading; the first has none.
PLACES: tuple[tuple[str, tuple[Place, ...]], ...] = (
    ("", (Place("/", "Overview", None), Place("/review", "Review desk", "desk.queue"))),
    (
        "Decisions",
        (
            Place("/decisions", "Verdicts", "verdicts.list"),
            Place("/answers", "Answers", "answers.list"),
            Place("/claims", "Claims", "claims.list"),
            Place("/permits", "Permits and mandates", "permits.list"),
            Place("/truth", "Truth", "states.map"),
        ),
    ),
    (
        "Knowledge",
        (
            Place("/knowledge", "Knowledge", "graphs.list"),
            Place("/rules", "Rules and outcomes", "rules.list"),
            Place("/learning", "Learning", "rootcauses.list"),
            Place("/models", "Models", "models.list"),
        ),
    ),
    (
        "Node",
        (
            Place("/services", "Services", "services.list"),
            Place("/access", "Access", "caller.show"),
            Place("/ledger", "Ledger", "entries.list"),
            Place("/report", "Audit report", "report.make"),
            Place("/verify", "Verify a proof", None),
        ),
    ),
)
_STATE = "/truth/state?key="
_VERDICTS = (EntryKind.VERDICT, EntryKind.VERDICT_HELD, EntryKind.VERDICT_FINAL, EntryKind.VERDICT_V2)
# By the beginning of an id.
_BY_PREFIX = (
    ("tkt_", "/review/"),
    ("ans_", "/answers/"),
    ("pmt_", "/permits#"),
    ("mnd_", "/permits/mandates/"),
    ("rca_", "/learning#"),
)


def entry_path(kind: str, about: str | None, number: int) -> str:
    """The page of what an entry is about, else the entry itself."""
    if kind in _VERDICTS:
        return f"/decisions/{number}"
    if about is None:
        return f"/ledger/{number}"
    found = thing_path(about)
    if found is not None:
        return found
    name = quote(about, safe="")
    by_kind = {
        EntryKind.TRUTH_STATE: _STATE + name,
        EntryKind.CLAIMS_DECIDED: f"/claims/{quote(about, safe=':')}",
        EntryKind.CLAIMS_RECEIVED: f"/claims/{quote(about, safe=':')}",
        EntryKind.RULE_RECORDED: f"/rules/{name}",
        EntryKind.RULE_CERTIFIED: f"/rules/{name}",
        EntryKind.SWITCH_FIRED: "/services",
        EntryKind.SWITCH_RESTORED: "/services",
        EntryKind.GRAPH_ACTIVATED: "/knowledge",
        EntryKind.MODEL_ACTIVATED: "/models",
        EntryKind.PRINCIPAL_ADDED: f"/access/people/{name}",
        EntryKind.PRINCIPAL_CHANGED: f"/access/people/{name}",
        EntryKind.TIER_CHANGED: f"/access/people/{name}",
    }
    return by_kind.get(EntryKind(kind) if kind in set(EntryKind) else EntryKind.NOTE, f"/ledger/{number}")


def thing_path(about: str) -> str | None:
    """The page of a thing whose id says what it is."""
    for prefix, place in _BY_PREFIX:
        if about.startswith(prefix):
            return place + quote(about, safe="")
    return None
