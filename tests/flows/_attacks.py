"""The attack corpus of `tests/vectors/verdicts/attacks`, and a node that it is let loose upon."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from assay.adapters.clock import SystemClock
from assay.adapters.reasoning.judge import JudgeReasoner, JudgeWeights, shipped_weights
from assay.adapters.reasoning.judge_process import JudgeProcess
from assay.adapters.reasoning.scripted import ScriptedReasoner
from assay.flows.verdicts.read_verdicts import Decided
from assay.kernel.errors import Error
from assay.kernel.instant import render_instant
from assay.verdicts.graph.hash import stamp_versions
from assay.verdicts.graph.open import sign_graph
from assay.verdicts.reason import RawReply, ReasonRequest
from tests.flows._verdicts import GRAPH_KEY, WEIGHTS, HonestModel, KeyInHand, VerdictDesk, opened_verdicts

__all__ = [
    "GRAPH",
    "IncompleteReasoner",
    "attack_vectors",
    "breach",
    "judged_by",
    "outcome",
    "running_judge",
    "signed",
    "stamped",
    "under_attack",
    "versions",
    "with_text",
]

_FOLDER = Path(__file__).parents[1] / "vectors" / "verdicts" / "attacks"
_NUMBERS = count(1)


def attack_vectors(name: str) -> Any:  # noqa: ANN401 - a document of its own shape
    return json.loads((_FOLDER / f"{name}.json").read_text())


GRAPH: dict[str, Any] = attack_vectors("graph")["graph"]


def stamped(graph: dict[str, Any]) -> bytes:
    return json.dumps(stamp_versions(graph)).encode()


def signed(document: bytes, key: KeyInHand = GRAPH_KEY) -> bytes:
    return sign_graph(document, key.public_key, key.sign)


def versions(document: bytes) -> dict[str, str]:
    """The version of every node by its id."""
    nodes = json.loads(document)["nodes"]
    return {node["id"]: node["version"] for group in nodes.values() for node in group}


class IncompleteReasoner(ScriptedReasoner):
    """A model that was cut off before it had ended."""

    def complete(self, request: ReasonRequest) -> RawReply:
        return replace(super().complete(request), is_complete=False)


@contextmanager
def under_attack(folder: Path) -> Iterator[VerdictDesk]:
    """A strict node with the attacked graph in use, and an honest model. What is attacked is not the review."""
    with opened_verdicts(folder) as desk:
        document = stamped(GRAPH)
        desk.settings(require_review=False, fast_path_n=0)
        desk.load(signed(document))
        desk.model = HonestModel(document)
        desk.thinks(desk.model)
        yield desk


def with_text(desk: VerdictDesk, record: str, text: str = "") -> str:
    """A record of the corpus with its placeholders filled in; the text is escaped as JSON has it."""
    escaped = json.dumps(text)[1:-1]
    now = render_instant(desk.at(minutes=5))
    return record.replace("$now", now).replace("$id", f"t-{next(_NUMBERS)}").replace("$text", escaped)


def breach(subject: str) -> dict[str, Any]:
    """A record that breaches `ob-nox`, with its placeholders."""
    measured = {"nox": 72.5, "temperature": 900}
    return {"telemetry_id": "$id", "timestamp": "$now", "subject": subject, "measurement": measured}


@contextmanager
def running_judge(weights: JudgeWeights) -> Iterator[JudgeReasoner]:
    bench = JudgeProcess(weights)
    try:
        yield JudgeReasoner(bench, SystemClock())
    finally:
        bench.close()


def judged_by(desk: VerdictDesk, judge: JudgeReasoner) -> None:
    """The shipped weights judge from now on, and are on the operator's registry."""
    desk.use(reasoner=judge)
    desk.settings(weights=(WEIGHTS, shipped_weights().expected))


def outcome(decide: Callable[[], Decided]) -> tuple[Decided | None, str]:
    """What was decided, or the code under which it was refused; anything else is a crash."""
    try:
        return decide(), ""
    except Error as error:
        return None, error.code
