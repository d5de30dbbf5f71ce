"""The impact of a graph from the ledger's own texts: read into columns, beside the same history read record by record.

The peer is our own verifier, one record after the other, which is what a loop over the history would do: it reads each
record as strictly as one that just came in. Both are given the texts of the entries; fetching them is not measured.
"""

from assay.flows.verdicts.graph_impact import HistoryReader, read_body
from assay.flows.verdicts.shelves import DocketShelf
from assay.kernel.ledger import Link
from assay.ports.ledger_store import StoredEntry
from assay.verdicts.columns import Vocabulary
from assay.verdicts.columns_change import find_changes
from assay.verdicts.columns_groups import metrics_of
from assay.verdicts.columns_judge import ColumnJudge
from assay.verdicts.graph.index import build_index
from assay.verdicts.telemetry import parse_telemetry
from assay.verdicts.verify import expected_verdict, judge_all
from bench._frame import Figure, compare, print_table
from bench.verifier import Pipeline, graph_of

__all__ = ["figures"]

_RECORDS = 4096


def _row(link: Link) -> StoredEntry:
    verdict = link.draft.verdict
    assert verdict is not None  # noqa: S101 - the pipeline writes nothing else
    return StoredEntry(
        tenant_id=link.draft.tenant_id,
        sequence_number=link.sequence_number,
        previous_hash=link.previous_hash,
        entry_hash=link.entry_hash,
        leaf_hash=link.leaf_hash,
        timestamp=link.timestamp,
        kind=link.draft.kind.value,
        # The pipeline's records come round again; here each is one of its own.
        telemetry_id=f"t-{link.sequence_number}",
        telemetry_hash=verdict.telemetry_hash,
        verdict=verdict.verdict,
        rule_id=verdict.rule_id,
        kg_version_hash=verdict.kg_version_hash,
        model_weight_hash=verdict.model_weight_hash,
        llm_transcript=None,
        verifier_result=None,
        schema_version="",
        text=link.text,
    )


def _by_columns(rows: list[StoredEntry]) -> int:
    graph, vocabulary = graph_of(1), Vocabulary.empty()
    index, changed = build_index(graph), 0
    judge = ColumnJudge(index, vocabulary)
    for batch in HistoryReader(metrics_of(graph), vocabulary, index, is_whole=False).batches(rows):
        changed += len(find_changes(batch.past, judge.judge(batch.columns), vocabulary.rules).rows)
    return changed


def _one_by_one(rows: list[StoredEntry]) -> int:
    shelf, changed = DocketShelf(build_index(graph_of(1))), 0
    for row in rows:
        body = read_body(row)
        before = expected_verdict(body.judgements, is_mapped=body.is_mapped)
        telemetry = parse_telemetry(bytes(body.telemetry))
        found, dockets = shelf.find(telemetry.subject, as_of=telemetry.timestamp, jurisdiction=telemetry.jurisdiction)
        told = [expected_verdict(judge_all(one, telemetry, {}), is_mapped=found.subject is not None) for one in dockets]
        changed += sum(verdict is not before for verdict in told)
    return changed


def figures() -> list[Figure]:
    pipeline = Pipeline(1)
    rows = [_row(pipeline()) for _ in range(_RECORDS)]
    assert _by_columns(rows) == _one_by_one(rows) == 0  # noqa: S101 - two that differ would not be worth comparing
    return [
        compare(
            f"impact from {_RECORDS:,} entries",
            lambda: _by_columns(rows),
            lambda: _one_by_one(rows),
            peer_name="one by one",
            target=2,
            unit="runs/s",
        )
    ]


if __name__ == "__main__":
    print_table(figures())
