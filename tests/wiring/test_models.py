"""No model unless the operator names one; what is named is checked at the start; other engines are unavailable."""

import json
from pathlib import Path

import pytest

from assay.config import BadConfigError, Config, parse_config
from assay.kernel.digest import digest_of
from assay.ports.model import ModelError
from assay.ports.validator import ValidatorError
from assay.wiring import open_models
from tests.adapters.inference.loopback import Answer, Asked, served
from tests.raising import raises

_NODE = '[node]\norigin = "log.example"\nfounder = "sha256:' + "0" * 64 + '"\n'


def _config(text: str) -> Config:
    return parse_config(_NODE + text, {})


def _problems(text: str) -> set[str]:
    with pytest.raises(BadConfigError) as caught:
        _config(text)
    return {problem.field for problem in caught.value.problems}


def test_without_a_model_only_the_rules_judge(tmp_path: Path) -> None:
    """There is no default model: what needs one is unavailable."""
    with open_models(tmp_path, _config(""), {}) as models:
        assert models.general is None
        assert models.engines.get("rules").name == "rules"
        with raises(ValidatorError.unavailable):
            models.engines.get("local-model")


def test_the_general_model_judges_under_the_names_that_the_operator_gave(tmp_path: Path) -> None:
    text = (
        '[models]\nengines = ["local-model", "local-reader"]\n[models.general]\nbackend = "llamacpp"\nweights = "m"\n'
    )
    with open_models(tmp_path, _config(text), {}) as models:
        assert models.general is not None
        assert {models.engines.get(name).name for name in ("local-model", "local-reader")} == {
            "local-model",
            "local-reader",
        }
        with pytest.raises(ModelError) as caught:
            models.general.generate("x", max_tokens=1)
        assert caught.value.code == "model.weights"


@pytest.mark.parametrize("backend", ["openai-compatible", "vllm", "llamacpp"])
def test_a_server_is_asked_with_the_token_of_the_environment(tmp_path: Path, backend: str) -> None:
    """The operator's copy of its weights, beside the configuration, names the model."""
    (tmp_path / "weights.bin").write_bytes(b"weights")

    def answer(asked: Asked) -> Answer:
        said = {"/v1/models": {"data": [{"id": "m"}]}, "/version": {"version": "1"}, "/props": {"build_info": "1"}}
        return Answer(200, iter([json.dumps(said[asked.path]).encode()]))

    with served(answer) as server:
        text = f'[models.general]\nbackend = "{backend}"\nmodel = "m"\nurl = "{server.address.url}"\n'
        text += f'weights = "weights.bin"\nweights_hash = "{digest_of(b"weights")}"\n'
        with open_models(tmp_path, _config(text), {"ASSAY_MODEL_TOKEN": "secret"}) as models:
            assert models.general is not None
            assert models.general.identify().weight_hash == digest_of(b"weights")
        assert {one.headers["authorization"] for one in server.asked} == {"Bearer secret"}


def test_an_address_outside_is_refused_at_the_start_unless_it_is_tagged(tmp_path: Path) -> None:
    general = '[models.general]\nbackend = "ollama"\nmodel = "m"\nurl = "http://10.0.0.5:11434"\n'
    with pytest.raises(ModelError) as caught, open_models(tmp_path, _config(general), {}):
        pytest.fail("it was opened")
    assert caught.value.code == "model.address"
    tagged = '[models]\ndeployment_local = ["http://10.0.0.5:11434"]\n' + general
    with open_models(tmp_path, _config(tagged), {}) as models:
        assert models.general is not None


def test_weights_other_than_the_pinned_are_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(b"substituted")
    text = '[models.general]\nbackend = "vllm"\nmodel = "m"\nurl = "http://127.0.0.1:1"\nweights = "weights.bin"\n'
    text += f'weights_hash = "{digest_of(b"weights")}"\n'
    with pytest.raises(ModelError) as caught, open_models(tmp_path, _config(text), {}):
        pytest.fail("it was opened")
    assert caught.value.code == "model.weights"


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ('backend = "scripted"', {"models.general.backend"}),
        ('backend = "llamacpp"', {"models.general.weights"}),
        ('backend = "ollama"\nmodel = "m"', {"models.general.url"}),
        ('backend = "vllm"\nurl = "http://127.0.0.1:1"', {"models.general.model"}),
        (
            'backend = "vllm"\nurl = "http://127.0.0.1:1"\nmodel = "m"\nweights_hash = "x"',
            {"models.general.weights_hash"},
        ),
        (
            'backend = "llamacpp"\nweights = "m"\ncontext_tokens = 1\nthreads = -1\ntimeout_seconds = 0\nqueue = -1',
            {f"models.general.{name}" for name in ("context_tokens", "threads", "timeout_seconds", "queue")},
        ),
        ('backend = "llamacpp"\nweights = "m"\ncolour = 1', {"models.general.colour"}),
    ],
)
def test_a_bad_choice_is_refused_with_every_problem(text: str, fields: set[str]) -> None:
    """A scripted model cannot be chosen: it is for tests."""
    assert _problems(f"[models.general]\n{text}\n") == fields


@pytest.mark.parametrize("names", ['["a", "a"]', '["rules"]'])
def test_the_rules_keep_their_name_and_no_name_is_given_twice(names: str) -> None:
    assert _problems(f"[models]\nengines = {names}\n") == {"models.engines"}
