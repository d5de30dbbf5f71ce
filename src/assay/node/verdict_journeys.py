"""Verdicts: telemetry judged by a signed knowledge graph."""

import logging
from collections.abc import Generator, Iterable, Mapping
from contextlib import closing

from assay.flows.delivery.handle_intake import Handled, handle_record
from assay.flows.review.answer_review import Answered
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.verdicts.attest_verdict import ATTEST, attest_verdict
from assay.flows.verdicts.change_graphs import (
    GraphInReview,
    LoadedGraph,
    ReleasedGraph,
    load_graph,
    release_graph,
    review_graph,
)
from assay.flows.verdicts.coverage import CoverageReport, check_agreement, show_coverage
from assay.flows.verdicts.evaluate_many import Evaluated, evaluate_many
from assay.flows.verdicts.evaluate_record import evaluate_record
from assay.flows.verdicts.graph_impact import GraphImpact, graph_impact
from assay.flows.verdicts.inspect_graph import KeptGraph, ListedGraph, list_graphs, show_graph
from assay.flows.verdicts.read_verdicts import (
    Decided,
    HeldVerdict,
    list_held,
    list_verdicts,
    show_transcript,
    show_verdict,
)
from assay.flows.verdicts.receipts import prove_verdict
from assay.flows.verdicts.replay_verdict import replay_record, replay_verdict
from assay.kernel.bundle import Bundle
from assay.kernel.digest import parse_digest
from assay.kernel.ids import parse_ticket_id
from assay.kernel.instant import Instant
from assay.kernel.transcript import Transcript
from assay.node.ledger_journeys import LedgerJourneys
from assay.ports.signer import Signer
from assay.ports.verdict_store import VerdictRow
from assay.verdicts.agreement import Canary
from assay.verdicts.replay import Replay

Record = bytes | str | Mapping[str, object]
_log = logging.getLogger("assay.ski")


class VerdictJourneys(LedgerJourneys):
    """The model is started by the first record, and never by opening the node."""

    def review_graph(self, document: bytes, *, credential: str | None = None) -> GraphInReview:
        """Put a knowledge graph to the reviewers, as an operator."""
        return review_graph(
            self._writing(), document, credential=self._token(credential, "graphs:write"), at=self._now()
        )

    def release_graph(
        self, content_hash: str, *, signer: Signer | None = None, credential: str | None = None
    ) -> ReleasedGraph:
        """Sign a graph that people accepted: with this key, else with the node's review key."""
        tools = self._writing()
        return release_graph(
            tools,
            parse_digest(content_hash),
            signer or tools.review_signer,
            credential=self._token(credential, "graphs:write"),
            at=self._now(),
        )

    def load_graph(
        self, document: bytes, *, downgrade_reason: str | None = None, credential: str | None = None
    ) -> LoadedGraph:
        """Bring a signed graph into use, as an operator; its notices are in the log, too."""
        loaded = load_graph(
            self._writing(),
            document,
            credential=self._token(credential, "graphs:write"),
            at=self._now(),
            downgrade_reason=downgrade_reason,
        )
        for notice in loaded.notices:
            _log.warning("%s: %s", notice.code, notice.message)
        return loaded

    def graphs(self) -> tuple[ListedGraph, ...]:
        """Knowledge graphs in the order in which they were handed in."""
        return list_graphs(self.tools, self.tenant_id)

    def graph(self, named: str | None = None) -> KeptGraph:
        """The graph of that hash, of its document or its content; else the one in use."""
        return show_graph(self.tools, self.tenant_id, None if named is None else parse_digest(named))

    def graph_impact(
        self, document: bytes, *, first: int = 1, last: int | None = None, credential: str | None = None
    ) -> GraphImpact:
        """Which recorded verdicts a candidate would change; it need not be signed yet."""
        token = self._token(credential, "verdicts:read")
        return graph_impact(self._reasoning(), document, credential=token, at=self._now(), first=first, last=last)

    def coverage(self) -> CoverageReport:
        """Subjects that the rules did not speak about."""
        return show_coverage(self.tools, self.tenant_id)

    def agreement(self) -> Canary:
        """How often the verifier agreed with the model over the latest verdicts."""
        return check_agreement(self.tools, self.tenant_id)

    def evaluate(self, record: Record, *, credential: str | None = None) -> Decided:
        """Judge one record by every rule that applies to it; durable before it returns.

        A record that was judged before is answered with what is recorded.
        """
        self._writing()
        return evaluate_record(
            self._reasoning(), record, credential=self._token(credential, "verdicts:write"), at=self._now()
        )

    def evaluate_many(
        self, lines: Iterable[bytes | str], *, workers: int = 1, credential: str | None = None
    ) -> Generator[Evaluated]:
        """Judge record after record; one that is refused costs no other anything."""
        self._writing()
        tools, token = self._reasoning(), self._token(credential, "verdicts:write")
        with closing(evaluate_many(tools, lines, credential=token, workers=workers)) as results:
            yield from results

    def answer_record(self, record: Record, *, credential: str | None = None) -> Handled:
        """Judge one record, and deliver its verdicts gated and marked."""
        self._writing()
        return handle_record(
            self._handling(), record, credential=self._token(credential, "verdicts:write"), at=self._now()
        )

    def verdicts_of(self, telemetry_id: str) -> Decided:
        """What is on record for a telemetry id; what is held has no verdict yet."""
        return show_verdict(self.tools, self.tenant_id, telemetry_id)

    def verdicts(
        self,
        *,
        rule_id: str | None = None,
        subject: str | None = None,
        verdict: str | None = None,
        from_at: Instant | None = None,
        to: Instant | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> tuple[VerdictRow, ...]:
        """What stands, the newest first, from before an entry's number on; of records measured in a period."""
        return list_verdicts(
            self.tools,
            self.tenant_id,
            rule_id=rule_id,
            subject=subject,
            verdict=verdict,
            since=from_at,
            until=to,
            before=before,
            limit=limit,
        )

    def transcript(self, transcript_ref: str) -> Transcript:
        """What the model was asked, and what it answered."""
        return show_transcript(self.tools, self.tenant_id, transcript_ref)

    def held(self) -> tuple[HeldVerdict, ...]:
        """Verdicts that wait for a person."""
        return list_held(self.tools, self.tenant_id, at=self._now())

    def attest(
        self,
        ticket_id: str,
        choice: str = ATTEST,
        *,
        seen: str | None = None,
        reason: str = "",
        signing: Signer | None = None,
        credential: str | None = None,
    ) -> Answered:
        """Answer for a held verdict, as a person: with a signed token over exactly that envelope."""
        return attest_verdict(
            self._writing(),
            parse_ticket_id(ticket_id),
            choice,
            credential=self._token(credential, "review:answer"),
            follow_ups=ROOM_FOLLOW_UPS,
            at=self._now(),
            reason=reason,
            signing=signing,
            seen=None if seen is None else parse_digest(seen),
        )

    def replay(self, record: str | int) -> tuple[Replay, ...]:
        """Reach recorded verdicts again from what is stored: those of a telemetry id, or the one of an entry."""
        tools = self._reasoning()
        if isinstance(record, int):
            return (replay_verdict(tools, self.tenant_id, record),)
        return tuple(replay_record(tools, self.tenant_id, record))

    def prove_verdict(self, telemetry_id: str) -> tuple[Bundle, ...]:
        """The files that prove the verdicts of a record, one for each rule, with the receipt where there is one."""
        return self._proved(lambda tools: prove_verdict(tools, self.tenant_id, telemetry_id))
