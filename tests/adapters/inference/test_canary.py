"""A server that ignores the grammar is never taken for one that obeys it, whatever it answers."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from assay.adapters.clock import OsEntropy
from assay.adapters.inference.bounded import BoundedModel, Bounds
from assay.adapters.inference.canary import Canary, draw_canary
from assay.adapters.inference.exchange import Exchange
from assay.adapters.inference.grammar import require_by_grammar, require_grammar
from assay.adapters.inference.ollama import Ollama
from assay.adapters.inference.openai_compatible import OpenAiCompatible
from assay.adapters.inference.vllm import open_vllm
from assay.ports.model import ModelError
from tests.adapters.inference.loopback import Answer, Asked, served
from tests.adapters.inference.obeying import OpenAiServer, only_value, smallest

_QUICK = Bounds(timeout_seconds=10)


def _schema(asked: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = asked["response_format"]["json_schema"]["schema"]
    return schema


def _obeying(asked: dict[str, Any]) -> str:
    return only_value(_schema(asked))


@pytest.mark.clause("ski", "2.1.3")
def test_a_server_that_obeys_is_bound_and_asked_once() -> None:
    with served(OpenAiServer(_obeying)) as server:
        model = BoundedModel(OpenAiCompatible(Exchange(server.address), model="m"), _QUICK)
        assert model.obeys_grammar()
        assert model.obeys_grammar()
        assert len([one for one in server.asked if one.path == "/v1/chat/completions"]) == 1


_KEPT = only_value(draw_canary(OsEntropy()).request.grammar or {})


def _without(*lost: str) -> Callable[[dict[str, Any]], str]:
    """A server that drops a part of a schema: what it then writes is free there."""

    def write(asked: dict[str, Any]) -> str:
        value = smallest(_schema(asked))
        return json.dumps({name: ("free" if name in lost else part) for name, part in value.items()})

    return write


@pytest.mark.clause("ski", "2.1.3")
@pytest.mark.parametrize(
    "writes",
    [
        lambda _asked: "no",
        lambda _asked: "{}",
        lambda _asked: "",
        lambda _asked: '{"canary": "no", "order": [3, {"then": "no"}], "end": false}',
        lambda _asked: _KEPT,
        lambda asked: f"<think>the grammar says so</think>{only_value(_schema(asked))}",
        lambda asked: f"```json\n{only_value(_schema(asked))}\n```",
        lambda asked: only_value(_schema(asked))[:-1],
        lambda asked: json.dumps(_schema(asked)),
        _without("canary"),
        _without("order"),
        _without("end"),
    ],
    ids=[
        "text",
        "json",
        "empty",
        "guessed",
        "remembered",
        "thinking",
        "fenced",
        "cut",
        "schema",
        "const",
        "list",
        "end",
    ],
)
def test_a_server_that_ignores_the_grammar_is_not_bound(writes: Callable[[dict[str, Any]], str]) -> None:
    with served(OpenAiServer(writes)) as server:
        model = BoundedModel(OpenAiCompatible(Exchange(server.address), model="m"), _QUICK)
        assert not model.obeys_grammar()


def test_a_server_that_refuses_the_grammar_is_not_bound() -> None:
    def refuse(asked: Asked) -> Answer:
        is_list = asked.path == "/v1/models"
        return Answer(200 if is_list else 400, iter([b'{"data":[{"id":"m"}]}' if is_list else b"no such keyword"]))

    with served(refuse) as server:
        assert not BoundedModel(OpenAiCompatible(Exchange(server.address), model="m"), _QUICK).obeys_grammar()


def test_after_it_was_gone_or_is_another_version_it_is_asked_again() -> None:
    """A server that was bound, and comes back without its grammar, is found out."""
    script = OpenAiServer(_obeying)
    with served(script) as server:
        model = BoundedModel(open_vllm(Exchange(server.address), model="m"), _QUICK)
        assert model.obeys_grammar()
        script.is_down = True
        with pytest.raises(ModelError):
            model.generate("hello", max_tokens=5)
        script.is_down, script.writes = False, lambda _asked: "no"
        assert not model.obeys_grammar()
        script.writes, script.version = _obeying, "2"
        assert model.obeys_grammar()


def test_ollama_is_asked_with_its_own_format() -> None:
    def answer(asked: Asked) -> Answer:
        if asked.path == "/api/tags":
            return _json({"models": [{"name": "m:latest", "digest": "ab" * 32}]})
        if asked.path == "/api/version":
            return _json({"version": "0.9"})
        text = only_value(json.loads(asked.body)["format"])
        return _json({"message": {"content": text}, "done": True, "done_reason": "stop"})

    with served(answer) as server:
        assert BoundedModel(Ollama(Exchange(server.address), model="m", context_tokens=512), _QUICK).obeys_grammar()


def _json(value: object) -> Answer:
    return Answer(200, iter([json.dumps(value).encode()]))


def test_a_canary_has_one_valid_output_and_fresh_words() -> None:
    first, second = draw_canary(OsEntropy()), draw_canary(OsEntropy())
    assert first.text != second.text
    grammar = first.request.grammar
    assert grammar is not None
    require_grammar(grammar)
    require_by_grammar(first.text, grammar)
    assert only_value(grammar).replace(" ", "") == first.text
    assert first.is_obeyed(first.text)
    assert not first.is_obeyed(second.text)
    assert first.text not in first.request.prompt
    assert Canary(("a", "b")).text == '{"canary":"a","order":[3,{"then":"b"}],"end":false}'


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"const": 1}, "maxItems": 2, "uniqueItems": True},
        {"type": "string", "pattern": "a*", "maxLength": 4},
        {"type": "string"},
        {"type": "array", "items": {"const": 1}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"const": 1}}},
        {"type": "object", "properties": {"a": {"const": 1}}, "required": [], "additionalProperties": False},
        {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]},
        {"type": "string", "maxLength": 100_000},
    ],
)
def test_a_schema_that_some_engine_would_drop_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ModelError) as caught:
        require_grammar(schema)
    assert caught.value.code == "model.bad_request"
