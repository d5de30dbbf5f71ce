"""Operations about verdicts and graphs, performed for a credential at an instant; a test names what it changes."""

from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from assay.flows.model.add_model import AddedModel
from assay.flows.tools import Tools
from assay.flows.verdicts.change_graphs import GraphInReview, LoadedGraph
from assay.flows.verdicts.evaluate import Evaluated, evaluate_stream
from assay.flows.verdicts.examine_sovereignty import MeasurementReport
from assay.flows.verdicts.graph_impact import GraphImpact
from assay.flows.verdicts.inspect_graphs import GraphEvent
from assay.flows.verdicts.read_verdicts import Decided, HeldVerdict, ListedVerdict
from assay.identity.caller import local_caller
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Receipt
from assay.kernel.transcript import Transcript
from assay.operations.dispatch import Dispatcher
from assay.operations.parse import parse_request
from assay.operations.table import BY_NAME
from assay.ports.graph_store import GraphHead
from assay.ports.signer import Signer
from assay.verdicts.cover import CoverageEntry
from tests.acting import caller_of


def perform(tools: Tools, operation_name: str, credential: str, at: Instant, /, **given: Any) -> Any:  # noqa: ANN401 - its result
    """Perform an operation of the table for a credential."""
    operation, caller = BY_NAME[operation_name], caller_of(tools, credential, at=at)
    return Dispatcher(tools=tools)(operation, caller, parse_request(operation, given)).value


def read(tools: Tools, tenant_id: TenantId, name: str, **given: Any) -> Any:  # noqa: ANN401 - its result
    """Perform an operation of the table for the operator of the folder."""
    operation, caller = BY_NAME[name], local_caller(tenant_id, at=given.pop("at", None) or tools.clock.now())
    return Dispatcher(tools=tools)(operation, caller, parse_request(operation, given)).value


def items(tools: Tools, tenant_id: TenantId, name: str, **given: Any) -> Iterator[Any]:  # noqa: ANN401 - fields
    """Every item of a list, page by page."""
    cursor: dict[str, str] = {}
    while True:
        page = read(tools, tenant_id, name, **given, **cursor)
        yield from page.items
        if page.next is None:
            return
        cursor = {"cursor": page.next}


def judge(tools: Tools, given: bytes | str | Mapping[str, object], *, credential: str, at: Instant) -> Decided:
    decided: Decided = perform(tools, "telemetry.evaluate", credential, at, record=given)
    return decided


def evaluate_many(
    tools: Tools, lines: Iterable[bytes | str], *, credential: str, workers: int = 1, together: int = 1
) -> Generator[Evaluated]:
    caller = caller_of(tools, credential, at=tools.clock.now())
    return evaluate_stream(tools, caller, lines, workers=workers, together=together)


def review_graph(tools: Tools, document: bytes, *, credential: str, at: Instant) -> GraphInReview:
    asked: GraphInReview = perform(tools, "graph.review", credential, at, document=document)
    return asked


@dataclass(frozen=True)
class Released:
    head: GraphHead
    document: bytes


def release_graph(tools: Tools, content_hash: Digest, signer: Signer, *, credential: str, at: Instant) -> Released:
    """Sign with a key of one's own, which the node never sees."""
    prepared = perform(tools, "graph.release.prepare", credential, at, content_hash=content_hash)
    assert signer.public_key is not None
    done = perform(
        tools,
        "graph.release",
        credential,
        at,
        content_hash=content_hash,
        public_key=signer.public_key.hex(),
        signature=signer.sign(bytes.fromhex(prepared.message)).hex(),
    )
    return Released(done.head, done.document.encode())


def load_graph(
    tools: Tools, document: bytes, *, credential: str, at: Instant, downgrade_reason: str | None = None
) -> LoadedGraph:
    loaded: LoadedGraph = perform(
        tools, "graph.load", credential, at, document=document, downgrade_reason=downgrade_reason
    )
    return loaded


def graph_impact(tools: Tools, document: bytes, *, credential: str, at: Instant, **more: int) -> GraphImpact:
    found: GraphImpact = perform(tools, "graph.impact", credential, at, document=document, **more)
    return found


def graph_history(tools: Tools, tenant_id: TenantId) -> tuple[GraphEvent, ...]:
    return tuple(items(tools, tenant_id, "graphs.history"))


def list_held(tools: Tools, tenant_id: TenantId, *, at: Instant) -> tuple[HeldVerdict, ...]:
    return tuple(items(tools, tenant_id, "verdicts.held", at=at, limit=500))


def all_verdicts(tools: Tools, tenant_id: TenantId, **asked: Any) -> tuple[ListedVerdict, ...]:  # noqa: ANN401 - filters
    return tuple(items(tools, tenant_id, "verdicts.list", **asked))


def show_transcript(tools: Tools, tenant_id: TenantId, transcript_ref: str) -> Transcript:
    found: Transcript = read(tools, tenant_id, "transcript.show", transcript_ref=transcript_ref)
    return found


def coverage(tools: Tools, tenant_id: TenantId, *, is_open: bool = False) -> tuple[CoverageEntry, ...]:
    return tuple(items(tools, tenant_id, "coverage.list", open=is_open))


def clear_egress(tools: Tools, *, reason: str, credential: str, at: Instant) -> Receipt:
    receipt: Receipt = perform(tools, "sovereignty.clear", credential, at, reason=reason)
    return receipt


def audit_measurements(tools: Tools, tenant_id: TenantId, *, attestation_key: bytes) -> MeasurementReport:
    report: MeasurementReport = read(tools, tenant_id, "sovereignty.audit", attestation_key=attestation_key.decode())
    return report


def add_model(
    tools: Tools,
    content: bytes,
    *,
    name: str,
    version: str,
    credential: str,
    at: Instant,
    parent_hash: str | None = None,
) -> AddedModel:
    added: AddedModel = perform(
        tools, "model.add", credential, at, content=content, name=name, version=version, parent=parent_hash
    )
    return added
