"""The journeys of a node, awaited: each on a thread of its own, so that the event loop goes on."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar

from assay.flows.verdicts.evaluate_many import Evaluated
from assay.kernel.json_text import JsonValue
from assay.kernel.ledger import Receipt

if TYPE_CHECKING:
    from assay.node.facade import Node

__all__ = ["AsyncNode"]

P = ParamSpec("P")
T = TypeVar("T")
# Each holds its thread until its commit is durable, and as many as wait at once share one commit.
_THREADS = 32


class AsyncNode:
    """Every method of `Node` under the same name, to be awaited; closing ends what was begun."""

    def __init__(self, node: "Node") -> None:
        self.node = node
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="assay-node")
        self._bind_ledger(node)
        self._bind_truth(node)
        self._bind_verdicts(node)
        self._bind_claims(node)
        self._bind_answers(node)
        self._bind_desk(node)
        self._bind_review(node)
        self._bind_learning(node)
        self._bind_people(node)

    def _bind_ledger(self, node: "Node") -> None:
        self.entries = self._awaited(node.entries)
        self.search = self._awaited(node.search)
        self.seal_index = self._awaited(node.seal_index)
        self.prove_search = self._awaited(node.prove_search)
        self.sign_checkpoint = self._awaited(node.sign_checkpoint)
        self.erase = self._awaited(node.erase)
        self.prove_entry = self._awaited(node.prove_entry)
        self.export_proof = self._awaited(node.export_proof)
        self.report = self._awaited(node.report)
        self.subscribe = self._awaited(node.subscribe)
        self.subscribers = self._awaited(node.subscribers)
        self.verify = self._awaited(node.verify)
        self.audit = self._awaited(node.audit)

    def _bind_truth(self, node: "Node") -> None:
        self.release_contract = self._awaited(node.release_contract)
        self.contracts = self._awaited(node.contracts)
        self.contract = self._awaited(node.contract)
        self.register_policy = self._awaited(node.register_policy)
        self.signal = self._awaited(node.signal)
        self.standings = self._awaited(node.standings)
        self.request_penalty = self._awaited(node.request_penalty)
        self.change_window = self._awaited(node.change_window)
        self.expire_truth = self._awaited(node.expire_truth)
        self.observe = self._awaited(node.observe)
        self.observe_many = self._awaited(node.observe_many)
        self.vote = self._awaited(node.vote)
        self.compile_state = self._awaited(node.compile_state)
        self.state = self._awaited(node.state)
        self.versions = self._awaited(node.versions)
        self.map = self._awaited(node.map)
        self.answer_key = self._awaited(node.answer_key)
        self.replay_truth = self._awaited(node.replay_truth)
        self.prove_state = self._awaited(node.prove_state)
        self.state_claims = self._awaited(node.state_claims)

    def _bind_verdicts(self, node: "Node") -> None:
        self.review_graph = self._awaited(node.review_graph)
        self.release_graph = self._awaited(node.release_graph)
        self.load_graph = self._awaited(node.load_graph)
        self.graphs = self._awaited(node.graphs)
        self.graph = self._awaited(node.graph)
        self.graph_impact = self._awaited(node.graph_impact)
        self.coverage = self._awaited(node.coverage)
        self.agreement = self._awaited(node.agreement)
        self.evaluate = self._awaited(node.evaluate)
        self.answer_record = self._awaited(node.answer_record)
        self.verdicts_of = self._awaited(node.verdicts_of)
        self.verdicts = self._awaited(node.verdicts)
        self.transcript = self._awaited(node.transcript)
        self.held = self._awaited(node.held)
        self.attest = self._awaited(node.attest)
        self.replay = self._awaited(node.replay)
        self.prove_verdict = self._awaited(node.prove_verdict)
        self.verdict_claims = self._awaited(node.verdict_claims)

    def _bind_claims(self, node: "Node") -> None:
        self.gate = self._awaited(node.gate)
        self.resume_claim = self._awaited(node.resume_claim)
        self.claim = self._awaited(node.claim)
        self.claims = self._awaited(node.claims)
        self.gate_policies = self._awaited(node.gate_policies)
        self.attach_evidence = self._awaited(node.attach_evidence)
        self.release_gate_policy = self._awaited(node.release_gate_policy)
        self.estimate = self._awaited(node.estimate)
        self.estimate_verdict = self._awaited(node.estimate_verdict)

    def _bind_answers(self, node: "Node") -> None:
        self.answers = node.answers
        self.strand = node.strand
        self.register_rule = self._awaited(node.register_rule)
        self.register_query = self._awaited(node.register_query)
        self.grant_reporter = self._awaited(node.grant_reporter)
        self.ask = self._awaited(node.ask)
        self.resume_answer = self._awaited(node.resume_answer)
        self.outcome = self._awaited(node.outcome)
        self.rules = self._awaited(node.rules)
        self.rule = self._awaited(node.rule)
        self.trace = self._awaited(node.trace)
        self.prove_answer = self._awaited(node.prove_answer)
        self.answer_claims = self._awaited(node.answer_claims)

    def _bind_desk(self, node: "Node") -> None:
        self.tickets = self._awaited(node.tickets)
        self.ticket = self._awaited(node.ticket)
        self.answer_ticket = self._awaited(node.answer_ticket)
        self.open_ticket = self._awaited(node.open_ticket)
        self.settle_tickets = self._awaited(node.settle_tickets)

    def _bind_review(self, node: "Node") -> None:
        self.queue = self._awaited(node.queue)
        self.desk_ticket = self._awaited(node.desk_ticket)
        self.timeline = self._awaited(node.timeline)
        self.progress = self._awaited(node.progress)
        self.claim_ticket = self._awaited(node.claim_ticket)
        self.release_ticket = self._awaited(node.release_ticket)
        self.assign_ticket = self._awaited(node.assign_ticket)
        self.prioritise_ticket = self._awaited(node.prioritise_ticket)
        self.comment_ticket = self._awaited(node.comment_ticket)
        self.undo_answer = self._awaited(node.undo_answer)
        self.keep_draft = self._awaited(node.keep_draft)
        self.drop_draft = self._awaited(node.drop_draft)
        self.plan_answers = self._awaited(node.plan_answers)
        self.answer_tickets = self._awaited(node.answer_tickets)
        self.keep_view = self._awaited(node.keep_view)
        self.drop_view = self._awaited(node.drop_view)
        self.views = self._awaited(node.views)

    def _bind_learning(self, node: "Node") -> None:
        self.queries = self._awaited(node.queries)
        self.shortfalls = self._awaited(node.shortfalls)
        self.alerts = self._awaited(node.alerts)
        self.ask_certification = self._awaited(node.ask_certification)
        self.certify_rule = self._awaited(node.certify_rule)
        self.root_causes = self._awaited(node.root_causes)
        self.root_cause = self._awaited(node.root_cause)
        self.conclude_root_cause = self._awaited(node.conclude_root_cause)
        self.training_pairs = self._awaited(node.training_pairs)

    def _bind_people(self, node: "Node") -> None:
        self.principals = self._awaited(node.principals)
        self.principal = self._awaited(node.principal)
        self.add_principal = self._awaited(node.add_principal)
        self.amend_principal = self._awaited(node.amend_principal)
        self.disable_principal = self._awaited(node.disable_principal)
        self.request_tier = self._awaited(node.request_tier)
        self.erase_principal = self._awaited(node.erase_principal)
        self.set_password = self._awaited(node.set_password)
        self.keys = self._awaited(node.keys)
        self.issue_key = self._awaited(node.issue_key)
        self.rotate_key = self._awaited(node.rotate_key)
        self.revoke_key = self._awaited(node.revoke_key)
        self.add_public_key = self._awaited(node.add_public_key)
        self.end_public_key = self._awaited(node.end_public_key)
        self.log_in = self._awaited(node.log_in)
        self.log_out = self._awaited(node.log_out)

    async def append(
        self, note: Mapping[str, JsonValue], *, personal: Sequence[str] = (), credential: str | None = None
    ) -> Receipt:
        """As `Node.append`; while the commit is awaited no thread is held, so thousands may wait at once."""
        pending = await self._run(partial(self.node.submit_note, note, personal=personal, credential=credential))
        return await pending

    async def evaluate_many(
        self, lines: Iterable[bytes | str], *, workers: int = 1, credential: str | None = None
    ) -> AsyncGenerator[Evaluated, None]:
        """As `Node.evaluate_many`, an answer at a time; whoever stops early leaves nothing half done."""
        results = self.node.evaluate_many(lines, workers=workers, credential=credential)
        try:
            while (one := await self._run(partial(next, results, None))) is not None:
                yield one
        finally:
            await self._run(results.close)

    async def close(self) -> None:
        """Close the node; twice does nothing."""
        await asyncio.to_thread(self.node.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def end_threads(self) -> None:
        """Wait for what was begun, and begin nothing more."""
        self._threads.shutdown(wait=True)

    def _awaited(self, work: Callable[P, T]) -> Callable[P, Awaitable[T]]:
        async def call(*args: P.args, **kwargs: P.kwargs) -> T:
            return await self._run(partial(work, *args, **kwargs))

        return call

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            running = asyncio.get_running_loop().run_in_executor(self._threads, work)
        except RuntimeError:
            # A node that was closed says so by its own error, rather than its threads by theirs.
            self.node.tools  # noqa: B018 - it raises
            raise
        return await running
