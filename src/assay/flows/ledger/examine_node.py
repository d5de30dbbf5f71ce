"""Examine an open node: what an operator should know, each with what to do about it.

database -> settings -> for each tenant: checkpoints against the tree, their age, marks, clock -> keys
"""

from collections.abc import Iterator
from datetime import timedelta
from enum import StrEnum

from msgspec import Struct

from assay.claims.policy import ApprovalNeed
from assay.flows.claims.claims_facts import active_policy, find_unheld
from assay.flows.errors.ledger import OtherDatabaseError
from assay.flows.ledger.audit_ledger import compare_sample
from assay.flows.ledger.audit_mark import load_mark
from assay.flows.ledger.check_entry import EntryFaultError
from assay.flows.ledger.checkpoint_growth import ask_witnesses
from assay.flows.ledger.own_keys import has_key_for, own_key_ring, own_key_ring_in, own_signers, verify_own_database
from assay.flows.ledger.resume_ledger import resume_ledger
from assay.flows.ledger.witness_standing import witness_lags
from assay.flows.tools import Tools
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, parse_instant, render_instant
from assay.kernel.key import KeyPurpose
from assay.ports.database import DatabaseFacts, Unit
from assay.ports.ledger_store import KeptCheckpoint

_OLD_CHECKPOINT = timedelta(days=1)
_SOON = timedelta(days=14)
_SKEW = timedelta(seconds=5)
# So many of the newest entries are looked at for dates that go back.
_DATED = 10_000
# Rows of each table that are compared with their entries.
_SAMPLE = 50
# The settings that durability rests on, by engine.
_EXPECTED = {
    "sqlite": {"journal_mode": ("wal",), "synchronous": ("FULL", "EXTRA")},
    "postgresql": {
        "fsync": ("on",),
        "full_page_writes": ("on",),
        "synchronous_commit": ("on", "remote_apply", "local"),
    },
}


# A server has every checkpoint cosigned; more entries than this without a cosignature are worth a look.
_WITNESS_LAG = 100_000


class State(StrEnum):
    """How one thing was found."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


class Examined(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that was looked at; `advice` says what to do unless it is fine."""

    name: str
    state: State
    message: str
    advice: str | None = None


def fine(name: str, message: str) -> Examined:
    return Examined(name=name, state=State.OK, message=message)


def warning(name: str, message: str, advice: str) -> Examined:
    return Examined(name=name, state=State.WARNING, message=message, advice=advice)


def failed(name: str, message: str, advice: str) -> Examined:
    return Examined(name=name, state=State.FAILED, message=message, advice=advice)


def examine_node(tools: Tools, *, at: Instant) -> tuple[Examined, ...]:
    """Look at everything that can be seen quickly; the entries themselves are for `audit_ledger`."""
    facts, whose = tools.database.facts(), _whose(tools)
    ask_witnesses(tools)
    tenants = tools.database.read(lambda unit: unit.ledger.tenants())
    return (
        *_database(facts),
        _continuity(tools),
        *(finding for tenant_id in tenants for finding in _tenant(tools, tenant_id, at)),
        *(_keys(tools, at) if whose is None else (whose,)),
    )


def _whose(tools: Tools) -> Examined | None:
    """Whether it is this node's at all; where it is not, its keys are no use to look at."""
    try:
        tools.database.read(lambda unit: verify_own_database(unit, tools, own_key_ring_in(unit, tools.founder)))
    except OtherDatabaseError as error:
        told, _, advice = str(error).partition("; ")
        return failed("keys", f"{told} [{error.code}]", advice)
    return None


def _database(facts: DatabaseFacts) -> Iterator[Examined]:
    yield fine(
        "database", f"{facts.engine} {facts.engine_version}, schema version {facts.schema_version}, {facts.location}"
    )
    shown = ", ".join(f"{name}={value}" for name, value in sorted(facts.settings.items()))
    expected = _EXPECTED.get(facts.engine, {})
    weak = [name for name, values in expected.items() if facts.settings.get(name) not in values]
    if weak:
        yield failed("durability", shown, f"set {', '.join(f'{name}={expected[name][0]}' for name in weak)}")
    else:
        yield fine("durability", shown)


def _continuity(tools: Tools) -> Examined:
    """The check that a writer makes at its start."""
    name = "checkpoints outside"
    try:
        resume_ledger(tools)
    except Error as error:
        return failed(name, f"{error} [{error.code}]", "the database lost or changed entries: restore it from a backup")
    count = len(tools.checkpoints.tenants())
    return fine(name, f"the database continues what was signed, for {count} tenant{'' if count == 1 else 's'}")


def _tenant(tools: Tools, tenant_id: TenantId, at: Instant) -> Iterator[Examined]:
    def look(unit: Unit) -> tuple[int, str | None, KeptCheckpoint | None]:
        size = unit.ledger.head(tenant_id).sequence_number
        last = unit.ledger.find_entry(tenant_id, size)
        return size, None if last is None else last.timestamp, unit.ledger.find_checkpoint(tenant_id)

    size, last_at, kept = tools.database.read(look)
    yield _checkpoint(tenant_id, size, kept, at)
    yield from _witnesses(tools, tenant_id)
    yield _mark(tools, tenant_id, size)
    yield _sample(tools, tenant_id)
    yield from _approvers(tools, tenant_id, at)
    if last_at is not None:
        yield _clock(tenant_id, last_at, at)
        yield _jumps(tools, tenant_id)


def _approvers(tools: Tools, tenant_id: TenantId, at: Instant) -> Iterator[Examined]:
    """Only where claims are gated: a role that nobody holds matters to nobody else."""

    def look(unit: Unit) -> tuple[ApprovalNeed, ...] | None:
        is_used = unit.claims.active_policy(tenant_id) is not None or unit.pages.bundles(tenant_id, limit=1)
        return find_unheld(unit, tenant_id, active_policy(unit, tenant_id), at=at) if is_used else None

    name = f"approvers of {tenant_id}"
    try:
        unheld = tools.database.read(look)
    except Error as error:
        yield failed(name, f"{error} [{error.code}]", "the database is damaged: restore it from a backup")
        return
    if unheld:
        told = ", ".join(f"{need.people} more of {need.role}" for need in unheld)
        yield warning(name, f"the policy of the gates asks for {told}", "give people the role: `assay principal amend`")
    elif unheld is not None:
        yield fine(name, "every role that the policy of the gates asks for is held")


def _checkpoint(tenant_id: TenantId, size: int, kept: KeptCheckpoint | None, at: Instant) -> Examined:
    name, advice = f"checkpoint of {tenant_id}", "sign one with `assay ledger checkpoint`"
    if kept is None:
        return warning(name, f"none yet, for {size} entries", advice)
    words = f"over {kept.size} of {size} entries, signed at {render_instant(kept.signed_at)}"
    if kept.size < size and at - kept.signed_at > _OLD_CHECKPOINT:
        return warning(name, words, advice)
    return fine(name, words)


def _witnesses(tools: Tools, tenant_id: TenantId) -> Iterator[Examined]:
    """How far each witness is behind, and whether it contradicts the node."""
    for lag in witness_lags(tools, tenant_id):
        name = f"witness {lag.witness} of {tenant_id}"
        seen = "no checkpoint" if lag.cosigned_size is None else f"{lag.cosigned_size} entries"
        if lag.contradiction is not None:
            advice = "nothing is written: restore a backup that is as long as what the witness has seen"
            yield failed(name, f"it contradicts this node: {lag.contradiction} [witness.contradicts]", advice)
        elif lag.cosigned_size is None or lag.entries_behind > _WITNESS_LAG:
            words = f"cosigned {seen}, {lag.entries_behind} entries behind"
            yield warning(name, words, "see whether it answers: `assay ledger checkpoint`")
        else:
            yield fine(name, f"cosigned {seen}, {lag.entries_behind} entries behind")


def _mark(tools: Tools, tenant_id: TenantId, size: int) -> Examined:
    name, mark = f"verification of {tenant_id}", load_mark(tools, tenant_id)
    if mark is None:
        return warning(name, "never, as far as this node remembers", "run `assay ledger verify`")
    return fine(name, f"up to entry {mark.size} of {size}")


def _sample(tools: Tools, tenant_id: TenantId) -> Examined:
    """Some rows of every table, other ones each time."""
    name = f"rows of {tenant_id}"
    try:
        count = compare_sample(tools, tenant_id, _SAMPLE)
    except EntryFaultError as error:
        advice = "somebody changed rows: `assay ledger verify --full` names the first, restore from a backup"
        return failed(name, f"{error} [{error.fault_code}]", advice)
    except Error as error:
        return failed(name, f"{error} [{error.code}]", "the database is damaged: restore it from a backup")
    return fine(name, f"{count} sampled rows are what their entries record")


def _clock(tenant_id: TenantId, last_at: str, at: Instant) -> Examined:
    name = f"clock against {tenant_id}"
    if parse_instant(last_at) - at > _SKEW:
        message = f"the newest entry is dated {last_at}, which is still to come at {render_instant(at)}"
        advice = (
            "set the machine's clock; if it was ahead before and is right now, say so with `assay ledger append`:"
            " until then observations and signals may be refused [ledger.clock_behind]"
        )
        return warning(name, message, advice)
    return fine(name, f"now {render_instant(at)}, newest entry {last_at}")


def _jumps(tools: Tools, tenant_id: TenantId) -> Examined:
    """Entries that are dated before an earlier one by more than the node allows for: the clock was set back there."""
    name = f"dates of {tenant_id}"
    found = tools.database.read(lambda unit: unit.ledger.select(tenant_id, newest=True, limit=_DATED))
    latest: Instant | None = None
    jumps: list[int] = []
    for entry in reversed(found):
        dated = parse_instant(entry.timestamp)
        if latest is not None and latest - dated > tools.clock_skew:
            jumps.append(entry.sequence_number)
        latest = dated if latest is None else max(latest, dated)
    if not jumps:
        return fine(name, f"the newest {len(found)} entries are in order, give or take {tools.clock_skew}")
    message = (
        f"{len(jumps)} of the newest {len(found)} entries are dated before an earlier one, the first is {jumps[0]}"
    )
    return warning(name, message, "the clock was set back there: say why with `assay ledger append`")


def _keys(tools: Tools, at: Instant) -> Iterator[Examined]:
    ring = own_key_ring(tools)
    for purpose, signer in own_signers(tools):
        if purpose is KeyPurpose.TRUTH and not has_key_for(ring, purpose):
            continue  # it goes on record when it is first needed
        name = f"{purpose} key"
        try:
            record = ring.get(signer.key_id, at, purpose=purpose)
        except Error as error:
            yield failed(
                name, f"{error} [{error.code}]", f"rotate it (`assay key rotate {purpose}`) or mend `node.founder`"
            )
            continue
        until = record.valid_until
        if until is not None and until - at < _SOON:
            yield warning(name, f"ends at {render_instant(until)}", f"run `assay key rotate {purpose}`")
        else:
            yield fine(name, f"{signer.key_id}, valid")
