"""What happened on a node, in sentences: the latest decisions, and any entry of the ledger.

entry -> its kind and body -> one sentence, what it is about
Answers to open tickets are not among the decisions: others who review them must not know that there are any.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from heapq import nlargest
from itertools import pairwise
from operator import attrgetter
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from assay.flows.errors import NotFoundError
from assay.flows.ledger.show_entries import require_sound
from assay.flows.request import NEWEST, Page, Paged, Request, cut, read_number
from assay.flows.review.ticket_titles import ticket_title
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.digest import Digest
from assay.kernel.entry import parse_entry
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId, TicketId
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.ledger_store import StoredEntry

_TITLE = 160
K = EntryKind
# What each group of decisions consists of; the overview counts and lists them.
DECISIONS: Mapping[str, tuple[EntryKind, ...]] = MappingProxyType(
    {
        "verdicts": (K.VERDICT, K.VERDICT_HELD, K.VERDICT_FINAL, K.VERDICT_V2),
        "truth": (K.TRUTH_STATE,),
        "claims": (K.CLAIMS_DECIDED, K.CLAIMS_REFUSED, K.PERMIT_ISSUED, K.PERMIT_REPORTED, K.PERMIT_ENDED),
        "answers": (K.ANSWER_DELIVERED, K.QUERY_FAILED, K.OUTCOME_REPORTED),
        "people": (K.TICKET_SETTLED, K.MANDATE_SIGNED, K.MANDATE_ENDED, K.RULE_CERTIFIED),
        "changes": (
            K.SWITCH_FIRED,
            K.SWITCH_RESTORED,
            K.ROOT_CAUSE_OPENED,
            K.ROOT_CAUSE_CLOSED,
            K.GRAPH_ACTIVATED,
            K.MODEL_ACTIVATED,
            K.CLAIMS_POLICY,
            K.TRUST_POLICY,
            K.RULE_RECORDED,
            K.PRINCIPAL_ADDED,
            K.PRINCIPAL_CHANGED,
            K.TIER_CHANGED,
            K.ERASURE,
        ),
    }
)


class ListActivity(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    group: Annotated[
        str | None,
        Meta(description="Only this group: verdicts, truth, claims, answers, people or changes."),
    ] = None


class Activity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One decision as a sentence; `about` is the id of the thing that it is about."""

    sequence_number: int
    timestamp: str
    kind: str
    text: str
    about: str | None


class CountActivity(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    days: Annotated[int, Meta(ge=1, le=60, description="So many days in UTC, the present one included.")] = 14


class DayCount(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Decisions of one day in UTC, by group."""

    day: str
    counts: dict[str, int]


class ActivityDays(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    days: tuple[DayCount, ...]


class Sentence(NamedTuple):
    text: str
    about: str | None = None


def activity(tools: Tools, caller: Caller, request: ListActivity) -> Page[Activity]:
    """List the latest decisions of the node as sentences, the newest first.

    Verdicts, truth states, claims, answers, outcomes, reviews, and changes of rules, models, policies and people.
    """
    if request.group is not None and request.group not in DECISIONS:
        raise NotFoundError(f"expected a group of {', '.join(DECISIONS)}, got `{request.group[:40]}`")
    before = read_number("activity", request.cursor, start=NEWEST)
    kinds = DECISIONS[request.group] if request.group else [kind for group in DECISIONS.values() for kind in group]

    def work(unit: Unit) -> tuple[Activity, ...]:
        found: list[StoredEntry] = []
        for kind in kinds:
            found += unit.ledger.select(
                caller.tenant_id, kind=kind, last=before - 1, newest=True, limit=request.limit + 1
            )
        newest = nlargest(request.limit + 1, found, key=attrgetter("sequence_number"))
        for row in newest:
            require_sound(unit, row)
        return describe(unit, caller.tenant_id, newest)

    return cut("activity", tools.database.read(work), request.limit, attrgetter("sequence_number"))


def count_activity(tools: Tools, caller: Caller, request: CountActivity) -> ActivityDays:
    """Count the decisions of the last days by group: verdicts, truth, claims, answers, people and changes."""
    today = caller.at.date()
    days = [today - timedelta(days=back) for back in reversed(range(request.days))]

    def work(unit: Unit) -> tuple[DayCount, ...]:
        head = unit.ledger.head(caller.tenant_id).sequence_number
        starts = [_first_since(unit, caller.tenant_id, day.isoformat(), head) for day in days] + [head + 1]
        return tuple(
            DayCount(day=day.isoformat(), counts=_counts(unit, caller.tenant_id, first, last - 1))
            for day, (first, last) in zip(days, pairwise(starts), strict=True)
        )

    return ActivityDays(days=tools.database.read(work))


def _counts(unit: Unit, tenant_id: TenantId, first: int, last: int) -> dict[str, int]:
    if first > last:
        return dict.fromkeys(DECISIONS, 0)
    return {
        group: sum(unit.ledger.count(tenant_id, kind=kind, first=first, last=last) for kind in kinds)
        for group, kinds in DECISIONS.items()
    }


def _first_since(unit: Unit, tenant_id: TenantId, day: str, head: int) -> int:
    """Find the first entry of a day or later by bisection: entries are in the order of their time."""
    low, high = 1, head + 1
    while low < high:
        middle = (low + high) // 2
        row = unit.ledger.find_entry(tenant_id, middle)
        if row is None or row.timestamp < day:
            low = middle + 1
        else:
            high = middle
    return low


def describe(unit: Unit, tenant_id: TenantId, rows: Iterable[StoredEntry]) -> tuple[Activity, ...]:
    """Describe entries whose text was compared with their hashes already."""
    titles: dict[str, str] = {}
    return tuple(_describe(unit, tenant_id, row, titles) for row in rows)


def _describe(unit: Unit, tenant_id: TenantId, row: StoredEntry, titles: dict[str, str]) -> Activity:
    body: dict[str, Any] = msgspec.json.decode(bytes(parse_entry(row.text).body))
    ticket_id = body.get("ticket_id")
    if isinstance(ticket_id, str) and "title" not in body and ticket_id not in titles:
        ticket = unit.review.find_ticket(tenant_id, TicketId(ticket_id))
        titles[ticket_id] = ticket_id if ticket is None else ticket_title(ticket)
    if row.kind == K.CLAIMS_DECIDED:
        titles |= _statement(unit, tenant_id, str(body.get("bundle_hash")))
    sentence = describe_body(row.kind, body, rule=row.rule_id, titles=titles)
    return Activity(
        sequence_number=row.sequence_number,
        timestamp=row.timestamp,
        kind=row.kind,
        text=sentence.text,
        about=sentence.about,
    )


def _statement(unit: Unit, tenant_id: TenantId, bundle_hash: str) -> dict[str, str]:
    bundle = unit.claims.find_bundle(tenant_id, Digest(bundle_hash))
    claims = [] if bundle is None else msgspec.json.decode(bundle.text).get("claims", [])
    return {bundle_hash: str(claims[0]["statement"])[:_TITLE]} if claims else {}


def describe_body(
    kind: str, body: Mapping[str, Any], *, rule: str | None = None, titles: Mapping[str, str] | None = None
) -> Sentence:
    """Say in one sentence what an entry records; an unknown or odd body gets the name of its kind."""
    fields = _Fields(body, rule or "", titles or {})
    try:
        return _SENTENCES[kind](fields) if kind in _SENTENCES else Sentence(kind.replace("_", " ").replace(".", " "))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, Error):
        return Sentence(kind.replace("_", " ").replace(".", " "))


@dataclass(frozen=True, slots=True)
class _Fields:
    """The body of an entry by paths of names, its rule, and titles of tickets and bundles by id."""

    body: Mapping[str, Any]
    rule: str
    titles: Mapping[str, str]

    def __getitem__(self, path: str) -> Any:  # noqa: ANN401 - any JSON
        value: Any = self.body
        for name in path.split("/"):
            value = value[name]
        return value

    def find(self, path: str, default: str = "") -> str:
        try:
            value = self[path]
        except (KeyError, TypeError):
            return default
        return default if value is None else str(value)

    @property
    def title(self) -> str:
        found = self.find("title") or self.titles.get(self.find("ticket_id"), self.find("ticket_id"))
        return found if len(found) <= _TITLE else f"{found[:_TITLE]}…"


def _words(name: object) -> str:
    return str(name).replace("_", " ").lower()


def _because(text: str) -> str:
    return f": {text}" if text else ""


def _verdict(f: _Fields) -> Sentence:
    word, rule = f.find("ruling/verdict"), f.rule or "no rule"
    breached = [j["obligation_id"] for j in f["judgements"] if j.get("outcome") == "breached"]
    record = f.find("telemetry/telemetry_id")
    what = f"{', '.join(breached)} breached" if breached else f"under {rule}" if f.rule else "no rule covers it"
    if f.find("ruling/standing") == "held":
        return Sentence(f"{f['subject']}: held until a person attests the verdict of {rule} (record {record})", record)
    return Sentence(f"{f['subject']}: {word}, {what} (record {record})", record)


def _truth(f: _Fields) -> Sentence:
    state = f["state"]
    key = str(state["truthkey"])
    name = str(state["claim_type"]).split(".")[1] if "." in state["claim_type"] else state["claim_type"]
    count = len(state["observation_ids"])
    reports = f"{count} report{'' if count == 1 else 's'}"
    status, confidence = _words(state["status"]), float(state["confidence"])
    return Sentence(f"{_words(name).capitalize()}: {status}, confidence {confidence:.2f}, {reports}", key)


def _decided(f: _Fields) -> Sentence:
    decision, reason = f.find("outcome/decision"), f.find("outcome/reason")
    statement = f.titles.get(f.find("bundle_hash"), "")
    what = f"“{statement}”" if statement else "Claims"
    return Sentence(f"{what} {_DECIDED.get(decision, decision)}{_because(reason)}", f.find("bundle_hash"))


def _received(f: _Fields) -> Sentence:
    claims = f["bundle"]["claims"]
    first = claims[0]["statement"] if claims else "nothing"
    more = f" and {len(claims) - 1} more" if len(claims) > 1 else ""
    return Sentence(f"{f['submitted_by']} claimed: {first}{more}", f.find("bundle_hash"))


def _answer(f: _Fields) -> Sentence:
    level = f.find("delivered/authenticity_level")
    withheld = " (withheld: below the asker's floor)" if f.body["delivered"].get("withheld") else ""
    who, kind = f.find("asked_by"), f.find("delivered/query_type")
    return Sentence(f"Answered {kind} for {who} at {level}{withheld}", f.find("delivered/answer_id"))


def _outcome(f: _Fields) -> Sentence:
    rules = ", ".join(dict.fromkeys(str(one["rule_id"]) for one in f["rules"]))
    about = f.find("answer_id") or f.find("signal_id")
    return Sentence(f"{f['sender']} reported {_words(f['outcome'])} of {rules or 'an answer'}", about)


def _settled(f: _Fields) -> Sentence:
    choice = f.find("choice")
    how = "denied" if f.body.get("denied") else _words(choice or f.find("state"))
    return Sentence(f"Ticket settled as {how}: {f.title}", f.find("ticket_id"))


def _credential(f: _Fields) -> Sentence:
    who = f.find("principal_id")
    if f.find("credential") == "session":
        return Sentence(f"{who} signed in", who)
    return Sentence(f"{f.find('issued_by')} issued a {_words(f['credential'])} to {who}", who)


def _principal(verb: str) -> Callable[[_Fields], Sentence]:
    def say(f: _Fields) -> Sentence:
        powers = ", ".join((f.body.get("granted") or {}).get("powers") or [])
        grant = f", granting {powers}" if powers else ""
        off = " and disabled it" if f.body.get("disabled_at") else ""
        return Sentence(f"{f['recorded_by']} {verb} {f['id']}{off}{grant}", f.find("id"))

    return say


def _ticket(verb: str) -> Callable[[_Fields], Sentence]:
    return lambda f: Sentence(f"{f['by']} {verb}: {f.title}", f.find("ticket_id"))


def _observed(f: _Fields) -> Sentence:
    record = f["record"]
    return Sentence(f"{record['reporter_id']} reported {record['claim_type']}", str(record["observation_id"]))


_DECIDED = {"PUBLISH": "allowed", "DEFER": "deferred", "ESCALATE": "waiting for approval", "REFUSE": "refused"}


def _say(template: str, about: str = "") -> Callable[[_Fields], Sentence]:
    """A sentence with fields of the body in braces; `about` names the field with the id of the thing."""
    names = [part.partition("}")[0] for part in template.split("{")[1:]]

    def say(f: _Fields) -> Sentence:
        text = template
        for name in names:
            text = text.replace(f"{{{name}}}", f.find(name, "unknown"))
        return Sentence(text, f.find(about) or None if about else None)

    return say


_SENTENCES: Mapping[str, Callable[[_Fields], Sentence]] = MappingProxyType(
    {
        K.NOTE: _say("Note recorded"),
        K.KEY_ADDED: _say("Signing key added for {record/purpose}", "record/key_id"),
        K.KEY_RETIRED: _say("Signing key retired", "key_id"),
        K.PRINCIPAL_ADDED: _principal("added"),
        K.PRINCIPAL_CHANGED: _principal("changed"),
        K.CREDENTIAL_ISSUED: _credential,
        K.CREDENTIAL_REVOKED: _say("{revoked_by} revoked a credential of {principal_id}: {reason}", "principal_id"),
        K.TICKET_OPENED: lambda f: Sentence(f"Ticket opened: {f.title}", f.find("ticket_id")),
        K.TICKET_ANSWERED: _ticket("answered"),
        K.TICKET_SETTLED: _settled,
        K.TICKET_CLAIMED: _ticket("claimed"),
        K.TICKET_RELEASED: _ticket("released"),
        K.TICKET_ASSIGNED: _ticket("assigned"),
        K.TICKET_PRIORITISED: _ticket("set the priority of"),
        K.TICKET_COMMENTED: _ticket("commented on"),
        K.TICKET_ESCALATED: lambda f: Sentence(f"Overdue, escalated: {f.title}", f.find("ticket_id")),
        K.TICKET_ANSWER_HELD: lambda f: Sentence(f"An answer can still be undone: {f.title}", f.find("ticket_id")),
        K.TICKET_ANSWER_UNDONE: _ticket("undid an answer to"),
        K.TICKET_ANSWER_LAPSED: lambda f: Sentence(f"A held answer lapsed: {f.title}", f.find("ticket_id")),
        K.ERASURE: _say("Personal values of entry {sequence_number} erased: {reason}", "sequence_number"),
        K.CONTRACT_RELEASED: _say("Contract {claim_type} released", "claim_type"),
        K.OBSERVATION_RECORDED: _observed,
        K.VOTE_CAST: _say("Vote recorded on {record/truthkey}", "record/truthkey"),
        K.AI_SCORE_RECORDED: _say("{record/engine} scored an observation {record/score}", "record/score_id"),
        K.WINDOW_CHANGED: _say("Voting window changed on {record/truthkey}: {record/reason}", "record/truthkey"),
        K.SNAPSHOT_FROZEN: _say("Trust snapshot taken for {basis/claim_type}"),
        K.TRUTH_STATE: _truth,
        K.TRUST_SIGNAL: _say("Trust signal {signal/kind} of {signal/agent_id}", "signal/agent_id"),
        K.TRUST_POLICY: _say("Trust policy registered"),
        K.GRAPH_ADDED: _say("{added_by} added a knowledge graph", "content_hash"),
        K.GRAPH_ACTIVATED: _say("{activated_by} put a knowledge graph into use", "content_hash"),
        K.TELEMETRY_DROPPED: _say("{records} older records of {subject} left the window buffer", "subject"),
        K.VERDICT: _verdict,
        K.VERDICT_HELD: _verdict,
        K.VERDICT_FINAL: _verdict,
        K.VERDICT_V2: _verdict,
        K.SERVICE_KEY_ADDED: _say("{registered_by} trusted a key of service {service_id}", "service_id"),
        K.SERVICE_KEY_REVOKED: _say("{revoked_by} revoked a key of service {service_id}: {reason}", "service_id"),
        K.SERVICE_ANNOUNCED: _say("Service {service_id} announced itself", "service_id"),
        K.SERVICE_LISTED: _say("Service {service_id} listed", "service_id"),
        K.SERVICE_UNLISTED: _say("Service {service_id} left the list", "service_id"),
        K.SWITCH_FIRED: _say("Kill switch of {service_id} fired: {reason}", "service_id"),
        K.SWITCH_RESTORED: _say("Kill switch of {service_id} restored", "service_id"),
        K.TIER_CHANGED: _say("{changed_by} changed the tier of {subject} from {from_tier} to {to_tier}", "subject"),
        K.CLAIMS_RECEIVED: _received,
        K.CLAIMS_DECIDED: _decided,
        K.CLAIMS_REFUSED: _decided,
        K.CLAIMS_EVIDENCE: _say("{attached_by} attached evidence of {size} bytes", "sha256"),
        K.CLAIMS_POLICY: _say("{released_by} released gate policy {policy_id} version {version}", "policy_hash"),
        K.RULE_RECORDED: _say("{recorded_by} recorded rule {rule_id}, version {version}", "rule_id"),
        K.RULE_CERTIFIED: _say("{certified_by} certified rule {rule_id}, version {version}", "rule_id"),
        K.RULE_PROPOSED: _say("{proposed_by} proposed a correction of rule {rule_id}", "rule_id"),
        K.QUERY_TYPE_RECORDED: _say("{recorded_by} registered the query type {slug}", "slug"),
        K.REPORTER_GRANTED: _say("{granted_by} let {principal_id} report outcomes", "principal_id"),
        K.ANSWER_DELIVERED: _answer,
        K.ANSWER_REMARKED: _say("Answer {answer_id} was reassessed: {after/reason}", "answer_id"),
        K.QUERY_FAILED: _say("A question could not be answered: {reason}", "answer_id"),
        K.OUTCOME_REPORTED: _outcome,
        K.ROOT_CAUSE_OPENED: _say("Root cause opened for rule {rule_id}: repeated {reason}", "item_id"),
        K.ROOT_CAUSE_ASKED: lambda f: Sentence(f"Reviewers asked for a root cause: {f.title}", f.find("ticket_id")),
        K.ROOT_CAUSE_CLOSED: _say("{concluded_by} concluded a root cause: {siddhanta}", "item_id"),
        K.TRAINING_PAIR: _say("Training pair captured for rule {rule_id}", "training_pair_id"),
        K.TRAINING_TRIGGERED: _say("Training started"),
        K.TRAINING_FINISHED: _say("Training finished"),
        K.PEER_AGREED: _say("{agreed_by} agreed on rules with {peer}", "peer"),
        K.WEBHOOK_ADDED: _say("{added_by} added a webhook to {url}", "webhook_id"),
        K.WEBHOOK_REMOVED: _say("{removed_by} removed a webhook", "webhook_id"),
        K.PROOF_MEASURED: _say("{measured_by} scanned code for rules: {coverage_pct} % covered", "service_id"),
        K.MODEL_ADDED: _say("{added_by} added model {manifest/name} {manifest/version}", "manifest/weight_hash"),
        K.MODEL_EVALUATED: _say("{evaluated_by} evaluated a model on {figures/cases} cases", "weight_hash"),
        K.MODEL_ACTIVATED: _say("A model was put into use", "weight_hash"),
        K.INDEX_SEALED: _say("Search index sealed over entries {first} to {last}"),
        K.PERMIT_ISSUED: _say("Permit for {statement/agent} to call {statement/tool} issued", "permit_id"),
        K.PERMIT_CLAIMED: _say("{claimed_by} claimed a permit", "permit_id"),
        K.PERMIT_REPORTED: _say("{reported_by} reported the effect of a permitted call: {effect}", "permit_id"),
        K.PERMIT_ENDED: _say("Permit {how} by {by}: {reason}", "permit_id"),
        K.MANDATE_SIGNED: _say("Mandate for {terms/agent} to call {terms/tool} signed: {terms/purpose}", "mandate_id"),
        K.MANDATE_USED: _say("Mandate used, {total} in all so far", "mandate_id"),
        K.MANDATE_ENDED: _say("{by} ended a mandate: {reason}", "mandate_id"),
    }
)
