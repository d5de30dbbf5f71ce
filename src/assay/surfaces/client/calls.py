"""Every call of `/api/v1`: each function takes what its route takes, and names the type of its answer."""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.claims.bundle import ClaimBundle
from assay.flows.claims.attach_evidence import AttachedEvidence
from assay.flows.claims.show_claims import ListedClaims
from assay.flows.delivery.count_outcome import Reported
from assay.flows.delivery.inspect_delivery import RuleLine, ShownItem, ShownRuleRecord
from assay.flows.identity.inspect_principal import PrincipalView
from assay.flows.review.answer_desk import DeskAnswer
from assay.flows.review.inspect_review import ReviewView
from assay.flows.truth.observe import Observed
from assay.flows.verdicts.load_graph import LoadedGraph
from assay.flows.verdicts.page_verdicts import ListedVerdict
from assay.flows.verdicts.read_verdict import Decided
from assay.identity.principal import Principal
from assay.ports.graph_store import GraphActivation, GraphHead
from assay.registry.discover import ServiceEntry
from assay.review.ticket import Ticket
from assay.surfaces.client.call import Call, Given, Lines, Listing, content_of, path, query
from assay.surfaces.http.v1 import claim_shapes, contract_shapes, shapes
from assay.verdicts.agreement import Canary
from assay.verdicts.cover import CoverageEntry

__all__ = [
    "OBSERVATION_LINES",
    "OUTCOME_LINES",
    "TELEMETRY_LINES",
    "agreement",
    "answer",
    "answer_claims",
    "answer_ticket",
    "answers",
    "append",
    "ask",
    "attach_evidence",
    "checkpoint",
    "checkpoints",
    "claim",
    "claims",
    "compile_state",
    "contract",
    "contracts",
    "coverage",
    "entries",
    "entry",
    "evaluate",
    "gate",
    "graph",
    "graph_document",
    "graphs",
    "indexes",
    "load_graph",
    "observation",
    "observations",
    "observe",
    "open_ticket",
    "outcome",
    "outcomes",
    "principal",
    "principals",
    "prove_answer",
    "prove_entry",
    "prove_search",
    "prove_state",
    "release_contract",
    "report",
    "resume_answer",
    "resume_claim",
    "root_cause",
    "root_causes",
    "rule",
    "rules",
    "seal_index",
    "search",
    "service",
    "services",
    "sign_checkpoint",
    "sovereignty",
    "state",
    "state_claims",
    "states",
    "ticket",
    "tickets",
    "verdict",
    "verdict_claims",
    "verdicts",
    "verdicts_of",
    "versions",
]

# A telemetry record is answered with whole envelopes, so fewer of them go at once.
OBSERVATION_LINES = Lines(path=path("observations:bulk"), most=500)
TELEMETRY_LINES = Lines(path=path("telemetry:bulk"), most=50)
OUTCOME_LINES = Lines(path=path("outcomes:bulk"), most=500)


def _get(answer: Any, *parts: str | int, **asked: object) -> Call[Any]:  # noqa: ANN401 - any type
    return Call(method="GET", path=path(*parts), answer=answer, query=query(**asked))


def _post(answer: Any, given: Given | None, *parts: str | int, **headers: str) -> Call[Any]:  # noqa: ANN401 - any type
    content = None if given is None else content_of(given)
    return Call(method="POST", path=path(*parts), answer=answer, content=content, headers=headers)


def _match(if_match: str | None) -> dict[str, str]:
    return {} if if_match is None else {"if-match": if_match}


def contracts(*, limit: int = 100) -> Listing[contract_shapes.ShownContract]:
    """Every released contract, by claim type."""
    return Listing(path=path("contracts"), page=contract_shapes.ContractPage, query=query(limit=limit))


def contract(claim_type: str) -> Call[contract_shapes.WholeContract]:
    """One contract with its canonical text."""
    return _get(contract_shapes.WholeContract, "contracts", claim_type)


def release_contract(text: str, schema: bytes | None = None) -> Call[contract_shapes.ShownContract]:
    """Release a contract, as an operator; `schema` is the one that it refers to, if it does."""
    schema_text = None if schema is None else schema.decode()
    wanted = contract_shapes.ContractRequest(document=text, schema_text=schema_text)
    return _post(contract_shapes.ShownContract, wanted, "contracts")


def observations(
    *, truthkey: str | None = None, reporter_id: str | None = None, limit: int = 100
) -> Listing[shapes.ObservationItem]:
    """What was seen, in the order it was recorded."""
    asked = query(truthkey=truthkey, reporter_id=reporter_id, limit=limit)
    return Listing(path=path("observations"), page=shapes.ObservationPage, query=asked)


def observation(observation_id: str) -> Call[shapes.ObservationItem]:
    """One observation by its id."""
    return _get(shapes.ObservationItem, "observations", observation_id)


def observe(given: Given) -> Call[Observed]:
    """Record what was seen."""
    return _post(Observed, given, "observations")


def states(*, claim_type: str | None = None, at: str | None = None, limit: int = 100) -> Listing[shapes.StateItem]:
    """The latest state of each key, or what was known at an instant."""
    return Listing(path=path("states"), page=shapes.StatePage, query=query(claim_type=claim_type, at=at, limit=limit))


def state(truthkey: str, *, at: str | None = None) -> Call[shapes.StateItem]:
    """The latest state of a key, or what was known of it at an instant."""
    return _get(shapes.StateItem, "states", truthkey, at=at)


def versions(truthkey: str, *, limit: int = 100) -> Listing[shapes.StateItem]:
    """Every state of a key, the oldest first."""
    return Listing(path=path("states", truthkey, "versions"), page=shapes.StatePage, query=query(limit=limit))


def state_claims(truthkey: str) -> Call[ClaimBundle]:
    """The latest state of a key as a FACT with its evidence."""
    return _get(ClaimBundle, "states", truthkey, "claims")


def prove_state(truthkey: str) -> Call[dict[str, Any]]:
    """The latest state of a key as a proof bundle with every entry it was compiled from."""
    return _get(dict[str, Any], "states", truthkey, "proof")


def compile_state(truthkey: str) -> Call[shapes.CompiledState]:
    """Compile a key now, as an operator."""
    return _post(shapes.CompiledState, None, "states", truthkey, "compile")


def evaluate(record: Given) -> Call[Decided]:
    """Judge a record by every rule that applies to it."""
    return _post(Decided, record, "telemetry")


def verdicts_of(telemetry_id: str) -> Call[Decided]:
    """Every rule's verdict on a record."""
    return _get(Decided, "telemetry", telemetry_id, "verdicts")


def verdict_claims(telemetry_id: str) -> Call[ClaimBundle]:
    """The verdicts of a record as INFERENCE, citing the clauses."""
    return _get(ClaimBundle, "telemetry", telemetry_id, "claims")


def verdicts(
    *,
    rule_id: str | None = None,
    subject: str | None = None,
    verdict: str | None = None,
    from_at: str | None = None,
    to: str | None = None,
    standing: bool | None = None,
    limit: int = 100,
) -> Listing[ListedVerdict]:
    """Verdicts, the newest first."""
    period = {"from": from_at, "to": to}
    asked = query(rule_id=rule_id, subject=subject, verdict=verdict, standing=standing, limit=limit, **period)
    return Listing(path=path("verdicts"), page=shapes.VerdictPage, query=asked)


def verdict(sequence_number: int) -> Call[ListedVerdict]:
    """The verdict in an entry."""
    return _get(ListedVerdict, "verdicts", sequence_number)


def graphs(*, limit: int = 100) -> Listing[GraphHead]:
    """Knowledge graphs in the order they came."""
    return Listing(path=path("graphs"), page=shapes.GraphPage, query=query(limit=limit))


def graph() -> Call[GraphActivation]:
    """The graph in use."""
    return _get(GraphActivation, "graphs", "active")


def graph_document(document_hash: str) -> Call[dict[str, Any]]:
    """A graph as it was received."""
    return _get(dict[str, Any], "graphs", document_hash)


def load_graph(document: Given) -> Call[LoadedGraph]:
    """Put a signed graph into use, as an operator."""
    return _post(LoadedGraph, document, "graphs")


def coverage(*, open_only: bool = False, limit: int = 100) -> Listing[CoverageEntry]:
    """Subjects that the rules did not speak about."""
    asked = query(open=open_only or None, limit=limit)
    return Listing(path=path("coverage"), page=shapes.CoveragePage, query=asked)


def agreement() -> Call[Canary]:
    """How often the verifier agreed with the model."""
    return _get(Canary, "agreement")


def sovereignty() -> Call[dict[str, Any]]:
    """What evaluates there, and whether it stays on the operator's ground; signed."""
    return _get(dict[str, Any], "sovereignty")


def claims(*, agent: str | None = None, limit: int = 100) -> Listing[ListedClaims]:
    """Bundles, the newest first."""
    return Listing(path=path("claims"), page=claim_shapes.ClaimPage, query=query(agent=agent, limit=limit))


def claim(bundle_hash: str) -> Call[claim_shapes.ClaimView]:
    """A bundle with every decision about it."""
    return _get(claim_shapes.ClaimView, "claims", bundle_hash)


def gate(
    bundle: Mapping[str, Any],
    *,
    thread: str | None = None,
    tool_arguments: Sequence[str] = (),
    questions: Mapping[str, str] | None = None,
) -> Call[claim_shapes.GatedBundle]:
    """Gate a bundle of one's own."""
    wanted = claim_shapes.GateBundle(
        bundle=dict(bundle), thread=thread, tool_arguments=tuple(tool_arguments), questions=dict(questions or {})
    )
    return _post(claim_shapes.GatedBundle, wanted, "claims")


def resume_claim(
    bundle_hash: str, bundle: Mapping[str, Any] | None = None, *, if_match: str | None = None
) -> Call[claim_shapes.GatedBundle]:
    """Gate a waiting bundle again, or put another in its place."""
    wanted = claim_shapes.ResumeBundle(bundle=None if bundle is None else dict(bundle))
    return _post(claim_shapes.GatedBundle, wanted, "claims", bundle_hash, "resume", **_match(if_match))


def attach_evidence(content: bytes) -> Call[AttachedEvidence]:
    """Keep content under its SHA-256, which pointers of claims name."""
    return _post(AttachedEvidence, content, "evidence", **{"content-type": "application/octet-stream"})


def answers(*, asked_by: str | None = None, limit: int = 100) -> Listing[shapes.AnswerLine]:
    """Answers, the newest first."""
    return Listing(path=path("answers"), page=shapes.AnswerPage, query=query(asked_by=asked_by, limit=limit))


def answer(answer_id: str) -> Call[shapes.AnswerDetail]:
    """How an answer was marked and on which rules."""
    return _get(shapes.AnswerDetail, "answers", answer_id)


def ask(
    query_type: str,
    question: Any = None,  # noqa: ANN401 - any JSON
    *,
    session_id: str | None = None,
    nonce: str | None = None,
) -> Call[shapes.AnsweredQuestion]:
    """Ask; the answer is gated, marked and on record, and its annotation names the `nonce`, if there is one."""
    wanted = shapes.Question(query_type=query_type, question=question, session_id=session_id, nonce=nonce)
    return _post(shapes.AnsweredQuestion, wanted, "answers")


def answer_claims(answer_id: str) -> Call[ClaimBundle]:
    """One's own answer by the claims that it was gated by, unless it is withheld."""
    return _get(ClaimBundle, "answers", answer_id, "claims")


def prove_answer(answer_id: str) -> Call[dict[str, Any]]:
    """One's own answer with its output as a proof bundle, unless it is withheld."""
    return _get(dict[str, Any], "answers", answer_id, "proof")


def resume_answer(answer_id: str) -> Call[shapes.AnsweredQuestion]:
    """One's own answer that the gates held back, with what people answered meanwhile."""
    return _post(shapes.AnsweredQuestion, None, "answers", answer_id, "resume")


def outcomes(*, answer_id: str | None = None, limit: int = 100) -> Listing[shapes.OutcomeLine]:
    """What was reported, the newest first."""
    return Listing(path=path("outcomes"), page=shapes.OutcomePage, query=query(answer_id=answer_id, limit=limit))


def outcome(signal: Given) -> Call[Reported]:
    """Report what came of an answer; of one of that node, `answer_id` and `outcome` are enough."""
    return _post(Reported, signal, "outcomes")


def rules(*, limit: int = 100) -> Listing[RuleLine]:
    """Every rule with its counters."""
    return Listing(path=path("rules"), page=shapes.RulePage, query=query(limit=limit))


def rule(rule_id: str) -> Call[ShownRuleRecord]:
    """One rule: its versions, who stands by them, and what came of it."""
    return _get(ShownRuleRecord, "rules", rule_id)


def root_causes(*, open_only: bool = False, limit: int = 100) -> Listing[ShownItem]:
    """Root causes, the newest first; with `open_only`, those that nobody concluded yet."""
    asked = query(open=open_only or None, limit=limit)
    return Listing(path=path("root-causes"), page=shapes.RootCausePage, query=asked)


def root_cause(item_id: str) -> Call[ShownItem]:
    """One root cause as its ticket shows it, and what came of it."""
    return _get(ShownItem, "root-causes", item_id)


def tickets(
    *, settled: bool = False, kind: str | None = None, about: str | None = None, limit: int = 100
) -> Listing[shapes.TicketItem]:
    """Questions to people: those that wait, or all."""
    asked = query(settled=settled or None, kind=kind, about=about, limit=limit)
    return Listing(path=path("tickets"), page=shapes.TicketPage, query=asked)


def ticket(ticket_id: str) -> Call[ReviewView]:
    """What a ticket shows, and every answer."""
    return _get(ReviewView, "tickets", ticket_id)


def open_ticket(
    title: str,
    shown: object,
    *,
    eligible_roles: Sequence[str],
    requested_by: str | None = None,
    about: str | None = None,
    quorum: int = 1,
    due_at: str | None = None,
) -> Call[Ticket]:
    """Ask people for an approval, as an operator in session; `shown` is a text, or a document shown canonically."""
    asked = {"title": title, "shown": shown, "eligible_roles": tuple(eligible_roles), "quorum": quorum}
    more = {"requested_by": requested_by, "about": about, "due_at": due_at}
    return _post(Ticket, {**asked, **more}, "tickets")


def answer_ticket(
    ticket_id: str,
    choice: str,
    *,
    seen: str,
    reason: str = "",
    body: Mapping[str, Any] | None = None,
    signature: str | None = None,
    answered_at: str | None = None,
    if_match: str | None = None,
) -> Call[DeskAnswer]:
    """Answer in one's own session; `seen` is the hash of what the ticket showed.

    With a key of one's own: `signature` (hex) over the message of `prepare_answer`, and its `answered_at`.
    """
    wanted = shapes.TicketAnswer(
        choice=choice,
        seen=seen,
        reason=reason,
        body=dict(body or {}),
        signature=signature,
        answered_at=answered_at,
    )
    return _post(DeskAnswer, wanted, "tickets", ticket_id, "answers", **_match(if_match))


def services(
    *, domain: str | None = None, answers: str | None = None, does: str | None = None, limit: int = 100
) -> Listing[ServiceEntry]:
    """Services that were found to serve what they declare."""
    asked = query(domain=domain, answers=answers, does=does, limit=limit)
    return Listing(path=path("services"), page=shapes.ServicePage, query=asked)


def service(service_id: str) -> Call[shapes.ServiceView]:
    """A service and its instances."""
    return _get(shapes.ServiceView, "services", service_id)


def principals(*, limit: int = 100) -> Listing[Principal]:
    """Every principal of the tenant."""
    return Listing(path=path("principals"), page=shapes.PrincipalPage, query=query(limit=limit))


def principal(principal_id: str) -> Call[PrincipalView]:
    """A principal with every version and its keys."""
    return _get(PrincipalView, "principals", principal_id)


def entries(*, kind: str | None = None, limit: int = 100) -> Listing[shapes.EntryItem]:
    """Entries in order."""
    return Listing(path=path("entries"), page=shapes.EntryPage, query=query(kind=kind, limit=limit))


def entry(sequence_number: int) -> Call[shapes.EntryItem]:
    """One entry."""
    return _get(shapes.EntryItem, "entries", sequence_number)


def search(*terms: str, limit: int = 100) -> Listing[shapes.EntryItem]:
    """Entries that have every one of these terms, as `rule_id=R-1`, the oldest first."""
    return Listing(path=path("search"), page=shapes.EntryPage, query=query(term=terms, limit=limit))


def prove_search(*terms: str) -> Call[bytes]:
    """The file that shows what a search finds and that it left nothing out, as far as indexes reach."""
    return _get(bytes, "search", "proof", term=terms)


def indexes(*, limit: int = 100) -> Listing[shapes.IndexItem]:
    """Logged indexes, in order."""
    return Listing(path=path("indexes"), page=shapes.IndexPage, query=query(limit=limit))


def seal_index() -> Call[shapes.NewIndexes]:
    """Index what no index covers yet, as an operator."""
    return _post(shapes.NewIndexes, None, "indexes")


def append(note: Mapping[str, Any], *, personal: Sequence[str] = ()) -> Call[shapes.EntryReceipt]:
    """Append a note, as an operator."""
    return _post(shapes.EntryReceipt, shapes.NewEntry(note=dict(note), personal=tuple(personal)), "entries")


def checkpoints(*, limit: int = 100) -> Listing[shapes.CheckpointItem]:
    """Signed checkpoints, the smallest first."""
    return Listing(path=path("checkpoints"), page=shapes.CheckpointPage, query=query(limit=limit))


def checkpoint(size: int | None = None) -> Call[shapes.CheckpointItem]:
    """The checkpoint of that size, else the newest."""
    return _get(shapes.CheckpointItem, "checkpoints", "latest" if size is None else size)


def report(
    from_at: str,
    to: str | None = None,
    *,
    rule: str | None = None,
    subject: str | None = None,
    every_kind: bool = False,
    form: str = "html",
) -> Call[bytes]:
    """What was decided in a period, as `html`, `csv` or `json`: the bytes that `assay report` writes."""
    asked = {"from": from_at, "to": to, "rule": rule, "subject": subject, "all": every_kind or None, "format": form}
    return _get(bytes, "reports", **asked)


def sign_checkpoint() -> Call[shapes.CheckpointItem]:
    """Sign the tree as it is now, as an operator."""
    return _post(shapes.CheckpointItem, None, "checkpoints")


def prove_entry(sequence_number: int) -> Call[dict[str, Any]]:
    """Everything that proves an entry offline, but whom to trust; `assay verify` reads it."""
    return _get(dict[str, Any], "proofs", sequence_number)
