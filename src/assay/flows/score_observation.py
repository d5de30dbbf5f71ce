"""A machine judges an observation: the rung of the ladder that is due is asked, and what it says is recorded.

observation -> due rung -> question from what is stored -> engine -> score, as entry and row, for the compiler
An engine that cannot answer leaves no score: the ladder stays unfinished, which is the stricter end.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256

from msgspec import Struct

from assay.flows.errors import NotFoundError
from assay.flows.released import get_contract, read_contract
from assay.flows.tools import Tools
from assay.flows.truth_entry import add_bronze, draft_bronze
from assay.flows.validation_ticket import TRUTH_SERVICE
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, parse_instant
from assay.ports.database import Unit
from assay.ports.truth_store import RecordKind, TruthRecord
from assay.ports.validator import Engines, EvidenceFact, Judgement, Question, Sighting
from assay.truth.ai_score import AiScore, ai_score_hash, parse_ai_score, render_ai_score
from assay.truth.contract import Contract, StageName
from assay.truth.evidence import Fingerprint, parse_fingerprint
from assay.truth.ladder import choose_scores
from assay.truth.observation import HashedObservation, Observation, hash_observation, parse_observation
from assay.truth.rung import find_due_rung

__all__ = ["Scored", "climb_key", "score_observation"]

_SIGHTINGS = 10
# How many entries back a reporter's own earlier observations are looked for.
_LOOK_BACK = 10_000


class Scored(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a rung said about an observation; without a score, `code` says why none was given, or no rung is due."""

    observation_hash: str
    stage: StageName | None = None
    score: AiScore | None = None
    code: str | None = None
    problem: str | None = None


class _Due(Struct, frozen=True, kw_only=True):
    """The question that is due, and where its answer will stand."""

    question: Question
    truthkey: str


def score_observation(
    tools: Tools,
    tenant_id: TenantId,
    observation_hash: str,
    engines: Engines,
    *,
    at: Instant,
    facts: Mapping[str, EvidenceFact] | None = None,
) -> Scored:
    """Ask the one rung that is due, if any. `facts` are what is known of evidence from its content, by SHA-256."""
    due = tools.database.read(lambda unit: _find_due(unit, tools, tenant_id, observation_hash, facts or {}, at))
    if due is None:
        return Scored(observation_hash=observation_hash)
    stage = due.question.stage_name
    engine = due.question.stage.engine
    try:
        judgement = engines.get(engine).validate(due.question)
    except Error as error:
        # Somebody else's machine may fail in any of our families; only what a database says is for the caller.
        return Scored(observation_hash=observation_hash, stage=stage, code=error.code, problem=str(error))
    score = _score(due, engine, judgement, at)
    _record(tools, tenant_id, due.truthkey, score, at)
    return Scored(observation_hash=observation_hash, stage=stage, score=score)


def climb_key(
    tools: Tools,
    tenant_id: TenantId,
    truthkey: str,
    engines: Engines,
    *,
    at: Instant,
    facts: Mapping[str, EvidenceFact] | None = None,
) -> tuple[Scored, ...]:
    """Every observation of a key up the ladder, as far as engines answer."""
    rows = tools.database.read(lambda unit: [one for one in unit.truth.records(tenant_id, truthkey) if _is_said(one)])
    climbed: list[Scored] = []
    for row in rows:
        for _ in StageName:
            scored = score_observation(tools, tenant_id, row.record_hash, engines, at=at, facts=facts)
            if scored.stage is not None:
                climbed.append(scored)
            if scored.score is None:
                break
    return tuple(climbed)


def _is_said(record: TruthRecord) -> bool:
    return record.kind is RecordKind.OBSERVATION


def _find_due(
    unit: Unit, tools: Tools, tenant_id: TenantId, observation_hash: str, facts: Mapping[str, EvidenceFact], at: Instant
) -> _Due | None:
    row = unit.truth.find_observation(tenant_id, observation_hash)
    if row is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no observation {observation_hash[:80]}")
    observation = hash_observation(parse_observation(row.text))
    released = get_contract(unit, tenant_id, observation.observation.claim_type)
    contract = read_contract(released.document, released.schema_text, tools.domain_systems)
    records = tuple(unit.truth.records(tenant_id, row.truthkey))
    stage = _due_stage(contract, observation_hash, records, at)
    if stage is None:
        return None
    question = _question(unit, tenant_id, contract, stage, row, observation, records, facts)
    return _Due(question=question, truthkey=row.truthkey)


def _due_stage(
    contract: Contract, observation_hash: str, records: Iterable[TruthRecord], at: Instant
) -> StageName | None:
    given = [parse_ai_score(one.text) for one in records if one.kind is RecordKind.AI_SCORE]
    scores, _ = choose_scores(contract.ai_validation_routing, given, at)
    return find_due_rung(contract.ai_validation_routing, observation_hash, scores)


def _question(
    unit: Unit,
    tenant_id: TenantId,
    contract: Contract,
    stage: StageName,
    row: TruthRecord,
    observation: HashedObservation,
    records: tuple[TruthRecord, ...],
    facts: Mapping[str, EvidenceFact],
) -> Question:
    """From what was recorded before the observation: asking again later gives the same question."""
    said = observation.observation
    earlier = _earlier_evidence(row, records)
    prints = [parse_fingerprint(one.text) for one in records if one.kind is RecordKind.FINGERPRINT]
    entry = unit.ledger.find_entry(tenant_id, row.sequence_number)
    return Question(
        contract=contract,
        stage_name=stage,
        observation=observation,
        received_at=said.reported_at if entry is None else parse_instant(entry.timestamp),
        facts=tuple(_fact(ref.sha256, facts, prints) for ref in said.evidence_refs),
        earlier_evidence=earlier,
        earlier_fingerprints=tuple(sorted(one for one in prints if one.sha256 in earlier)),
        earlier_sightings=_sightings(unit, tenant_id, row, said),
    )


def _earlier_evidence(row: TruthRecord, records: Iterable[TruthRecord]) -> tuple[str, ...]:
    before = [
        parse_observation(one.text)
        for one in records
        if _is_said(one) and one.sequence_number < row.sequence_number and one.by != row.by
    ]
    return tuple(sorted({ref.sha256 for said in before for ref in said.evidence_refs}))


def _fact(sha256_: str, facts: Mapping[str, EvidenceFact], prints: Iterable[Fingerprint]) -> EvidenceFact:
    own = tuple(sorted(one for one in prints if one.sha256 == sha256_))
    return facts.get(sha256_) or EvidenceFact(sha256=sha256_, fingerprints=own)


def _sightings(unit: Unit, tenant_id: TenantId, row: TruthRecord, said: Observation) -> tuple[Sighting, ...]:
    """Where this reporter was said to be before, the latest few of what was recorded up to then."""
    found: list[Sighting] = []
    after = max(0, row.sequence_number - _LOOK_BACK)
    while page := unit.truth.observations(tenant_id, by=row.by, after=after):
        for one in page:
            if one.sequence_number >= row.sequence_number:
                return tuple(found[-_SIGHTINGS:])
            earlier = parse_observation(one.text)
            if earlier.geo is not None and earlier.reported_at <= said.reported_at:
                found.append(Sighting(reported_at=earlier.reported_at, geo=earlier.geo))
        after = page[-1].sequence_number
    return tuple(found[-_SIGHTINGS:])


def _score(due: _Due, engine: str, judgement: Judgement, at: Instant) -> AiScore:
    observation_hash, stage = due.question.observation.observation_hash, due.question.stage_name
    named = f"{observation_hash} {stage} {engine} {at.isoformat()}"
    return AiScore(
        score_id=f"score.{sha256(named.encode()).hexdigest()}",
        observation_hash=observation_hash,
        stage=stage,
        engine=engine,
        engine_version=judgement.engine_version,
        score=judgement.score,
        scored_at=at,
        failed_checks=judgement.failed_checks,
    )


def _record(tools: Tools, tenant_id: TenantId, truthkey: str, score: AiScore, at: Instant) -> None:
    bronze = draft_bronze(
        tenant_id,
        RecordKind.AI_SCORE,
        render_ai_score(score),
        truthkeys=[truthkey],
        record_id=score.score_id,
        record_hash=ai_score_hash(score),
        by=f"ai:{score.engine}",
        occurred_at=score.scored_at,
        submitted_by=TRUTH_SERVICE,
        at=at,
    )
    tools.database.write(lambda unit: add_bronze(unit, bronze))
