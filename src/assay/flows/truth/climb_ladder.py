"""Machines judge an observation: the rung of the ladder that is due is asked, and what it says is recorded.

observation -> due rung -> question from what is stored -> engine -> score, as entry and row, for the compiler
An engine that cannot answer leaves no score: the ladder stays unfinished, which is the stricter end.
"""

from collections.abc import Mapping
from hashlib import sha256

from msgspec import Struct

from assay.flows.tools import Tools
from assay.flows.truth.key_ladder import KeyLadder, find_question, read_ladder
from assay.flows.truth.truth_entry import add_bronze, draft_bronze
from assay.flows.truth.validation_ticket import TRUTH_SERVICE
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.truth_store import RecordKind
from assay.ports.validator import Engines, EvidenceFact, Judgement, Question
from assay.truth.ai_score import AiScore, ai_score_hash, render_ai_score
from assay.truth.contract import StageName


class Scored(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a rung said about an observation; without a score, `code` says why none was given, or no rung is due."""

    observation_hash: str
    stage: StageName | None = None
    score: AiScore | None = None
    code: str | None = None
    problem: str | None = None


def climb_key(
    tools: Tools,
    tenant_id: TenantId,
    truthkey: str,
    engines: Engines,
    *,
    at: Instant,
    facts: Mapping[str, EvidenceFact] | None = None,
) -> tuple[Scored, ...]:
    """Let every observation of a key climb, as far as engines answer; the key is read once."""
    ladder = open_ladder(tools, tenant_id, truthkey)
    climbed: list[Scored] = []
    for observation_hash in ladder.observation_hashes:
        for _ in StageName:
            scored = ask_rung(tools, tenant_id, ladder, observation_hash, engines, at=at, facts=facts)
            if scored.stage is not None:
                climbed.append(scored)
            if scored.score is None:
                break
    return tuple(climbed)


def open_ladder(tools: Tools, tenant_id: TenantId, truthkey: str) -> KeyLadder:
    """The ladder of a key, read once, for whoever lets several of its observations climb."""
    return tools.database.read(lambda unit: read_ladder(unit, tenant_id, truthkey))


def ask_rung(
    tools: Tools,
    tenant_id: TenantId,
    ladder: KeyLadder,
    observation_hash: str,
    engines: Engines,
    *,
    at: Instant,
    facts: Mapping[str, EvidenceFact] | None = None,
) -> Scored:
    """Ask the one rung that is due for this observation, if any; what it says is recorded, and noted in the ladder.

    `facts` are what is known of evidence from its content, by SHA-256.
    """
    question = tools.database.read(
        lambda unit: find_question(unit, tools, tenant_id, ladder, observation_hash, facts or {}, at)
    )
    if question is None:
        return Scored(observation_hash=observation_hash)
    stage, engine = question.stage_name, question.stage.engine
    try:
        judgement = engines.get(engine).validate(question)
    except Error as error:
        # Somebody else's machine may fail in any of our families; only what a database says is for the caller.
        return Scored(observation_hash=observation_hash, stage=stage, code=error.code, problem=str(error))
    score = _score(question, engine, judgement, at)
    _record(tools, tenant_id, ladder.truthkey, score, at)
    ladder.note(score)
    return Scored(observation_hash=observation_hash, stage=stage, score=score)


def _score(question: Question, engine: str, judgement: Judgement, at: Instant) -> AiScore:
    observation_hash, stage = question.observation.observation_hash, question.stage_name
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
