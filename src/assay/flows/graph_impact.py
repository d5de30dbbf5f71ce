"""What another knowledge graph would have made of the past: every recorded record judged by it, and what changes.

history + candidate -> the verifier's own verdict for each record and rule -> against the one that was computed then
The model is not asked: what changes is what the rules say. Nothing is recorded.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter

import msgspec
from msgspec import Raw, Struct

from assay.flows.admit_principal import admit_principal
from assay.flows.graph_shelf import ReadyGraph
from assay.flows.review_graph import open_candidate
from assay.flows.tools import Tools
from assay.identity.principal import BuiltInRole
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.verdicts.docket import UNRULED
from assay.verdicts.envelope import Verdict
from assay.verdicts.predicate import Judgement
from assay.verdicts.slice import slice_graph
from assay.verdicts.telemetry import Telemetry, parse_telemetry
from assay.verdicts.verify import expected_verdict, judge_all
from assay.verdicts.window import BufferedRecord, buffer_record, is_windowed, window_facts

__all__ = ["GraphImpact", "VerdictChange", "graph_impact"]

_MAY = (BuiltInRole.OPERATOR, BuiltInRole.AUDITOR, BuiltInRole.REVIEWER)


class _Body(Struct, frozen=True, gc=False):
    """What is needed of a verdict's body: much is read, so no more than that."""

    telemetry: Raw
    is_mapped: bool
    judgements: tuple[Judgement, ...]


class _Entry(Struct, frozen=True, gc=False):
    body: _Body


_DECODER = msgspec.json.Decoder(_Entry)
# What settles a held verdict is no second one; what the second runtime judged has another body.
_KINDS = frozenset({EntryKind.VERDICT.value, EntryKind.VERDICT_HELD.value})
_Record = tuple[Telemetry, dict[str, Verdict]]


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
    """By an operator, auditor or reviewer, for a candidate that need not be signed yet.

    History is streamed, and only kept where the candidate's windows must look back at it.
    """
    principal = tools.database.read(lambda unit: admit_principal(unit, credential, any_of=_MAY, at=at))
    opened, _ = open_candidate(tools, document, None)
    return tools.database.read(
        lambda unit: _weigh(unit, principal.tenant_id, ReadyGraph(opened), first=first, last=last, limit=limit)
    )


def _weigh(
    unit: Unit, tenant_id: TenantId, candidate: ReadyGraph, *, first: int, last: int | None, limit: int
) -> GraphImpact:
    records = verdicts = changed = 0
    moves: Counter[str] = Counter()
    kept: list[VerdictChange] = []
    earlier: defaultdict[str, list[BufferedRecord]] = defaultdict(list)
    looks_back = any(is_windowed(one) for one in candidate.opened.graph.obligations)
    history: Iterable[_Record] = _history(unit, tenant_id, first, last)
    if looks_back:
        # By the records' own time, since windows look back by it; without one nothing need be kept at all.
        history = sorted(history, key=lambda one: (one[0].timestamp, one[0].telemetry_id))
    for telemetry, before in history:
        after = _judged(candidate, telemetry, earlier[telemetry.subject] if looks_back else [])
        if looks_back:
            earlier[telemetry.subject].append(buffer_record(telemetry))
        records, verdicts = records + 1, verdicts + len(after)
        for change in _changes(telemetry, before, after) if before != after else ():
            changed += 1
            moves[f"{change.before or 'none'} -> {change.after or 'none'}"] += 1
            if len(kept) < limit:
                kept.append(change)
    return GraphImpact(
        content_hash=candidate.opened.content_hash,
        records=records,
        verdicts=verdicts,
        changed=changed,
        moves=dict(sorted(moves.items())),
        changes=tuple(kept),
    )


def _history(unit: Unit, tenant_id: TenantId, first: int, last: int | None) -> Iterator[_Record]:
    """Each record once, with what was computed from the rules of its time; its entries follow each other."""
    rows = (row for row in unit.ledger.entries(tenant_id, first=first, last=last) if row.kind in _KINDS)
    for _, group in groupby(rows, key=attrgetter("telemetry_id")):
        entries = list(group)
        bodies = [_DECODER.decode(row.text).body for row in entries]
        computed = {
            row.rule_id or UNRULED: expected_verdict(body.judgements, is_mapped=body.is_mapped)
            for row, body in zip(entries, bodies, strict=True)
        }
        yield parse_telemetry(bytes(bodies[0].telemetry)), computed


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
