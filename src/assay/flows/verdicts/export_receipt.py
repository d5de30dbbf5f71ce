"""The receipt of one verdict, as a file that a third party checks with the weights alone (SKI 7.5).

entry -> its transcript + the grammar, from the graph it was judged by + the node's keys -> ReceiptFile
"""

from msgspec.structs import replace

from assay.flows.errors import NotFoundError
from assay.flows.tools import Tools
from assay.flows.verdicts.judged_graph import JudgedGraphs, judged_content
from assay.flows.verdicts.verdict_text import ReadEntry, get_verdict_entry
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.kernel.transcript import Transcript
from assay.ports.database import Unit
from assay.verdicts.envelope import VerdictPath
from assay.verdicts.errors import NoReceiptError
from assay.verdicts.receipt import ReceiptFile, metadata_of
from assay.verdicts.slice import slice_graph
from assay.verdicts.telemetry import parse_telemetry


def export_receipt(tools: Tools, tenant_id: TenantId, sequence_number: int) -> ReceiptFile:
    """The receipt of a verdict, or `receipt.none` with the reason; a held one has that of the entry settling it."""
    read, receipt = tools.database.read(lambda unit: _look(unit, tenant_id, sequence_number))
    return replace(receipt, grammar=_grammar(tools, tenant_id, read))


def _look(unit: Unit, tenant_id: TenantId, sequence_number: int) -> tuple[ReadEntry, ReceiptFile]:
    """The receipt but for its grammar, which is not stored."""
    read = get_verdict_entry(unit, tenant_id, sequence_number)
    _require_served(read)
    transcript = unit.transcripts.find(tenant_id, read.envelope.transcript_ref)
    if transcript is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no transcript `{read.envelope.transcript_ref[:80]}`")
    if metadata_of(transcript)[1] is None:
        raise NoReceiptError(f"no receipt offered: {_why_none(transcript)}")
    keys, retirements = unit.keys.endorsements(), unit.keys.retirements()
    entry = _entry_text(unit, tenant_id, sequence_number)
    return read, ReceiptFile(entry=entry, transcript=transcript, grammar="", keys=keys, retirements=retirements)


def _entry_text(unit: Unit, tenant_id: TenantId, sequence_number: int) -> str:
    row = unit.ledger.find_entry(tenant_id, sequence_number)
    return "" if row is None else row.text.decode()


def _require_served(read: ReadEntry) -> None:
    if read.entry.kind == EntryKind.VERDICT_HELD:
        raise NoReceiptError("no receipt offered: the verdict is held, and its receipt would tell what the model said")
    if read.envelope.verdict_path is VerdictPath.FAST:
        raise NoReceiptError("no receipt offered: the fast path asked no model")


def _why_none(transcript: Transcript) -> str:
    if '"failure":' in transcript.response_canonical:
        return "no model answered"
    return f"the backend `{transcript.backend_name}` cannot read a transcript again"


def _grammar(tools: Tools, tenant_id: TenantId, read: ReadEntry) -> str:
    """From the slice, as it was then: whoever checks compares its hash with the transcript's."""
    graph = JudgedGraphs(tools, tenant_id, in_use=tools.graphs).find(judged_content(read.envelope))
    if graph is None:
        raise NoReceiptError("no receipt offered: the graph that the verdict was reached by is not kept")
    try:
        graph = graph.under(read.body.judged_by)
        telemetry = parse_telemetry(read.body.telemetry)
        found = slice_graph(
            graph.index, telemetry.subject, as_of=telemetry.timestamp, jurisdiction=telemetry.jurisdiction
        )
        docket = next(one for one in graph.dockets_of(found) if one.rule_id == read.entry.rule_id)
    except (Error, StopIteration) as error:
        raise NoReceiptError("no receipt offered: the rule cannot be put together again") from error
    return docket.grammar.canonical.decode()
