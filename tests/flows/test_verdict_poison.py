"""Poisoned graphs and substituted weights of the attack corpus: neither comes into use (SKI 3.5, 9.3)."""

import copy
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from msgspec.structs import replace

from assay.adapters.reasoning.judge import JudgeReasoner, JudgeWeights, shipped_weights, weights_by_card
from assay.adapters.reasoning.scripted import ScriptedReasoner
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest
from assay.ports.reasoner import LocalReasoner, ReasonerIdentity
from assay.verdicts.envelope import VerifierStatus
from assay.verdicts.graph.hash import graph_bytes
from tests.contract._kit import refused
from tests.flows._attacks import (
    GRAPH,
    attack_vectors,
    breach,
    judged_by,
    running_judge,
    signed,
    stamped,
    under_attack,
    with_text,
)
from tests.flows._node import TENANT
from tests.flows._verdicts import GRAPH_KEY, WEIGHTS, KeyInHand, VerdictDesk

_STRANGER = KeyInHand(Ed25519PrivateKey.from_private_bytes(b"S" * 32))
_KEYS = {"operator": GRAPH_KEY, "stranger": _STRANGER}
GRAPHS = attack_vectors("graphs")["cases"]
SWAPS = attack_vectors("weights")["cases"]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VerdictDesk]:
    with under_attack(tmp_path_factory.mktemp("attacked")) as opened:
        yield opened


def _name(case: dict[str, Any]) -> str:
    return str(case["name"])


def _set(document: Any, pointer: str, value: object) -> None:  # noqa: ANN401 - a JSON document
    *parents, last = pointer.strip("/").split("/")
    for part in parents:
        document = document[int(part) if isinstance(document, list) else part]
    key: Any = int(last) if isinstance(document, list) else last
    if value is None:
        del document[key]
    else:
        document[key] = value


def _poisoned(case: dict[str, Any]) -> bytes:
    graph = copy.deepcopy(GRAPH)
    for pointer, value in case.get("before_set", []):
        _set(graph, pointer, value)
    for pointer, value in case.get("append", []):
        *_, last = pointer.strip("/").split("/")
        (graph["nodes"] if pointer.startswith("/nodes/") else graph)[last].append(value)
    stamps = json.loads(stamped(graph))
    for pointer, value in case.get("stale", []):
        _set(stamps, pointer, value)
    return _attacked(case, _sign(case, json.dumps(stamps).encode()))


def _sign(case: dict[str, Any], document: bytes) -> bytes:
    """By hand, since our own signing refuses what is no graph."""
    if case["signed_by"] is None:
        return document
    value, key = json.loads(document), _KEYS[case["signed_by"]]
    named = _KEYS[case.get("key_of", case["signed_by"])]
    pem = named.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    signature = key.sign(graph_bytes(json.loads(stamped(GRAPH)) if "signature_of" in case else value))
    block = {"algorithm": "ed25519", "public_key_pem": pem, "value_hex": signature.hex()}
    return canonicalize({**value, "signature": block})


def _attacked(case: dict[str, Any], document: bytes) -> bytes:
    if "after_set" in case:
        value = json.loads(document)
        for pointer, part in case["after_set"]:
            _set(value, pointer, part)
        document = canonicalize(value)
    for _, old, new in case.get("after", []):
        assert old.encode() in document
        document = document.replace(old.encode(), new.encode(), 1)
    return document


@pytest.mark.clause("ski", "3.5")
@pytest.mark.clause("ski", "9.3")
@pytest.mark.parametrize("case", [one for one in GRAPHS if "code" in one], ids=_name)
def test_a_poisoned_graph_does_not_come_into_use(desk: VerdictDesk, case: dict[str, Any]) -> None:
    active = desk.read(lambda unit: unit.graphs.find_active(TENANT))
    with refused(case["code"]):
        desk.load(_poisoned(case))
    assert desk.read(lambda unit: unit.graphs.find_active(TENANT)) == active


def test_the_graph_itself_is_signed_as_the_corpus_signs() -> None:
    """So that the tests above can fail: without a change, what they make is what is in use."""
    assert _poisoned({"signed_by": "operator"}) == signed(stamped(GRAPH))


@pytest.fixture(scope="module")
def judge() -> Iterator[JudgeReasoner]:
    with running_judge(shipped_weights()) as opened:
        yield opened


@pytest.mark.clause("ski", "9.3")
@pytest.mark.parametrize("case", [one for one in GRAPHS if "verdict" in one], ids=_name)
def test_instructions_in_a_signed_graph_change_no_verdict(
    tmp_path: Path, judge: JudgeReasoner, case: dict[str, Any]
) -> None:
    """A true signature over hostile words: the model reads them, and the limit still decides."""
    with under_attack(tmp_path) as desk:
        desk.load(_poisoned(case))
        judged_by(desk, judge)
        (one,) = desk.decide_given(with_text(desk, json.dumps(breach("stack-medium")))).verdicts
        assert one.envelope is not None
        assert (one.verdict and one.verdict.value) == case["verdict"]
        assert one.envelope.verifier_result.status is VerifierStatus.AGREED


def _swapped_file(folder: Path, change: list[Any], card: dict[str, str]) -> JudgeWeights:
    shipped = shipped_weights()
    content = shipped.file.read_bytes()
    if change[0] == "cut":
        content = content[: change[1]]
    elif change[0] == "flip":
        content = content[: change[1]] + bytes([content[change[1]] ^ 1]) + content[change[1] + 1 :]
    elif change[0] == "other":
        content = bytes(reversed(content))
    elif change[0] == "add":
        content += b"\0"
    file = folder / "judge.bin"
    if change[0] != "none":
        file.write_bytes(content)
    facts = json.loads(shipped.file.with_suffix(".json").read_text())
    file.with_suffix(".json").write_text(json.dumps({**facts, **card}))
    return weights_by_card(file)


class _Changing(ScriptedReasoner):
    """A server that names other weights from one call to the next, or answers by others than it named."""

    def __init__(self, desk: VerdictDesk, case: dict[str, Any]) -> None:
        assert desk.model is not None
        super().__init__(desk.model, desk.tools.clock, weight_hash=Digest(case.get("reply", WEIGHTS)))
        known = case.get("identities", [case.get("identity", WEIGHTS)])
        self._named = [WEIGHTS if one == "$registered" else one for one in known]

    def identify(self) -> ReasonerIdentity:
        named = self._named.pop(0) if len(self._named) > 1 else self._named[0]
        return replace(super().identify(), model_weight_hash=named)


def _substituted(desk: VerdictDesk, case: dict[str, Any], folder: Path, stack: ExitStack) -> LocalReasoner:
    if "file" not in case and "card" not in case and "registered" not in case:
        return _Changing(desk, case)
    weights = _swapped_file(folder, case.get("file", ["same"]), case.get("card", {}))
    desk.settings(weights=(Digest(case.get("registered", shipped_weights().expected)),))
    return stack.enter_context(running_judge(weights))


@pytest.mark.clause("ski", "9.3")
@pytest.mark.parametrize("case", SWAPS, ids=_name)
def test_substituted_weights_reach_no_verdict(desk: VerdictDesk, tmp_path: Path, case: dict[str, Any]) -> None:
    """Refused with its code, nothing recorded; a server that changes is caught at the record where it does."""
    before = desk.tools
    with ExitStack() as stack:
        stack.callback(lambda: desk.use(reasoner=before.reasoner, ski=before.ski))
        desk.use(reasoner=_substituted(desk, case, tmp_path, stack))
        for _ in case.get("identities", [])[1:]:
            desk.decide_given(with_text(desk, json.dumps(breach("stack-medium"))))
        head = desk.head()
        with refused(case["code"]):
            desk.decide_given(with_text(desk, json.dumps(breach("stack-medium"))))
        assert desk.head() == head
