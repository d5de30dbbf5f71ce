"""The answer that a verdict rests on (SKI 8.1, step 4): read again as it was recorded, and asked for once more.

transcript -> recall_answer -> what the next steps saw; the same weights and question -> ask_again -> what they say now
"""

import re

from assay.flows.tools import Tools
from assay.flows.verdicts.replay_scene import Scene
from assay.flows.verdicts.replay_tolerance import is_within_tolerance
from assay.flows.verdicts.stored_verdict import StoredVerdict
from assay.kernel.digest import ZERO_DIGEST, Digest
from assay.kernel.transcript import Transcript
from assay.ports.model import ModelError, ModelWeightsError
from assay.ports.reasoner import LocalReasoner
from assay.verdicts.fastpath import FastAnswer, Stability, fast_answer
from assay.verdicts.predicate import Judgement
from assay.verdicts.reason import Interpretation, RawReply, interpret_failure, interpret_reply
from assay.verdicts.record import recorded_response
from assay.verdicts.verify import judge_all

_COUNT = re.compile(r"after (\d{1,15}) equal evaluations", re.ASCII)


def recall_answer(stored: StoredVerdict, scene: Scene) -> Interpretation | None:
    """What the governor was given: the model's answer, or that of the fast path; None where nothing is kept of it."""
    if stored.is_fast:
        judgements = judge_all(scene.docket, scene.telemetry, scene.facts)
        return Interpretation(answer=fast_again(stored, scene, judgements).answer)
    if stored.reply.failure is not None:
        return Interpretation(answer=interpret_failure("reply.unavailable", "").answer, error=stored.reply.failure)
    if stored.transcript is None or stored.reply.text is None:
        return None
    if stored.reply.characters != len(stored.reply.text):
        return _too_long(stored)
    return interpret_reply(_raw_reply(stored, stored.transcript, stored.reply.text), scene.docket)


def fast_again(stored: StoredVerdict, scene: Scene, judgements: tuple[Judgement, ...]) -> FastAnswer:
    """What the fast path says where everything is as it was; how often that was, the entry claims."""
    count = claimed_count(stored)
    stability = Stability(rule_id=scene.docket.rule_id, pattern=ZERO_DIGEST, count=count)
    return fast_answer(
        scene.docket, scene.telemetry, scene.facts, judgements, stability=stability, pattern=stability.pattern
    )


def claimed_count(stored: StoredVerdict) -> int:
    """After how many equal evaluations the model was left out, as the entry has it."""
    found = _COUNT.search(stored.envelope.reasoning)
    return 0 if found is None else int(found[1])


def ask_again(reasoner: LocalReasoner | None, stored: StoredVerdict, scene: Scene | None) -> str | None:
    """What these weights say to the same question now; None where they cannot be asked, or were not at the time."""
    if scene is None or reasoner is None or stored.reply.text is None or stored.is_fast:
        return None
    try:
        return str(recorded_response(reasoner.complete(scene.request))["text"])
    except ModelError:
        return None


def is_tolerated(
    reasoner: LocalReasoner | None, stored: StoredVerdict, scene: Scene | None, again: str | None
) -> bool | None:
    """Asked only where the model wrote something else, which one that is not exact may (SKI 8.2)."""
    if reasoner is None or scene is None or stored.transcript is None or again is None or again == stored.reply.text:
        return None
    return is_within_tolerance(reasoner, scene.request, stored.transcript)


def weights_of(reasoner: LocalReasoner | None) -> Digest | None:
    try:
        return None if reasoner is None else reasoner.identify().model_weight_hash
    except ModelError:
        return None


def find_substitute(tools: Tools, weight_hash: Digest) -> str | None:
    """What is kept in the place of these weights, in words with both hashes; None where nothing is."""
    try:
        if tools.reasoner is not None:
            tools.reasoner.identify()
    except ModelWeightsError as error:
        if weight_hash in str(error):
            return f"{error.code}: {error}"
    except ModelError:
        pass  # a model that cannot be asked now; its weights were not looked at
    try:
        if tools.weights is not None:
            tools.weights.find(weight_hash)
    except ModelWeightsError as error:
        return f"{error.code}: {error}"
    return None


def _too_long(stored: StoredVerdict) -> Interpretation | None:
    """A text longer than is kept: that it could not be read is all that is left of it."""
    why = next((one for one in stored.envelope.verifier_result.divergences if one.startswith("reply.")), None)
    return None if why is None else Interpretation(answer=interpret_failure("reply.unparsed", "").answer, error=why)


def _raw_reply(stored: StoredVerdict, transcript: Transcript, text: str) -> RawReply:
    return RawReply(
        text=text,
        backend_name=transcript.backend_name,
        model_weight_hash=stored.envelope.model_provenance.model_weight_hash,
        started_at=transcript.started_at,
        completed_at=transcript.completed_at,
        is_complete=stored.reply.is_complete,
        is_bound=stored.reply.is_bound,
    )
