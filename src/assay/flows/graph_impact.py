"""What another knowledge graph would have made of the past: every recorded record judged by it, and what changes.

history + candidate -> the verifier's own verdict for each record and rule -> against the one that was computed then
The model is not asked: what changes is what the rules say. Nothing is recorded.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator

from msgspec import Struct

from assay.flows.admit_principal import admit_principal
from assay.flows.graph_shelf import ReadyGraph
from assay.flows.read_verdict import V2_PATH, ReadEntry, get_verdict_entry
from assay.flows.review_graph import open_candidate
from assay.flows.tools import Tools
from assay.identity.principal import BuiltInRole
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.verdicts.envelope import Verdict
from assay.verdicts.slice import slice_graph
from assay.verdicts.telemetry import Telemetry, parse_telemetry
from assay.verdicts.verify import expected_verdict, judge_all
from assay.verdicts.window import BufferedRecord, buffer_record, window_facts

__all__ = ["GraphImpact", "VerdictChange", "graph_impact"]

_MAY = (BuiltInRole.OPERATOR, BuiltInRole.AUDITOR, BuiltInRole.REVIEWER)


class VerdictChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """None before: the rule did not apply; None after: it does not any more."""

    telemetry_id: str
    subject: str
    as_of: Instant
    rule_id: str
    before: Verdict | None
    after: Verdict | None


class GraphImpact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`moves` counts changes by what they are, as `CLEAR -> FLAG`; `changes` lists so many as were asked for."""

    content_hash: Digest
    records: int
    verdicts: int
    changed: int
    moves: dict[str, int]
    changes: tuple[VerdictChange, ...]


def graph_impact(
    tools: Tools,
    document: bytes,
    *,
    credential: str,
    at: Instant,
    first: int = 1,
    last: int | None = None,
    limit: int = 1000,
) -> GraphImpact:
    """By an operator, auditor or reviewer, for a candidate that need not be signed yet."""
    principal = tools.database.read(lambda unit: admit_principal(unit, credential, any_of=_MAY, at=at))
    opened, _ = open_candidate(tools, document, None)
    candidate = ReadyGraph(opened)
    records = verdicts = 0
    moves: Counter[str] = Counter()
    changes: list[VerdictChange] = []
    history = tools.database.read(lambda unit: list(_history(unit, principal.tenant_id, first, last)))
    earlier: defaultdict[str, list[BufferedRecord]] = defaultdict(list)
    # By the records' own time, since windows look back by it.
    for telemetry, before in sorted(history, key=lambda one: (one[0].timestamp, one[0].telemetry_id)):
        after = _judged(candidate, telemetry, earlier[telemetry.subject])
        earlier[telemetry.subject].append(buffer_record(telemetry))
        records, verdicts = records + 1, verdicts + len(after)
        for change in _changes(telemetry, before, after):
            moves[f"{change.before or 'none'} -> {change.after or 'none'}"] += 1
            changes.append(change)
    return GraphImpact(
        content_hash=opened.content_hash,
        records=records,
        verdicts=verdicts,
        changed=len(changes),
        moves=dict(sorted(moves.items())),
        changes=tuple(changes[:limit]),
    )


def _history(
    unit: Unit, tenant_id: TenantId, first: int, last: int | None
) -> Iterator[tuple[Telemetry, dict[str, Verdict]]]:
    """Each record once, with what was computed from the rules of that time."""
    known: dict[str, tuple[Telemetry, dict[str, Verdict]]] = {}
    for row in unit.verdicts.all(tenant_id, first=first, last=last):
        # What settles a held verdict is no second one; what the second runtime judged has another body.
        if row.held_entry is not None or row.path == V2_PATH:
            continue
        read = get_verdict_entry(unit, tenant_id, row.sequence_number)
        if row.telemetry_id not in known:
            known[row.telemetry_id] = (parse_telemetry(read.body.telemetry), {})
        known[row.telemetry_id][1][row.rule_id] = _computed(read)
    yield from known.values()


def _computed(read: ReadEntry) -> Verdict:
    return expected_verdict(read.body.judgements, is_mapped=read.body.is_mapped)


def _judged(graph: ReadyGraph, telemetry: Telemetry, earlier: list[BufferedRecord]) -> dict[str, Verdict]:
    found = slice_graph(graph.index, telemetry.subject, as_of=telemetry.timestamp, jurisdiction=telemetry.jurisdiction)
    verdicts: dict[str, Verdict] = {}
    for docket in graph.dockets_of(found):
        facts = window_facts(docket.plans, telemetry, earlier) if docket.plans else {}
        judgements = judge_all(docket, telemetry, facts)
        verdicts[docket.rule_id] = expected_verdict(judgements, is_mapped=docket.is_mapped)
    return verdicts


def _changes(telemetry: Telemetry, before: dict[str, Verdict], after: dict[str, Verdict]) -> Iterator[VerdictChange]:
    for rule_id in sorted(before.keys() | after.keys()):
        if before.get(rule_id) is not after.get(rule_id):
            yield VerdictChange(
                telemetry_id=telemetry.telemetry_id,
                subject=telemetry.subject,
                as_of=telemetry.timestamp,
                rule_id=rule_id,
                before=before.get(rule_id),
                after=after.get(rule_id),
            )
