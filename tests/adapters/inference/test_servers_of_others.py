"""Servers that others run are asked exactly as documented, and believed only as far as their answers make sense.

The exchanges are written by hand from what each documents, not recorded: Ollama and vLLM cannot run here.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assay.adapters.inference.backend import Backend
from assay.adapters.inference.bounded import BoundedModel
from assay.adapters.inference.exchange import Exchange
from assay.adapters.inference.llamacpp import LlamaCpp
from assay.adapters.inference.ollama import Ollama
from assay.adapters.inference.openai_compatible import OpenAiCompatible
from assay.adapters.inference.vllm import open_vllm
from assay.kernel.digest import Digest, digest_of
from assay.ports.model import FinishReason, ModelError
from tests.adapters.inference.loopback import Answer, Asked, Loopback, served

_VECTORS = Path(__file__).parents[2] / "vectors" / "inference"
_SCHEMA = {
    "type": "object",
    "properties": {"colour": {"enum": ["red", "blue"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
_DIGEST = "a80c4f17acd55265feec403c7aef86be0c25983ab279d83f3bcd3abbcb5b8b72"
_WEIGHTS = digest_of(b"weights")

_BACKENDS: dict[str, Callable[[Exchange], Backend]] = {
    "ollama": lambda exchange: Ollama(exchange, model="llama3.2", context_tokens=4096),
    "vllm": lambda exchange: open_vllm(exchange, model="judge-7b", weight_hash=_WEIGHTS),
    "openai_compatible": lambda exchange: OpenAiCompatible(exchange, model="judge-7b"),
}


def _vector(name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((_VECTORS / f"{name}.json").read_text())
    return value


@contextmanager
def _recorded(name: str, vector: dict[str, Any] | None = None) -> Iterator[tuple[BoundedModel, Loopback]]:
    """A server that knows the recorded exchanges and no others."""
    exchanges = (vector or _vector(name))["exchanges"]

    def answer(asked: Asked) -> Answer:
        body = json.loads(asked.body) if asked.body else None
        for one in exchanges:
            if (one["method"], one["path"], one.get("body")) == (asked.method, asked.path, body):
                return Answer(one["status"], iter([json.dumps(one["answer"]).encode()]))
        return Answer(404, iter([b"not recorded"]))

    with served(answer) as server:
        yield BoundedModel(_BACKENDS[name](Exchange(server.address))), server


def _ask(model: BoundedModel) -> Any:  # noqa: ANN401 - read field by field
    return model.generate("Name a colour.", grammar=_SCHEMA, max_tokens=16, seed=7, logprobs=2)[0]


@pytest.mark.parametrize("name", _BACKENDS)
def test_each_server_is_asked_as_its_reference_says(name: str) -> None:
    with _recorded(name) as (model, _):
        said = _ask(model)
    assert (said.text, said.finish) == ('{"colour":"blue"}', FinishReason.STOP)
    assert (said.prompt_tokens, said.generated_tokens, said.seed) == (26, 6, 7)
    (token,) = said.tokens
    assert (token.token, token.logprob) == ('{"', -0.5)
    assert [(one.token, one.logprob) for one in token.top] == [('{"', -0.5), ("Blue", -1.25)]


def _identity(name: str) -> tuple[str, str, str, Digest | None]:
    with _recorded(name) as (model, _):
        found = model.identify()
    return found.backend, found.engine_version, found.model, found.weight_hash


def test_weights_are_named_by_content_or_not_at_all() -> None:
    """Ollama tells a digest; of the others only the operator's own copy tells anything, never the name."""
    assert _identity("ollama") == ("ollama", "0.12.11", "llama3.2:latest", f"sha256:{_DIGEST}")
    assert _identity("vllm") == ("vllm", "0.11.0", "judge-7b", _WEIGHTS)
    assert _identity("openai_compatible") == ("openai-compatible", "unknown", "judge-7b", None)


def _code(name: str, spoil: Callable[[list[Any]], object]) -> str:
    vector = _vector(name)
    spoil(vector["exchanges"])
    with _recorded(name, vector) as (model, _), pytest.raises(ModelError) as caught:
        _ask(model)
    return caught.value.code


@pytest.mark.parametrize("name", _BACKENDS)
def test_a_server_without_the_model_is_unavailable(name: str) -> None:
    """It would answer with another one."""
    listed = "models" if name == "ollama" else "data"
    assert _code(name, lambda exchanges: exchanges[0]["answer"][listed].clear()) == "model.unavailable"


@pytest.mark.parametrize("name", _BACKENDS)
@pytest.mark.parametrize("answer", [{}, [], None, "x", {"choices": []}, {"message": {"content": 1}, "done": True}])
def test_an_answer_of_another_shape_is_no_generation(name: str, answer: object) -> None:
    assert _code(name, lambda exchanges: exchanges[-1].update(answer=answer)) == "model.bad_reply"


@pytest.mark.parametrize("reason", [None, "content_filter", "tool_calls", "load"])
def test_a_text_that_ended_for_another_reason_is_no_generation(reason: str | None) -> None:
    def openai(exchanges: list[Any]) -> None:
        exchanges[-1]["answer"]["choices"][0]["finish_reason"] = reason

    assert _code("vllm", openai) == "model.bad_reply"
    assert _code("ollama", lambda exchanges: exchanges[-1]["answer"].update(done_reason=reason)) == "model.bad_reply"


@pytest.mark.parametrize("logprob", [0.1, 1e400])
def test_a_probability_above_one_is_a_lie(logprob: float) -> None:
    def spoil(exchanges: list[Any]) -> None:
        exchanges[-1]["answer"]["logprobs"][0]["logprob"] = logprob

    assert _code("ollama", spoil) == "model.bad_reply"


def test_ollama_refuses_weights_other_than_the_pinned_and_a_prompt_that_was_cut() -> None:
    vector = _vector("ollama")
    vector["exchanges"][-1]["answer"]["prompt_eval_count"] = 4096
    with _recorded("ollama", vector) as (model, server):
        with pytest.raises(ModelError) as caught:
            _ask(model)
        assert caught.value.code == "model.bad_request"
        pinned = Ollama(Exchange(server.address), model="llama3.2", context_tokens=4096, pinned_hash=_WEIGHTS)
        with pytest.raises(ModelError) as caught:
            BoundedModel(pinned).identify()
        assert caught.value.code == "model.weights"
    assert _code("ollama", lambda exchanges: exchanges[-1]["answer"].update(done=False)) == "model.bad_reply"
    assert (
        _code("ollama", lambda exchanges: exchanges[0]["answer"]["models"][0].update(digest="x")) == "model.bad_reply"
    )


def test_what_the_standard_cannot_say_is_refused_and_not_dropped() -> None:
    with _recorded("openai_compatible") as (model, server):
        with pytest.raises(ModelError) as caught:
            model.generate("Name a colour.", max_tokens=4, top_k=40, temperature=1.0)
        assert caught.value.code == "model.bad_request"
        assert [one.path for one in server.asked] == ["/v1/models"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"truncated": True}, "model.bad_request"),
        ({"stop_type": "none"}, "model.bad_reply"),
        ({"content": 1}, "model.bad_reply"),
    ],
)
def test_a_llamacpp_server_that_cut_the_prompt_or_stopped_otherwise_gave_no_answer(
    change: dict[str, object], code: str
) -> None:
    whole = {"content": "x", "stop_type": "eos", "truncated": False, "tokens_evaluated": 1, "tokens_predicted": 1}

    def answer(asked: Asked) -> Answer:
        said = {"/apply-template": {"prompt": "p"}, "/props": {"build_info": "b1"}, "/completion": whole | change}
        return Answer(200, iter([json.dumps(said[asked.path]).encode()]))

    with served(answer) as server, BoundedModel(LlamaCpp(Exchange(server.address), model="m")) as model:
        assert model.identify().engine_version == "b1"
        with pytest.raises(ModelError) as caught:
            model.generate("x", max_tokens=4)
    assert caught.value.code == code
