"""Limits are kept before a model is asked; a generation says who wrote it, from which seed, and ends as it says."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from assay.adapters.inference.backend import Request
from assay.adapters.inference.bounded import BoundedModel, Bounds
from assay.adapters.inference.scripted import ScriptedBackend
from assay.kernel.digest import digest_of
from assay.ports.model import FinishReason, Model, ModelError, ModelUnavailableError
from tests.waiting import until


def _model(script: Callable[[Request], str], **bounds: float) -> BoundedModel:
    return BoundedModel(ScriptedBackend(script), Bounds(**bounds))  # type: ignore[arg-type]  # fields of both kinds


def _code(model: Model, **changes: object) -> str:
    with pytest.raises(ModelError) as caught:
        model.generate(**({"prompt": "hello", "max_tokens": 8} | changes))  # type: ignore[arg-type]  # wrong on purpose
    return caught.value.code


def test_each_text_has_a_seed_of_its_own_and_the_model_that_wrote_it() -> None:
    model = _model(lambda request: f"{request.prompt} {request.seed} {request.temperature}")
    texts = model.generate("hello", max_tokens=8, temperature=0.8, top_k=0, seed=40, count=3)
    assert [(one.text, one.seed) for one in texts] == [(f"hello {seed} 0.8", seed) for seed in (40, 41, 42)]
    assert {one.model for one in texts} == {model.identify()}
    assert texts[0].model.weight_hash == digest_of(b"scripted")
    assert all(one.finish is FinishReason.STOP and one.elapsed_seconds >= 0 for one in texts)


@pytest.mark.parametrize(
    "changes",
    [
        {"prompt": ""},
        {"prompt": "x" * 101},
        {"max_tokens": 0},
        {"max_tokens": 10_000},
        {"count": 0},
        {"count": 65},
        {"logprobs": -1},
        {"logprobs": 21},
        {"temperature": -0.1},
        {"temperature": 2.1},
        {"temperature": float("nan")},
        {"temperature": float("inf")},
        {"top_p": 0},
        {"top_p": 1.1},
        {"top_p": float("nan")},
        {"top_k": -1},
        {"seed": -1},
        {"seed": 2**31 - 1},
        {"grammar": {"type": "wat"}},
        {"grammar": {"$ref": "http://127.0.0.1:1/schema"}},
        {"grammar": {"enum": [float("nan")]}},
    ],
    ids=str,
)
def test_a_question_outside_the_limits_is_never_asked(changes: dict[str, object]) -> None:
    asked: list[Request] = []

    def script(request: Request) -> str:
        asked.append(request)
        return "x"

    assert _code(_model(script, prompt_chars=100), **changes) == "model.bad_request"
    assert asked == []


_SCHEMA = {"type": "object", "properties": {"a": {"enum": [1]}}, "required": ["a"], "additionalProperties": False}


@pytest.mark.parametrize(
    "text", ["no", '{"a":2}', '{"a":1,"a":1}', '```json{"a":1}```', '{"a":1} x', '{"a":NaN}', "[]"]
)
def test_a_text_that_its_grammar_does_not_allow_is_refused(text: str) -> None:
    """Engines drop a schema that they cannot compile, and write what they like."""
    assert _code(_model(lambda _: text), grammar=_SCHEMA) == "model.bad_reply"
    (free,) = _model(lambda _: text).generate("hello", max_tokens=8)
    assert free.text == text


def test_a_text_under_a_grammar_is_json_or_says_that_it_was_cut() -> None:
    (whole,) = _model(lambda _: '{"a":1}').generate("hello", max_tokens=8, grammar=_SCHEMA)
    assert (whole.text, whole.finish) == ('{"a":1}', FinishReason.STOP)
    (cut,) = _model(lambda _: '{ "a" : 1 }').generate("hello", max_tokens=2, grammar=_SCHEMA)
    assert (cut.text, cut.finish) == ('{ "a"', FinishReason.LENGTH)


class _Gate:
    """A script that waits until it is let through."""

    def __init__(self) -> None:
        self.inside = 0
        self.opened = threading.Event()

    def __call__(self, _request: Request) -> str:
        self.inside += 1
        assert self.opened.wait(20)
        return "done"


def test_more_callers_than_may_wait_are_told_so_at_once() -> None:
    gate = _Gate()
    model = _model(gate, parallel=1, queue=1)
    with ThreadPoolExecutor() as pool:
        calls = [pool.submit(model.generate, "hello", max_tokens=8) for _ in range(2)]
        until(lambda: gate.inside == 1 and model._present == 2)
        assert _code(model) == "model.busy"
        gate.opened.set()
        assert [call.result()[0].text for call in calls] == ["done", "done"]
    assert model.generate("hello", max_tokens=8)[0].text == "done", "places are given back"


def test_waiting_counts_towards_the_time_and_may_be_given_up() -> None:
    gate = _Gate()
    model = _model(gate, timeout_seconds=1.0)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(model.generate, "hello", max_tokens=8)
        until(lambda: gate.inside == 1)
        assert _code(model) == "model.timeout"
        assert _code(model, cancelled=lambda: True) == "model.cancelled"
        gate.opened.set()
        assert first.result()[0].text == "done"
    assert gate.inside == 1


def test_an_unavailable_model_says_so_and_leaves_its_place() -> None:
    def script(_request: Request) -> str:
        raise ModelUnavailableError("gone")

    model = _model(script, queue=0)
    for _ in range(3):
        assert _code(model) == "model.unavailable"


def test_closing_the_model_closes_its_backend() -> None:
    backend = ScriptedBackend(lambda _: "x")
    with BoundedModel(backend):
        assert not backend.is_closed
    assert backend.is_closed
