"""Replay verdicts from the ledger (SKI 8): the six steps, from what is stored and a model of the same weights.

entry -> 1 graph, 2 weights, 3 prompt, 4 transcript, 5 verifier and governor, 6 chain -> what matches, and what does not
What cannot be had again was not checked, and is never reported as clean.
"""

from collections.abc import Iterator
from dataclasses import replace as replace_tools
from itertools import islice
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from assay.flows.errors import NotFoundError
from assay.flows.ledger.own_keys import own_key_ring
from assay.flows.request import Option, Page, Paged, cut, map_page, read_number
from assay.flows.tools import Tools
from assay.flows.verdicts.graphs_in_use import JudgedGraphs, judged_content
from assay.flows.verdicts.read_verdicts import SequenceNumber
from assay.flows.verdicts.replay_again import (
    Scene,
    ask_again,
    check_ruling,
    check_wording,
    find_scene,
    find_substitute,
    is_tolerated,
    prompt_hash_of,
    recall_answer,
    verify_again,
    verify_fast_again,
    version_hash_of,
    weights_of,
)
from assay.flows.verdicts.stored_verdict import VERDICT_KINDS, StoredVerdict, load_stored_verdict
from assay.flows.verdicts.verdict_memory import LedgerMemory
from assay.identity.caller import Caller
from assay.kernel.digest import Digest, digest_of
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.key import KeyPurpose, KeyRing
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.reasoner import LocalReasoner
from assay.verdicts.envelope import HumanAttestation, VerifierResult
from assay.verdicts.govern import verify_attestation
from assay.verdicts.reason import Interpretation
from assay.verdicts.replay import (
    Recorded,
    Recovered,
    Replay,
    ReplayResult,
    ReplayStep,
    StepFinding,
    StepResult,
    compare_replay,
)
from assay.verdicts.window import facts_at
from assay.verdicts.window_fact import buffer_record


class ReplayMemory:
    """The memory of one tenant's chain, wherever in it a replay is."""

    def __init__(self, tools: Tools, tenant_id: TenantId) -> None:
        self._tools = tools
        self._tenant_id = tenant_id
        self._memory = LedgerMemory()

    def before(self, number: int) -> LedgerMemory | None:
        """The memory as it was when this entry was written; None where the entries before it cannot be read."""
        if self._memory.taken >= number:
            self._memory = LedgerMemory()
        first = self._memory.taken + 1

        def read(unit: Unit) -> None:
            for row in unit.ledger.entries(self._tenant_id, first=first, last=number - 1):
                self._memory.take(row)

        try:
            self._tools.database.read(read)
        except Error:
            self._memory = LedgerMemory()
            return None
        return self._memory

    def check_windows(self, stored: StoredVerdict, scene: Scene) -> str | None:
        """Windows are what the ledger's own earlier records come to, whatever a buffer was made to say."""
        if not scene.docket.plans:
            return None
        number = self._judged_at(stored)
        memory = None if number is None else self.before(number)
        if memory is None:
            return "windows: the entries before it cannot be read"
        subject, now = stored.body.subject, buffer_record(scene.telemetry)
        earlier, dropped = memory.earlier(subject), memory.dropped.get(subject)
        for is_cautious in (False, True):  # entries from before a certain breach settled a doubt are as they were
            facts = facts_at(scene.docket.plans, now, earlier, dropped_until=dropped, is_cautious=is_cautious)
            if facts == scene.facts:
                return None
        return "windows: the facts are not those of the records in the ledger"

    def _judged_at(self, stored: StoredVerdict) -> int | None:
        """The entry at which windows were looked at: for what settles a held verdict, that of the held one."""
        number, held_hash = stored.row.sequence_number, stored.body.held_entry
        if held_hash is None:
            return number

        def look(unit: Unit) -> int | None:
            row = unit.verdicts.find(self._tenant_id, number)
            held = None if row is None else unit.ledger.find_entry(self._tenant_id, row.held_entry or 0)
            return held.sequence_number if held is not None and held.entry_hash == held_hash else None

        return self._tools.database.read(look)


def check_attestation(tools: Tools, ring: KeyRing, tenant_id: TenantId, stored: StoredVerdict) -> str | None:
    """What is wrong with the token of a verdict that was honoured for its sake, or None."""
    token = stored.envelope.human_attestation
    if token is None or not stored.body.ruling.is_honoured:
        return None
    try:
        key = _reviewer_key(tools, ring, tenant_id, token)
        verify_attestation(token, stored.envelope, key, at=token.attested_at)
    except Error as error:
        return f"attestation: {error.code}"
    return None


def _reviewer_key(tools: Tools, ring: KeyRing, tenant_id: TenantId, token: HumanAttestation) -> bytes:
    """The node's review key of that time, or the key that the person had registered."""
    own = ring.find(token.key_id, token.attested_at, purpose=KeyPurpose.REVIEW)
    if own is not None:
        return own.raw_public_key or b""
    history = tools.database.read(lambda unit: unit.identity.principal_history(tenant_id, token.reviewer))
    then = [person.public_key for person in history if person.recorded_at <= token.attested_at]
    return bytes.fromhex((then and then[-1]) or "")


class ReplayVerdicts(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    telemetry_id: Annotated[
        str | None,
        Meta(description="Only the verdicts on this record."),
        Option(form="argument", metavar="[RECORD]"),
    ] = None
    entry: Annotated[
        SequenceNumber | None, Meta(description="Only the verdict in this entry."), Option(metavar="SEQ")
    ] = None
    first: Annotated[
        int, Meta(ge=1, description="All verdicts from this entry on."), Option(flag="--from", metavar="SEQ")
    ] = 1
    last: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="All verdicts up to this entry."),
        Option(flag="--to", metavar="SEQ"),
    ] = None
    without_model: Annotated[bool, Meta(description="Do not ask the model again; the result is then INCOMPLETE.")] = (
        False
    )


def replay(tools: Tools, caller: Caller, request: ReplayVerdicts) -> Page[Replay]:
    """Reach recorded verdicts again from what is stored (SKI 8), in the order of their entries.

    The graph of that hash, the weights, the prompt, the model's answer, the verifier and the governor, the chain: each
    of the six steps is reported, whichever diverges first. A divergence is not necessarily tampering: look into it.
    """
    tenant_id, after = caller.tenant_id, read_number("replay", request.cursor)
    numbers = tools.database.read(lambda unit: _wanted(unit, tenant_id, request, after))
    page = cut("replay", numbers, request.limit, lambda number: number)
    job = _Job(replace_tools(tools, reasoner=None, kept=None) if request.without_model else tools, tenant_id)
    return map_page(page, job.replay)


def _wanted(unit: Unit, tenant_id: TenantId, request: ReplayVerdicts, after: int) -> list[int]:
    if request.entry is not None:
        return [request.entry]
    if request.telemetry_id is None:
        first = max(request.first, after + 1)
        return list(islice(_numbers(unit, tenant_id, first, request.last), request.limit + 1))
    rows = unit.verdicts.of_telemetry(tenant_id, request.telemetry_id)
    if not rows:
        raise NotFoundError(f"tenant `{tenant_id}` has no verdict on `{ascii(request.telemetry_id)[1:-1][:80]}`")
    return [row.sequence_number for row in rows if row.sequence_number > after][: request.limit + 1]


def replay_verdicts(tools: Tools, tenant_id: TenantId, *, first: int = 1, last: int | None = None) -> Iterator[Replay]:
    """Every verdict entry of the range, in order; the caller sums up with `summarise_replays`."""
    numbers = tools.database.read(lambda unit: list(_numbers(unit, tenant_id, first, last)))
    job = _Job(tools, tenant_id)
    yield from (job.replay(number) for number in numbers)


def replay_record(tools: Tools, tenant_id: TenantId, telemetry_id: str) -> Iterator[Replay]:
    """Every verdict entry of one record, held ones and what settled them; `flow.not_found` where there is none."""
    rows = tools.database.read(lambda unit: unit.verdicts.of_telemetry(tenant_id, telemetry_id))
    if not rows:
        raise NotFoundError(f"tenant `{tenant_id}` has no verdict on `{ascii(telemetry_id)[1:-1][:80]}`")
    job = _Job(tools, tenant_id)
    return (job.replay(row.sequence_number) for row in rows)


def replay_verdict(tools: Tools, tenant_id: TenantId, sequence_number: int) -> Replay:
    return _Job(tools, tenant_id).replay(sequence_number)


class _Job:
    """Graphs, keys, the model and the memory of the chain, looked at once for all entries."""

    def __init__(self, tools: Tools, tenant_id: TenantId) -> None:
        self._tools = tools
        self._tenant_id = tenant_id
        self._ring = own_key_ring(tools)
        self._graphs = JudgedGraphs(tools, tenant_id)
        self._weights = weights_of(tools.reasoner)
        self._memory = ReplayMemory(tools, tenant_id)
        self._substitutes: dict[Digest, str | None] = {}

    def replay(self, number: int) -> Replay:
        stored = load_stored_verdict(self._tools, self._ring, self._tenant_id, number)
        return self._replayed(stored) if isinstance(stored, StoredVerdict) else stored

    def _replayed(self, stored: StoredVerdict) -> Replay:
        """SKI 8.1, in its order; what a step cannot have again is None, and was then not checked."""
        envelope, following = stored.envelope, stored.following
        # 1. The graph by its hash; also an unsigned one: whether it may be used is not asked, only if it is the same.
        graph, wrong_graph = self._graphs.examine(judged_content(envelope))
        # 2. The weights, if the model at hand has them or they are kept.
        weight_hash = envelope.model_provenance.model_weight_hash
        reasoner = self._reasoner(weight_hash)
        wrong_weights = None if reasoner is not None else self._substitute(weight_hash)
        # 3. The prompt, rendered again from rule, slice and record.
        scene = find_scene(stored, graph)
        # 4. The model once more, and beside it what it had answered.
        again = ask_again(reasoner, stored, scene)
        said = None if scene is None else recall_answer(stored, scene)
        # 5. The verifier, on what was recorded.
        result = None if scene is None else self._verified(stored, scene, said)
        # 6. The chain: the hash of the text, and what the next entry says came before it.
        entry_hash, previous_hash = digest_of(stored.row.text), None if following is None else following.previous_hash
        recovered = Recovered(
            kg_version_hash=version_hash_of(graph, envelope),
            model_weight_hash=weights_of(reasoner),
            prompt_hash=prompt_hash_of(graph, scene),
            grammar_hash=None if scene is None else scene.request.grammar_hash,
            response_text=again,
            within_tolerance=is_tolerated(reasoner, stored, scene, again),
            verifier_result=result,
            entry_hash=entry_hash,
            next_previous_hash=None if previous_hash is None else Digest(previous_hash),
            is_last=following is None,
            altered={
                **stored.altered,
                **_told(ReplayStep.GRAPH, wrong_graph),
                **_told(ReplayStep.WEIGHTS, wrong_weights),
            },
            missing=_missing(weight_hash, self._weights),
        )
        replay = compare_replay(_recorded(stored), recovered)
        return replay if scene is None else self._followed(replay, stored, scene, said)

    def _reasoner(self, weight_hash: Digest) -> LocalReasoner | None:
        """The model in use if it has these weights, else one of before whose weights are kept."""
        if self._weights == weight_hash:
            return self._tools.reasoner
        return None if self._tools.kept is None else self._tools.kept.find(weight_hash)

    def _substitute(self, weight_hash: Digest) -> str | None:
        """What is kept in the place of these weights, looked at once for all entries that name them."""
        if weight_hash not in self._substitutes:
            self._substitutes[weight_hash] = find_substitute(self._tools, weight_hash)
        return self._substitutes[weight_hash]

    def _verified(self, stored: StoredVerdict, scene: Scene, said: Interpretation | None) -> VerifierResult | None:
        if not stored.is_fast:
            return verify_again(stored, scene, said)
        memory = self._memory.before(stored.row.sequence_number)
        return None if memory is None else verify_fast_again(stored, scene, memory.stable.get(scene.docket.rule_id))

    def _followed(self, replay: Replay, stored: StoredVerdict, scene: Scene, said: Interpretation | None) -> Replay:
        """Whatever else the entry says must follow too; what does not is a divergence of step 5, the last one told."""
        wrong = (
            check_ruling(stored, scene, said),
            self._memory.check_windows(stored, scene),
            check_wording(stored, scene, said),
            check_attestation(self._tools, self._ring, self._tenant_id, stored),
        )
        told = [detail for detail in wrong if detail is not None]
        return _diverged(replay, told[-1]) if told else replay


def _told(step: ReplayStep, detail: str | None) -> dict[ReplayStep, str]:
    return {} if detail is None else {step: detail}


def _missing(weight_hash: Digest, in_use: Digest | None) -> dict[ReplayStep, str]:
    """Other weights than the recorded ones are no divergence: those that judged are not kept, and the rest is told."""
    other = "no model is in use" if in_use is None else f"the model in use has `{in_use}`"
    return {ReplayStep.WEIGHTS: f"the weights `{weight_hash}` are not kept; {other}"}


def _numbers(unit: Unit, tenant_id: TenantId, first: int, last: int | None) -> Iterator[int]:
    """Entries of verdicts, and those that cannot be read: they may have been some."""
    following, is_over = first, False
    while not is_over and (last is None or following <= last):
        found, following, is_over = _readable(unit, tenant_id, following, last)
        yield from found


def _readable(unit: Unit, tenant_id: TenantId, first: int, last: int | None) -> tuple[list[int], int, bool]:
    """Numbers up to the first entry that cannot be read, which counts; where to go on, and whether that was all."""
    found, following = [], first
    try:
        for row in unit.ledger.entries(tenant_id, first=first, last=last):
            following = row.sequence_number + 1
            found += [row.sequence_number] if row.kind in VERDICT_KINDS else []
    except DamagedRecordError:
        return [*found, following], following + 1, False
    return found, following, True


def _recorded(stored: StoredVerdict) -> Recorded:
    envelope = stored.envelope
    return Recorded(
        sequence_number=stored.row.sequence_number,
        schema_version=stored.row.schema_version,
        entry_hash=Digest(stored.row.entry_hash),
        provenance=envelope.model_provenance,
        response_text=stored.reply.text,
        verifier_result=envelope.verifier_result,
        verdict_path=envelope.verdict_path,
        was_answered=stored.reply.failure is None,
    )


def _diverged(replay: Replay, detail: str) -> Replay:
    wrong = StepFinding(step=ReplayStep.VERIFIER, result=StepResult.DIVERGED, detail=detail)
    steps = tuple(wrong if one.step is ReplayStep.VERIFIER else one for one in replay.steps)
    return replace(replay, result=ReplayResult.REPLAY_DIVERGENCE, steps=steps)
