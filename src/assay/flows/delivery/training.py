"""Training pairs: capture of jobs, their results, exports for trainers, and measured guesses (PRAMANA 10.4, 12.6)."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from hashlib import sha256
from types import MappingProxyType
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict

from assay.delivery.categorise import measure_pairs
from assay.delivery.pair import TrainingPair, next_batch, render_chat, render_pairs, render_preferences
from assay.delivery.sense import StandardEvent
from assay.delivery.suggestion import HeldOut
from assay.delivery.workitem import WorkItem
from assay.facts.delivery import TrainingFinished, TrainingTriggered
from assay.flows.delivery.delivery_entry import delivery_entry, read_text, sense, text_of
from assay.flows.delivery.item_sight import is_hidden, pair_without_output
from assay.flows.errors import NotFoundError
from assay.flows.request import Content, Option, Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import Principal
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Database, Unit
from assay.ports.delivery_store import StoredPair, TrainingJobRow
from assay.ports.trainer import Trainer, TrainingJob, TrainingResult, TrainingState, TrainingStoppedError

LINES = "application/x-ndjson"


class PairFormat(StrEnum):
    JSON = "json"  # PRAMANA 10.4, one array
    CHAT = "chat"  # JSON lines of conversations
    PREFERENCES = "preferences"  # JSON lines of chosen over rejected


_RENDERERS: Mapping[PairFormat, Callable[[Iterable[TrainingPair]], bytes]] = MappingProxyType(
    {PairFormat.JSON: render_pairs, PairFormat.CHAT: render_chat, PairFormat.PREFERENCES: render_preferences}
)


class ExportPairs(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: Annotated[
        PairFormat,
        Meta(description="`json` as specified, `chat` as conversations, `preferences` as chosen over rejected."),
    ] = PairFormat.JSON


class ShowQueue(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole queue of the tenant."""


class MeasureCategories(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All pairs of the tenant."""


class TrainingQueue(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many pairs wait for a job, how many make one, and how many jobs there were."""

    waiting: int
    batch_size: int
    jobs: int


def training_pairs(tools: Tools, caller: Caller, request: ExportPairs) -> Content:
    """Export all training pairs in the order of their capture; outputs below the caller's floor are left out."""
    tenant_id, viewer = caller.tenant_id, caller.principal
    media_type = "application/json" if request.format is PairFormat.JSON else LINES
    if not viewer.authenticity_level_floor:
        body = _RENDERERS[request.format](captured_pairs(tools.database, tenant_id))
        return Content(body=body, media_type=media_type)

    def work(unit: Unit) -> tuple[TrainingPair, ...]:
        return tuple(_seen(unit, tenant_id, row, viewer) for row in unit.delivery.pairs(tenant_id))

    return Content(body=_RENDERERS[request.format](tools.database.read(work)), media_type=media_type)


def training_queue(tools: Tools, caller: Caller, request: ShowQueue) -> TrainingQueue:  # noqa: ARG001 - asks nothing
    """Show how many training pairs wait, how many make a job, and how many jobs there were."""

    def work(unit: Unit) -> TrainingQueue:
        jobs = unit.delivery.jobs(caller.tenant_id)
        taken = jobs[-1].through if jobs else 0
        waiting = len(unit.delivery.pairs(caller.tenant_id, after=taken))
        return TrainingQueue(waiting=waiting, batch_size=tools.delivery.pair_batch, jobs=len(jobs))

    return tools.database.read(work)


def measure_categories(tools: Tools, caller: Caller, request: MeasureCategories) -> HeldOut:  # noqa: ARG001 - as above
    """Measure the guesses of categories that root causes show: each pair is guessed from those before it."""
    return measure_pairs(captured_pairs(tools.database, caller.tenant_id))


def _seen(unit: Unit, tenant_id: TenantId, row: StoredPair, viewer: Principal) -> TrainingPair:
    pair, asked = read_text(row.text, TrainingPair), unit.delivery.find_asked(tenant_id, row.item_id)
    if asked is None:
        raise NotFoundError(f"tenant `{tenant_id}` asked nobody about `{row.item_id[:80]}`")
    item = read_text(asked.text, WorkItem)
    return pair_without_output(pair, item) if is_hidden(unit, tenant_id, item, viewer) else pair


def captured_pairs(database: Database, tenant_id: TenantId) -> tuple[TrainingPair, ...]:
    """Read the pairs in a unit that cannot write, so that a plugin may be given this and no more."""
    rows = database.read(lambda unit: unit.delivery.pairs(tenant_id))
    return tuple(read_text(row.text, TrainingPair) for row in rows)


_ID_HEX = 24


class TrainPairs(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    size: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="A batch of this many pairs; else `delivery.pair_batch`."),
        Option(metavar="N"),
    ] = None


class ShownJob(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job, and what came of it, if anything did yet."""

    job: TrainingJob
    result: TrainingResult | None


class TrainingJobs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every job, in the order in which they were made."""

    jobs: tuple[ShownJob, ...]


def train_pairs(tools: Tools, caller: Caller, request: TrainPairs) -> TrainingJobs:
    """Make a job of every whole batch of pairs that waits, and have the trainer take all jobs, if there is one.

    The trainer is this node's judge unless `delivery.trainer` is `none`; it learns from pairs about its own cases. The
    new weights are measured and recorded; a person puts them into use with `assay model activate`.
    """
    trigger_training(tools, caller.tenant_id, size=request.size, at=caller.at)
    run_training(tools, caller.tenant_id, at=caller.at)
    return TrainingJobs(jobs=list_jobs(tools, caller.tenant_id))


def trigger_training(
    tools: Tools, tenant_id: TenantId, *, size: int | None = None, at: Instant
) -> tuple[TrainingJob, ...]:
    """A job for every whole batch that waits; `size` is the batch of the settings unless somebody asks for another."""
    batch = size or tools.delivery.pair_batch
    found: list[TrainingJob] = []
    while (job := tools.database.write(lambda unit: _trigger(unit, tools, tenant_id, batch, at))) is not None:
        found.append(job)
    return tuple(found)


def run_training(
    tools: Tools, tenant_id: TenantId, *, at: Instant, is_stopping: Callable[[], bool] = lambda: False
) -> tuple[ShownJob, ...]:
    """Have the trainer take every job without a result; without a trainer they wait, and are lost to nothing.

    So does a job that the trainer left when it was told to stop.
    """
    trainer = tools.delivery.trainer
    if trainer is None:
        return ()
    done: list[ShownJob] = []
    for one in list_jobs(tools, tenant_id):
        if one.result is not None:
            continue
        try:
            done.append(_run(tools, trainer, tenant_id, one.job, at, is_stopping))
        except TrainingStoppedError:
            break
    return tuple(done)


def list_jobs(tools: Tools, tenant_id: TenantId) -> tuple[ShownJob, ...]:
    def work(unit: Unit) -> tuple[ShownJob, ...]:
        return tuple(_shown(unit, tenant_id, row) for row in unit.delivery.jobs(tenant_id))

    return tools.database.read(work)


def _shown(unit: Unit, tenant_id: TenantId, row: TrainingJobRow) -> ShownJob:
    found = unit.delivery.find_result(tenant_id, row.job_id)
    result = None if found is None else read_text(found.text, TrainingResult)
    return ShownJob(job=read_text(row.text, TrainingJob), result=result)


def _trigger(unit: Unit, tools: Tools, tenant_id: TenantId, size: int, at: Instant) -> TrainingJob | None:
    jobs = unit.delivery.jobs(tenant_id)
    rows = unit.delivery.pairs(tenant_id, after=jobs[-1].through if jobs else 0, limit=size)
    batch = next_batch(tuple(read_text(row.text, TrainingPair) for row in rows), size=size)
    if batch is None:
        return None
    job = TrainingJob(
        job_id=_job_id(rows),
        pair_ids=tuple(one.training_pair_id for one in batch),
        rule_ids=tuple(sorted({one.rule_id for one in batch})),
        triggered_at=at,
    )
    told = {"job_id": job.job_id, "pairs": len(batch), "rule_ids": list(job.rule_ids)}
    event = sense(StandardEvent.FINETUNING_TRIGGERED, job.job_id, told, service=tools.delivery.service, at=at)
    body = TrainingTriggered(**asdict(job), through=rows[-1].sequence_number)
    row = TrainingJobRow(
        job_id=job.job_id,
        through=rows[-1].sequence_number,
        pairs=len(batch),
        text=text_of(job),
        triggered_at=at,
        sequence_number=0,
        bound=1,
    )
    unit.record(delivery_entry(tenant_id, EntryKind.TRAINING_TRIGGERED, body, at=at, events=(event,)), row)
    return job


def _job_id(rows: tuple[StoredPair, ...]) -> str:
    named = "\n".join(row.pair_id for row in rows)
    return f"job_{sha256(named.encode()).hexdigest()[:_ID_HEX]}"


def _run(
    tools: Tools, trainer: Trainer, tenant_id: TenantId, job: TrainingJob, at: Instant, is_stopping: Callable[[], bool]
) -> ShownJob:
    pairs = tools.database.read(lambda unit: _pairs(unit, tenant_id, job))
    try:
        result = trainer.train(tenant_id, job, render_pairs(pairs), is_stopping=is_stopping)
    except TrainingStoppedError:
        raise
    except Error as error:
        result = TrainingResult(state=TrainingState.FAILED, reason=f"{error.code}: {error}"[:1000])
    # It may have taken hours.
    finished_at = max(at, tools.clock.now())

    def work(unit: Unit) -> ShownJob:
        known = unit.delivery.find_result(tenant_id, job.job_id)
        if known is not None:
            # Somebody else took the same job meanwhile: a job has one result, and the first one stands.
            return ShownJob(job=job, result=read_text(known.text, TrainingResult))
        body = TrainingFinished(job_id=job.job_id, result=result)
        unit.record(delivery_entry(tenant_id, EntryKind.TRAINING_FINISHED, body, at=finished_at))
        return ShownJob(job=job, result=result)

    return tools.database.write(work)


def _pairs(unit: Unit, tenant_id: TenantId, job: TrainingJob) -> tuple[TrainingPair, ...]:
    rows = [unit.delivery.find_pair(tenant_id, pair_id) for pair_id in job.pair_ids]
    return tuple(read_text(row.text, TrainingPair) for row in rows if row is not None)
