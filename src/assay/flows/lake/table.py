"""The tables of the lake: which entries they hold, and where in an entry's text each column is found."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.kernel.merkle import leaf_hash
from assay.ports.table_format import Column, ColumnType, Row, Value


class Table(NamedTuple):
    """One table; `columns` come behind those that every table has."""

    name: str
    kinds: frozenset[EntryKind]
    columns: tuple[Column, ...]


def _texts(**paths: str) -> tuple[Column, ...]:
    return tuple(Column(name, ColumnType.TEXT, tuple(path.split("/"))) for name, path in paths.items())


_NUMBER = ColumnType.NUMBER
# What every table has before its own columns; the text itself comes last.
HEAD = (
    Column("sequence_number", ColumnType.INTEGER, ("sequence_number",)),
    Column("timestamp", ColumnType.INSTANT, ("timestamp",)),
    *_texts(trace_id="trace_id"),
)
ENTRY = Column("entry", ColumnType.TEXT, ())
# One line for each entry of the chain, of whatever kind.
ENTRIES = (
    Column("sequence_number", ColumnType.INTEGER, ()),
    Column("timestamp", ColumnType.INSTANT, ()),
    Column("kind", ColumnType.TEXT, ()),
    Column("leaf_hash", ColumnType.TEXT, ()),
)
ENTRIES_TABLE = "entries"

TABLES: tuple[Table, ...] = (
    Table(
        "bundles",
        frozenset({EntryKind.CLAIMS_RECEIVED}),
        _texts(
            bundle_hash="body/bundle_hash",
            bundle_id="body/bundle/id",
            origin_agent="body/bundle/origin_agent",
            submitted_by="body/submitted_by",
            claims="body/bundle/claims",
        ),
    ),
    Table(
        "decisions",
        frozenset({EntryKind.CLAIMS_DECIDED}),
        _texts(
            bundle_hash="body/bundle_hash",
            decision="body/outcome/decision",
            reason="body/outcome/reason",
            stopped_by="body/outcome/stopped_by",
            policy_hash="body/outcome/policy_hash",
            approvals="body/approvals",
        ),
    ),
    Table(
        "verdicts",
        frozenset({EntryKind.VERDICT, EntryKind.VERDICT_V2, EntryKind.VERDICT_HELD, EntryKind.VERDICT_FINAL}),
        _texts(
            telemetry_id="telemetry_id",
            subject="body/subject",
            rule_id="rule_id",
            verdict="verdict",
            model_verdict="body/ruling/model_verdict",
            tier="body/ruling/tier",
            standing="body/ruling/standing",
            reason="body/ruling/reason",
            verifier_status="verifier_result/status",
            kg_version_hash="kg_version_hash",
            model_weight_hash="model_weight_hash",
            telemetry="body/telemetry",
        ),
    ),
    Table(
        "states",
        frozenset({EntryKind.TRUTH_STATE}),
        (
            *_texts(
                truthkey="body/state/truthkey",
                claim_type="body/state/claim_type",
                status="body/state/status",
                verification_basis="body/state/verification_basis",
                claim="body/state/claim",
            ),
            Column("confidence", _NUMBER, ("body", "state", "confidence")),
            Column("version", ColumnType.INTEGER, ("body", "version")),
        ),
    ),
    Table(
        "answers",
        frozenset({EntryKind.ANSWER_DELIVERED}),
        _texts(
            answer_id="body/delivered/answer_id",
            query_type="body/delivered/query_type",
            asked_by="body/asked_by",
            answerer="body/answerer",
            authenticity_level="body/level",
        ),
    ),
    Table(
        "outcomes",
        frozenset({EntryKind.OUTCOME_REPORTED}),
        _texts(
            signal_id="body/signal_id",
            answer_id="body/answer_id",
            outcome="body/outcome",
            sender="body/sender",
            rules="body/rules",
        ),
    ),
    Table(
        "tickets",
        frozenset({EntryKind.TICKET_OPENED, EntryKind.TICKET_ANSWERED, EntryKind.TICKET_SETTLED}),
        _texts(
            ticket_id="body/ticket_id",
            ticket_kind="body/kind",
            title="body/title",
            about="body/about",
            opened_by="body/opened_by",
            choice="body/choice",
            by="body/by",
            state="body/state",
            reason="body/reason",
        ),
    ),
)
TABLE_OF: Mapping[str, Table] = {kind.value: table for table in TABLES for kind in table.kinds}


def columns_of(table: str) -> tuple[Column, ...]:
    """Every column of a table, as its files have them."""
    if table == ENTRIES_TABLE:
        return ENTRIES
    found = next(one for one in TABLES if one.name == table)
    return (*HEAD, *found.columns, ENTRY)


def row_of(table: Table, text: bytes) -> Row:
    """The row of an entry; it follows from the entry's text alone."""
    document = msgspec.json.decode(text)
    found = (_value(document, column) for column in (*HEAD, *table.columns))
    return (*found, text.decode())


def line_of(sequence_number: int, timestamp: str, kind: str, text: bytes) -> Row:
    """The row of an entry in `entries`."""
    return sequence_number, timestamp, kind, leaf_hash(text).hex()


def place_of(table: str, tenant_id: TenantId, kind: str | None, day: str | None) -> str:
    """The folder of a table's files, in the form in which readers find columns in names."""
    parts = [table, f"tenant={tenant_id}"]
    parts += [] if kind is None or day is None else [f"kind={kind}", f"day={day}"]
    return "/".join(parts)


def _value(document: object, column: Column) -> Value:
    for name in column.path:
        if not isinstance(document, dict) or name not in document:
            return None
        document = document[name]
    if document is None:
        return None
    if column.type in (ColumnType.INTEGER, ColumnType.NUMBER):
        return document if isinstance(document, int | float) and not isinstance(document, bool) else None
    return document if isinstance(document, str) else msgspec.json.encode(document).decode()
