"""Does a service deliver as PRAMANA says: it is asked, failed, concluded and attacked, and what came of it is judged.

documents -> answers -> failures until a root cause opens -> a person's conclusion -> a success by two wrong steps
          -> pairs, queue, events by subscription, attacks -> Evidence -> check_delivery (one finding a requirement)
"""

from collections.abc import Callable, Collection
from time import monotonic, sleep
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from assay.delivery.conform import Attack, AttackResult, Evidence, Profile
from assay.delivery.conform import check_delivery as judge_delivery
from assay.delivery.level import Level
from assay.delivery.outcome import Outcome
from assay.delivery.plugin import PLUGIN_INTERFACE
from assay.delivery.sense import StandardEvent
from assay.kernel.conformance import Fetched, Report
from assay.kernel.instant import Instant, render_instant
from assay.kernel.json_text import JsonValue
from assay.ports.service_client import Listening, StreamClient

# The name under which a checker reports, by which it knows its own signals.
APPLIED_BY = "assay-check"
_UNREACHED = 0


def members_of(answer: Fetched | None) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(b"" if answer is None else answer.content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def annotation_of(answer: Fetched) -> dict[str, Any]:
    members = members_of(answer)
    found = members.get("annotation")
    return found if isinstance(found, dict) else members


def rules_of(answer: Fetched) -> list[str]:
    rules = annotation_of(answer).get("rules")
    named = [one.get("rule_id") for one in rules if isinstance(one, dict)] if isinstance(rules, list) else []
    return [str(one) for one in named if one]


def content_of(answer: Fetched | None) -> bytes:
    return b"" if answer is None else answer.content


def status_of(answer: Fetched | None) -> int:
    return _UNREACHED if answer is None else answer.status


def root_cause_of(shown: dict[str, Any]) -> Fetched:
    """The work item with the choices that its ticket offers."""
    item, ticket = shown.get("item") or {}, shown.get("ticket") or {}
    return Fetched(status=200, content=msgspec.json.encode({**item, "choices": ticket.get("choices", [])}))


def plugin_of(shown: dict[str, Any]) -> dict[str, bytes]:
    """What the item says a plugin was asked and replied, in the form of the interface."""
    item = shown.get("item") or {}
    rule_id = (item.get("rule") or {}).get("rule_id")
    if item.get("purva_paksha") is None:
        return {}
    signals = [
        {
            "outcome": one.get("outcome"),
            "query_context": one.get("query_context") or "",
            "timestamp": one.get("occurred_at"),
        }
        for one in item.get("contexts", [])
    ]
    named = ("rule_content", "original_query", "original_response")
    request = {
        "plugin_interface": PLUGIN_INTERFACE,
        "rule_id": rule_id,
        **{name: item.get(name) for name in named},
        "phala_signals": signals,
        "failure_category_hint": "unknown",
    }
    reply = {"plugin_interface": PLUGIN_INTERFACE, "rule_id": rule_id, "purva_paksha": item["purva_paksha"]}
    return {"plugin_request": msgspec.json.encode(request), "plugin_reply": msgspec.json.encode(reply)}


def types_of(events: tuple[bytes, ...]) -> set[str]:
    return {str(members_of(Fetched(status=200, content=one)).get("event_type")) for one in events}


def told_signals(events: tuple[bytes, ...]) -> list[dict[str, Any]]:
    """What subscribers were told of the signals of this check."""
    told = [members_of(Fetched(status=200, content=one)) for one in events]
    rows = [one.get("payload") for one in told if one.get("event_type") == StandardEvent.PHALA_GENERATED]
    return [row for row in rows if isinstance(row, dict) and row.get("applied_by") == APPLIED_BY]


def phala_rows(events: tuple[bytes, ...]) -> dict[str, Fetched]:
    """The signals that subscribers were told of: those of one batch, of one session, and those of two wrongs."""
    rows = told_signals(events)
    groups = {
        "batched": _sharing(rows, "batch_id"),
        "session": _sharing(rows, "session_id"),
        "two_wrong": [row for row in rows if row.get("two_wrong_flag") is True],
    }
    return {name: Fetched(status=200, content=msgspec.json.encode(found)) for name, found in groups.items()}


def _sharing(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The rows of the value that most of them share."""
    values = [row[name] for row in rows if row.get(name)]
    most = max(values, key=values.count, default=None)
    return [row for row in rows if most is not None and row.get(name) == most]


T = TypeVar("T")
PREFIX = "/api/v2/pramana"
_OWN = "/api/v1"
_JSON = {"content-type": "application/json"}
_LEAST_FAILURES = 4
_MOST_ROUNDS = 20
_TAKEN = frozenset({200, 201})
_GLANCE_SECONDS = 0.05
_SESSIONS = ("check-one", "check-two")


class Probe(Struct, frozen=True, kw_only=True):
    """With what the checker acts: `credential` asks, reports, reads and emits; `session` is a person's who concludes.

    `floored` is a credential of somebody whose floor is above what some answers reach. `seconds` is how long is
    waited for what a service does by itself. `questions` are by query type; other types are asked `question`.
    """

    credential: str | None = None
    session: str | None = None
    floored: str | None = None
    question: JsonValue = None
    questions: dict[str, JsonValue] = {}
    seconds: float = 15.0

    def question_for(self, query_type: str) -> JsonValue:
        return self.questions.get(query_type, self.question)


def signed(credential: str | None) -> dict[str, str]:
    return {} if credential is None else {"x-api-key": credential}


class Service:
    """The routes of one service, asked with one credential unless another is named."""

    def __init__(self, client: StreamClient, root: str, credential: str | None) -> None:
        self._client = client
        self._credential = credential
        self.root = root

    def get(self, path: str) -> Fetched | None:
        return self._client.request("GET", self.root + path, headers=signed(self._credential))

    def own(self, path: str) -> Fetched | None:
        """What PRAMANA names no path for is read below `/api/v1`."""
        url = self.root.removesuffix(PREFIX) + _OWN + path
        return self._client.request("GET", url, headers=signed(self._credential))

    def whoami(self) -> dict[str, Any]:
        url = self.root.removesuffix(PREFIX) + "/whoami"
        return members_of(self._client.request("GET", url, headers=signed(self._credential)))

    def post(self, path: str, body: dict[str, Any], *, by: str | None = "", key: str | None = None) -> Fetched | None:
        return self._post(self.root + path, body, by, key)

    def post_own(self, path: str, body: dict[str, Any], *, by: str | None = "") -> Fetched | None:
        """As `own`, for what is changed."""
        return self._post(self.root.removesuffix(PREFIX) + _OWN + path, body, by, None)

    def _post(self, url: str, body: dict[str, Any], by: str | None, key: str | None) -> Fetched | None:
        credential = self._credential if by == "" else by
        headers = {**_JSON, **signed(credential), **({} if key is None else {"idempotency-key": key})}
        return self._client.request("POST", url, content=msgspec.json.encode(body), headers=headers)


class Checking:
    """One run; each step adds what it fetched to the evidence."""

    def __init__(self, service: Service, probe: Probe, at: Instant, evidence: Evidence) -> None:
        self._service = service
        self._probe = probe
        self._stamp = render_instant(at)
        self._evidence = evidence
        self._user = str(service.whoami().get("id", ""))
        self._reports = 0
        self._taken: set[str] = set()
        self._has_opened = False

    def run(self, listening: Listening, *, active: bool) -> Evidence:
        self._look()
        if active:
            self._act()
            self._keep(attacks=(*self._evidence.attacks, *self._attacks_on_floor()))
            provoked = self._provoked()
            events = listening.received(lambda found: self._has_heard(found, provoked), seconds=self._probe.seconds)
            self._keep(events=events, provoked=provoked, **phala_rows(events))
        self._keep(pairs=self._service.get("/pairs"), queue=self._service.own("/pairs/queue"))
        return self._evidence

    def _has_heard(self, events: tuple[bytes, ...], provoked: Collection[StandardEvent]) -> bool:
        """Every kind of event that was provoked, and every signal that was taken: the last may be the telling one."""
        heard = {row.get("query_context") for row in told_signals(events)}
        return {str(one) for one in provoked} <= types_of(events) and self._taken <= heard

    def _look(self) -> None:
        slugs = members_of(self._evidence.state).get("can_answer", [])
        asked = [self._ask(str(slug)) for slug in slugs if isinstance(slugs, list)]
        answers = tuple(one for one in asked if one is not None)
        inferred = [one for one in answers if annotation_of(one).get("authenticity_level") == Level.INFERRED]
        self._keep(
            trust=self._service.get(f"/trust/{quote(self._user, safe='')}"),
            queries=_items(self._service.own("/queries")),
            answers=answers,
            inferred=inferred[0] if inferred else None,
        )

    def _act(self) -> None:
        answer = max(self._evidence.answers, key=lambda one: len(rules_of(one)), default=None)
        rules = [] if answer is None else rules_of(answer)
        if answer is None or not rules:
            return
        self._keep(rule_before=self._counters(rules[0]), sense_emit=self._emit())
        known = self._open_items(rules)
        items = self._fail(rules, str(annotation_of(answer).get("query_type", "")))
        self._keep(rule_after=self._counters(rules[0]))
        self._keep(attacks=self._attacks_on_phala(rules[0]))
        self._has_opened = bool(set(items) - set(known))
        shown = [self._item(item_id) for item_id in items]
        if not shown:
            return
        self._keep(root_cause=root_cause_of(shown[0]), **plugin_of(shown[0]))
        self._keep(attacks=(*self._evidence.attacks, self._attack_on_conclusion(items[0], shown[0])))
        # All of them, also after one that failed.
        done = [self._conclude(item_id, one) for item_id, one in zip(items, shown, strict=True)]
        if all(done):
            self._succeed(str(annotation_of(answer).get("query_type", "")), rules)

    def _ask(self, slug: str) -> Fetched | None:
        return self._service.post("/query", {"query_type": slug, "question": self._probe.question_for(slug)})

    def _emit(self) -> Fetched | None:
        name = self._user.partition(":")[2]
        event = {"event_type": "check.ran", "service": name, "timestamp": self._stamp, "payload": {}}
        return self._service.post("/sense/emit", event)

    def _signal(self, outcome: Outcome, rules: list[str], answer: Fetched | None) -> dict[str, Any]:
        """About an answer, in its own words: an outcome that does not fit its answer may be refused."""
        self._reports += 1
        told = {} if answer is None else annotation_of(answer)
        return {
            "signal_type": "phala",
            "rule_ids": rules,
            "applied_by": APPLIED_BY,
            "query_context": f"conformance check, signal {self._reports}",
            "outcome": str(outcome),
            "strands_available": told.get("strands_present", ["capability"]),
            "strand_missing": told.get("strands_missing", ["proof"]),
            "authenticity_level": told.get("authenticity_level", "PRAMANA-1"),
            "rca_triggered": False,
            "timestamp": self._stamp,
            "session_id": _SESSIONS[self._reports % len(_SESSIONS)],
            "answer_id": told.get("answer_id", ""),
        }

    def _fail(self, rules: list[str], slug: str) -> list[str]:
        """Failures until each rule has a root cause: at once, or where signals are batched, after some windows."""
        items: list[str] = []
        for _ in range(_MOST_ROUNDS):
            self._report(Outcome.FAILURE, rules, slug, times=_LEAST_FAILURES)
            items = self._await(lambda: self._open_items(rules), lambda found: len(found) == len(rules), share=0.2)
            if len(items) == len(rules):
                break
        return items

    def _report(self, outcome: Outcome, rules: list[str], slug: str, *, times: int) -> None:
        """Each about an answer of its own: an answer has one outcome."""
        for _ in range(times):
            body = self._signal(outcome, rules, self._ask(slug))
            receipt = self._tell(body, str(self._reports))
            if receipt is not None:
                found = self._evidence
                self._keep(reported=(*found.reported, outcome), receipts=(*found.receipts, receipt))

    def _open_items(self, rules: list[str]) -> list[str]:
        found = [members_of(self._service.own(f"/rules/{quote(one, safe='')}")).get("item_id") for one in rules]
        return [str(one) for one in found if one]

    def _item(self, item_id: str) -> dict[str, Any]:
        """As people are shown it, once they are."""
        path = f"/root-causes/{quote(item_id, safe='')}"
        return self._await(lambda: members_of(self._service.own(path)), lambda found: bool(found.get("ticket")))

    def _conclude(self, item_id: str, shown: dict[str, Any]) -> bool:
        if self._probe.session is None:
            return False
        done = self._service.post_own(self._path(item_id), self._conclusion(shown), by=self._probe.session)
        return done is not None and done.status in range(200, 300)

    def _path(self, item_id: str) -> str:
        return f"/root-causes/{quote(item_id, safe='')}/conclusion"

    def _conclusion(self, shown: dict[str, Any]) -> dict[str, Any]:
        ticket = shown.get("ticket") or {}
        return {
            "failure_category": "C",
            "siddhanta": f"conformance check of {self._stamp}: the rule failed every time",
            "seen": ticket.get("shown_hash", ""),
            "corrected_rule": f"Replaced by the conformance check of {self._stamp}.",
        }

    def _succeed(self, slug: str, rules: list[str]) -> None:
        """Versions that a person called wrong are wrong steps: a success by two of them is one of two wrongs."""
        again = self._ask(slug)
        if again is not None:
            body = self._signal(Outcome.SUCCESS, rules, again)
            self._tell(body, "success")

    def _tell(self, signal: dict[str, Any], name: str) -> Fetched | None:
        receipt = self._service.post("/phala", signal, key=f"check-{self._stamp}-{name}")
        if receipt is not None and receipt.status in _TAKEN:
            self._taken.add(signal["query_context"])
        return receipt

    def _counters(self, rule_id: str) -> Fetched | None:
        """The counters by their names, beside the id of their rule."""
        found = self._service.own(f"/rules/{quote(rule_id, safe='')}")
        members = members_of(found)
        tally = members.get("tally")
        if found is None or not isinstance(tally, dict):
            return found
        told = {"rule_id": members.get("rule_id"), **tally}
        return Fetched(status=found.status, content=msgspec.json.encode(told))

    def _attacks_on_phala(self, rule_id: str) -> tuple[AttackResult, ...]:
        """Without a key, by somebody who was granted nothing, and the same signal once more."""
        signal = self._signal(Outcome.FAILURE, [rule_id], None)
        signal.pop("answer_id")
        results = [self._attack_on_phala(Attack.PHALA_WITHOUT_KEY, signal, None, "check-none")]
        if self._probe.session is not None:
            stranger = self._probe.session
            results.append(self._attack_on_phala(Attack.PHALA_OUT_OF_SCOPE, signal, stranger, "check-scope"))
        self._service.post("/phala", signal, key=f"check-{self._stamp}-replayed")
        before = self._counters(rule_id)
        again = self._service.post("/phala", signal, key=f"check-{self._stamp}-replayed")
        changed = content_of(self._counters(rule_id)) != content_of(before)
        results.append(AttackResult(attack=Attack.PHALA_REPLAYED, status=status_of(again), changed=changed))
        return tuple(results)

    def _attack_on_phala(self, attack: Attack, signal: dict[str, Any], by: str | None, key: str) -> AttackResult:
        rule_id = str(signal["rule_ids"][0])
        before = self._counters(rule_id)
        answer = self._service.post("/phala", signal, by=by, key=f"{key}-{self._stamp}")
        changed = content_of(self._counters(rule_id)) != content_of(before)
        return AttackResult(attack=attack, status=status_of(answer), changed=changed)

    def _attack_on_conclusion(self, item_id: str, shown: dict[str, Any]) -> AttackResult:
        """By a service with its key, which is no person in session."""
        answer = self._service.post_own(self._path(item_id), self._conclusion(shown))
        after = members_of(self._service.own(f"/root-causes/{quote(item_id, safe='')}"))
        closed = after.get("conclusion") is not None
        return AttackResult(attack=Attack.CONCLUSION_WITHOUT_PERSON, status=status_of(answer), changed=closed)

    def _attacks_on_floor(self) -> tuple[AttackResult, ...]:
        """Where an answer is withheld from somebody, they ask for it with a lower floor of their own choice."""
        if self._probe.floored is None:
            return ()
        for answer in self._evidence.answers:
            slug = annotation_of(answer).get("query_type")
            wish = {"query_type": slug, "question": self._probe.question_for(str(slug))}
            if members_of(self._service.post("/query", wish, by=self._probe.floored)).get("withheld") is True:
                lowered = self._service.post("/query", {**wish, "authenticity_level_floor": 0}, by=self._probe.floored)
                seen = members_of(lowered).get("output") is not None
                return (AttackResult(attack=Attack.FLOOR_LOWERED_BY_CLIENT, status=status_of(lowered), changed=seen),)
        return ()

    def _provoked(self) -> tuple[StandardEvent, ...]:
        found = [StandardEvent.QUERY_RECEIVED, StandardEvent.QUERY_ANSWERED, StandardEvent.PHALA_GENERATED]
        found += [StandardEvent.RCA_TRIGGERED] if self._has_opened else []
        closing = [StandardEvent.RCA_CLOSED, StandardEvent.TRAINING_PAIR_CAPTURED]
        return (*found, *(closing if self._probe.session is not None else ()))

    def _await(self, look: Callable[[], T], enough: Callable[[T], bool], *, share: float = 1.0) -> T:
        """Look until it is enough, or the time is over; what was seen last."""
        deadline = monotonic() + self._probe.seconds * share
        while not enough(found := look()) and monotonic() < deadline:
            sleep(_GLANCE_SECONDS)
        return found

    def _keep(self, **fetched: Any) -> None:  # noqa: ANN401  any field of the evidence
        self._evidence = msgspec.structs.replace(self._evidence, **fetched)


def _items(page: Fetched | None) -> Fetched | None:
    """The items of a page as a list of their own."""
    items = members_of(page).get("items")
    if page is None or not isinstance(items, list):
        return page
    return Fetched(status=page.status, content=msgspec.json.encode(items))


def check_delivery(
    client: StreamClient, base_url: str, profile: Profile, *, probe: Probe, active: bool = False, at: Instant
) -> Report:
    """Never raises for a bad service; what could not be tried is not met."""
    service = Service(client, base_url.rstrip("/") + PREFIX, probe.credential)
    evidence = Evidence(state=service.get("/state"))
    if probe.credential is not None:
        with client.listen(f"{service.root}/sense/events", signed(probe.credential)) as listening:
            evidence = Checking(service, probe, at, evidence).run(listening, active=active)
    return judge_delivery(evidence, profile)
