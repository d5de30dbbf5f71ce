"""Reasoners: asked greedily under the slice's grammar, and honest about which weights answered."""

import json
from typing import Any

import msgspec
import pytest

from assay.adapters.clock import SystemClock
from assay.adapters.egress.places import place_of_database, place_of_model
from assay.adapters.inference.backend import Request
from assay.adapters.inference.bounded import BoundedModel
from assay.adapters.inference.scripted import ScriptedBackend
from assay.adapters.reasoning.general import GeneralReasoner, in_order
from assay.adapters.reasoning.scripted import RecordedReplies, ScriptedReasoner
from assay.kernel.digest import digest_of
from assay.ports.model import FinishReason, Generation, Model, ModelIdentity
from assay.verdicts.envelope import VerifierStatus
from assay.verdicts.general import GENERAL_TEMPLATE_ID
from assay.verdicts.reason import ReasonRequest, build_request, interpret_reply
from assay.verdicts.record import recorded_response
from assay.verdicts.sovereignty import Place, PlaceKind
from assay.verdicts.verify import verify
from tests.adapters.inference.obeying import only_value
from tests.contract._kit import refused
from tests.verdicts.judging import docket_of, honest, obligation, record

_HERE = Place(kind=PlaceKind.LOOPBACK)
_DOCKET = docket_of(obligation("o-1", "must_not_exceed", value=35))
_RECORD = record({"nox": 40})


def _request() -> ReasonRequest:
    return build_request(_DOCKET, _RECORD, {}, seed=7, template_id=GENERAL_TEMPLATE_ID)


@pytest.mark.clause("ski", "2.1.3")
def test_the_general_model_is_asked_greedily_with_the_seed_and_the_grammar() -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        if _is_canary(request):
            return only_value(request.grammar or {}).replace(" ", "")
        asked.append(request)
        return msgspec.json.encode(honest(_DOCKET, _RECORD)).decode()

    with BoundedModel(ScriptedBackend(answer, weight_hash=digest_of(b"w"))) as model:
        reasoner = GeneralReasoner(model, SystemClock(), place=_HERE)
        reply = reasoner.complete(_request())
        assert (reply.model_weight_hash, reply.is_complete) == (digest_of(b"w"), True)
        assert reasoner.identify().model_weight_hash == digest_of(b"w")
    (one,) = asked
    assert (one.temperature, one.top_p, one.top_k, one.seed) == (0, 1, 1, 7)
    assert one.grammar is not None
    keys = list(msgspec.convert(one.grammar["properties"], dict[str, Any]))
    assert keys == ["formalizable_assertions", "kg_citations", "verdict", "reasoning"]
    assert one.system.startswith("general-1\n")
    assert "<record>" in one.prompt
    assert "must_not_exceed" in one.prompt


def _is_canary(request: Request) -> bool:
    return "canary" in msgspec.convert((request.grammar or {}).get("properties", {}), dict[str, Any])


@pytest.mark.clause("ski", "2.1.3")
def test_a_server_that_is_not_bound_is_refused_in_strict_mode_and_named_in_advisory_mode() -> None:
    text = msgspec.json.encode(honest(_DOCKET, _RECORD)).decode()
    with BoundedModel(ScriptedBackend(lambda _: text, weight_hash=digest_of(b"w"))) as model:
        with refused("model.grammar_unbound"):
            GeneralReasoner(model, SystemClock(), place=_HERE).complete(_request())
        reply = GeneralReasoner(model, SystemClock(), place=_HERE, is_strict=False).complete(_request())
    assert not reply.is_bound
    assert recorded_response(reply)["is_bound"] is False
    read = interpret_reply(reply, _DOCKET)
    found = verify(_DOCKET, _RECORD, {}, read.answer, error=read.error, notice=read.notice).result
    assert found.status is VerifierStatus.AGREED
    assert [one.partition(":")[0] for one in found.divergences] == ["model.grammar_unbound"]


def test_an_answer_that_was_cut_is_not_complete() -> None:
    with BoundedModel(ScriptedBackend(lambda _: "a b c")) as model:
        request = build_request(_DOCKET, _RECORD, {}, seed=7, max_tokens=2, template_id=GENERAL_TEMPLATE_ID)
        assert not GeneralReasoner(model, SystemClock(), place=_HERE, is_strict=False).complete(request).is_complete


class _Nameless:
    """A model that cannot say which weights it runs."""

    def identify(self) -> ModelIdentity:
        return ModelIdentity(backend="llamacpp", engine_version="1", model="m", weight_hash=None)

    def obeys_grammar(self) -> bool:
        return True

    def generate(self, prompt: str, **_options: Any) -> tuple[Generation, ...]:  # noqa: ANN401 - whatever is asked
        return (
            Generation(
                text=prompt[:1],
                tokens=(),
                finish=FinishReason.STOP,
                model=self.identify(),
                seed=0,
                prompt_tokens=None,
                generated_tokens=None,
                elapsed_seconds=0,
            ),
        )


@pytest.mark.clause("ski", "4.6")
def test_weights_that_nobody_can_name_answer_nothing() -> None:
    model: Model = _Nameless()
    reasoner = GeneralReasoner(model, SystemClock(), place=_HERE)
    assert (reasoner.identify().backend_name, reasoner.identify().model_weight_hash) == ("llama.cpp", None)
    with refused("model.weights"):
        reasoner.complete(_request())


def test_recorded_replies_answer_their_own_prompt_and_no_other() -> None:
    request = _request()
    replies = RecordedReplies({request.prompt_hash: "{}"})
    reasoner = ScriptedReasoner(replies, SystemClock(), weight_hash=replies.weight_hash)
    assert reasoner.complete(request).text == "{}"
    assert reasoner.identify().is_exact
    other = build_request(_DOCKET, record({"nox": 41}), {}, seed=7)
    with refused("model.unavailable"):
        reasoner.complete(other)
    assert RecordedReplies({request.prompt_hash: "[]"}).weight_hash != replies.weight_hash


def test_a_grammar_has_its_keys_in_the_order_in_which_they_are_required() -> None:
    schema = {
        "properties": {"a": {"const": 1}, "b": {"items": [{"properties": {"y": {}, "x": {}}, "required": ["x"]}]}}
    }
    ordered = in_order({**schema, "required": ["b"]})
    assert json.dumps(ordered["properties"]) == (
        '{"b": {"items": [{"properties": {"x": {}, "y": {}}, "required": ["x"]}]}, "a": {"const": 1}}'
    )


@pytest.mark.parametrize(
    ("url", "kind", "address"),
    [
        ("sqlite:assay.db", "local_file", "assay.db"),
        ("postgresql:///assay", "unix_socket", ""),
        ("postgresql:///assay?host=/run/pg", "unix_socket", "/run/pg"),
        ("postgresql://u:p@127.0.0.1/assay", "loopback", "127.0.0.1"),
        ("postgresql://localhost:5433/assay", "loopback", "localhost"),
        ("postgresql://db.example/assay", "remote", "db.example:5432"),
        ("postgresql://db.example:6000/assay", "remote", "db.example:6000"),
        ("postgresql://localhost/assay?host=db.example", "remote", "db.example:5432"),
        ("postgresql://localhost/assay?hostaddr=10.0.0.9", "remote", "10.0.0.9:5432"),
    ],
)
def test_where_a_database_is_follows_from_its_address(url: str, kind: str, address: str) -> None:
    assert place_of_database(url) == Place(kind=PlaceKind(kind), address=address)


@pytest.mark.parametrize(
    ("url", "kind", "address"),
    [
        (None, "loopback", ""),
        ("unix:/run/model.sock", "unix_socket", "/run/model.sock"),
        ("http://127.0.0.1:8080", "loopback", "http://127.0.0.1:8080"),
        ("http://[::1]:8080", "loopback", "http://[::1]:8080"),
        ("http://gpu.example:8000", "remote", "http://gpu.example:8000"),
    ],
)
def test_where_a_model_is_follows_from_its_address(url: str | None, kind: str, address: str) -> None:
    assert place_of_model(url) == Place(kind=PlaceKind(kind), address=address)
