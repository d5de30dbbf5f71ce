"""Machines judge an observation: the rung of the ladder that is due is asked, and what it says is recorded.

observation -> due rung -> question from what is stored -> engine -> score, as entry and row, for the compiler
An engine that cannot answer leaves no score: the ladder stays unfinished, which is the stricter end.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Annotated

from msgspec import Meta, Struct

from assay.facts.truth import record_entry
from assay.flows.errors import NotFoundError
from assay.flows.request import Option, Request
from assay.flows.tools import Tools
from assay.flows.truth.contracts import get_contract, read_contract
from assay.flows.truth.truth_entry import key_records
from assay.flows.truth.validation_ticket import TRUTH_SERVICE
from assay.identity.caller import Caller
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, parse_instant
from assay.ports.database import Unit
from assay.ports.truth_store import RecordKind, TruthRecord
from assay.ports.validator import Engines, EvidenceFact, Judgement, Question, Sighting, ValidatorError
from assay.truth.ai_score import AiScore, ai_score_hash, parse_ai_score, render_ai_score
from assay.truth.contract import Contract, StageName
from assay.truth.evidence import Fingerprint, parse_fingerprint
from assay.truth.ladder import choose_scores
from assay.truth.observation import HashedObservation, Observation, read_stored_observation
from assay.truth.rung import find_due_rung

_SIGHTINGS = 10
# How many entries back a reporter's own earlier observations are looked for.
_LOOK_BACK = 10_000


class _Said(Struct, frozen=True, kw_only=True):
    """An observation and its row."""

    row: TruthRecord
    observation: HashedObservation

    @property
    def evidence(self) -> Iterable[str]:
        return (ref.sha256 for ref in self.observation.observation.evidence_refs)


@dataclass(slots=True, kw_only=True)
class KeyLadder:
    """One key as it stood when it was read; scores that are given since are put in by `note`."""

    truthkey: str
    said: dict[str, _Said] = field(default_factory=dict)
    scores: dict[str, list[AiScore]] = field(default_factory=dict)
    prints: list[Fingerprint] = field(default_factory=list)
    contracts: dict[str, Contract] = field(default_factory=dict)

    @property
    def observation_hashes(self) -> tuple[str, ...]:
        return tuple(self.said)

    def note(self, score: AiScore) -> None:
        self.scores.setdefault(score.observation_hash, []).append(score)


def read_ladder(unit: Unit, tenant_id: TenantId, truthkey: str) -> KeyLadder:
    ladder = KeyLadder(truthkey=truthkey)
    for row in key_records(unit, tenant_id, truthkey):
        if row.kind is RecordKind.OBSERVATION:
            observation = read_stored_observation(row.text, row.record_hash)
            ladder.said[row.record_hash] = _Said(row=row, observation=observation)
        elif row.kind is RecordKind.AI_SCORE:
            ladder.note(parse_ai_score(row.text))
        elif row.kind is RecordKind.FINGERPRINT:
            mark = parse_fingerprint(row.text)
            # What a model finds alike is for the compiler; rungs are shown fingerprints.
            ladder.prints.extend([mark] if isinstance(mark, Fingerprint) else [])
    return ladder


def find_question(
    unit: Unit,
    tools: Tools,
    tenant_id: TenantId,
    ladder: KeyLadder,
    observation_hash: str,
    facts: Mapping[str, EvidenceFact],
    at: Instant,
) -> Question | None:
    """What the rung that is due is to be asked; None where the ladder has come to an end."""
    said = ladder.said.get(observation_hash)
    if said is None:
        raise NotFoundError(f"`{ladder.truthkey}` has no observation {observation_hash[:80]}")
    contract = _contract(unit, tools, tenant_id, ladder, said.observation.observation.claim_type)
    routing = contract.ai_validation_routing
    scores, _ = choose_scores(routing, ladder.scores.get(observation_hash, ()), at)
    stage = find_due_rung(routing, observation_hash, scores)
    return None if stage is None else _question(unit, tenant_id, contract, stage, ladder, said, facts)


def _contract(unit: Unit, tools: Tools, tenant_id: TenantId, ladder: KeyLadder, claim_type: str) -> Contract:
    if claim_type not in ladder.contracts:
        released = get_contract(unit, tenant_id, claim_type)
        ladder.contracts[claim_type] = read_contract(released.document, released.schema_text, tools.domain_systems)
    return ladder.contracts[claim_type]


def _question(
    unit: Unit,
    tenant_id: TenantId,
    contract: Contract,
    stage: StageName,
    ladder: KeyLadder,
    said: _Said,
    facts: Mapping[str, EvidenceFact],
) -> Question:
    """From what was recorded before the observation: asking again later gives the same question."""
    observation, earlier = said.observation.observation, _earlier_evidence(said.row, ladder)
    entry = unit.ledger.find_entry(tenant_id, said.row.sequence_number)
    return Question(
        contract=contract,
        stage_name=stage,
        observation=said.observation,
        received_at=observation.reported_at if entry is None else parse_instant(entry.timestamp),
        facts=tuple(_fact(ref.sha256, facts, ladder.prints) for ref in observation.evidence_refs),
        earlier_evidence=tuple(sorted(earlier)),
        earlier_fingerprints=tuple(sorted(one for one in ladder.prints if one.sha256 in earlier)),
        earlier_sightings=_sightings(unit, tenant_id, said.row, observation),
    )


def _earlier_evidence(row: TruthRecord, ladder: KeyLadder) -> set[str]:
    before = (
        one for one in ladder.said.values() if one.row.sequence_number < row.sequence_number and one.row.by != row.by
    )
    return {sha256 for one in before for sha256 in one.evidence}


def _fact(sha256: str, facts: Mapping[str, EvidenceFact], prints: Iterable[Fingerprint]) -> EvidenceFact:
    own = tuple(sorted(one for one in prints if one.sha256 == sha256))
    return facts.get(sha256) or EvidenceFact(sha256=sha256, fingerprints=own)


def _sightings(unit: Unit, tenant_id: TenantId, row: TruthRecord, said: Observation) -> tuple[Sighting, ...]:
    """Where this reporter was said to be before, the latest few of what was recorded up to then."""
    found: list[Sighting] = []
    before, first = row.sequence_number, row.sequence_number - _LOOK_BACK
    while page := unit.truth.observations_by(tenant_id, row.by, before=before, limit=_SIGHTINGS):
        for one in page:
            if one.sequence_number <= first or len(found) == _SIGHTINGS:
                return tuple(reversed(found))
            earlier = read_stored_observation(one.text, one.record_hash).observation
            if earlier.geo is not None and earlier.reported_at <= said.reported_at:
                found.append(Sighting(reported_at=earlier.reported_at, geo=earlier.geo))
        before = page[-1].sequence_number
    return tuple(reversed(found))


class ScoreStates(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    keys: Annotated[
        tuple[str, ...],
        Meta(max_length=100_000, description="These keys; else every key with records that are in no state yet."),
        Option(form="argument", metavar="[KEY]..."),
    ] = ()
    facts: Annotated[
        tuple[EvidenceFact, ...], Meta(description="What is known of evidence from its content."), Option(hidden=True)
    ] = ()


class ScoredStates(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each rung said, in the order of keys and observations; empty where no rung is due."""

    scores: "tuple[Scored, ...]"


def score_states(tools: Tools, caller: Caller, request: ScoreStates) -> ScoredStates:
    """Let machines judge every observation of these keys, rung by rung, as far as this node has engines.

    The engine `rules` is always there; models are named in assay.toml. A rung that no engine answers stays open.
    """
    engines, tenant_id = tools.engines, caller.tenant_id
    if engines is None:
        raise ValidatorError.unavailable("expected a node with engines, got one that was opened without any")
    facts = {fact.sha256: fact for fact in request.facts}
    keys = request.keys or tools.database.read(lambda unit: tuple(unit.truth.keys(tenant_id, stale_only=True)))
    return ScoredStates(
        scores=tuple(
            one for key in keys for one in climb_key(tools, tenant_id, key, engines, at=caller.at, facts=facts)
        )
    )


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
    entry = record_entry(
        tenant_id,
        RecordKind.AI_SCORE,
        render_ai_score(score),
        truthkeys=[truthkey],
        record_id=score.score_id,
        record_hash=ai_score_hash(score),
        submitted_by=TRUTH_SERVICE,
        at=at,
    )
    tools.database.write(lambda unit: unit.record(entry))
