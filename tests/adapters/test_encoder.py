"""A sentence encoder from a folder, behind the vetoes of the rules; the one of the tests knows five words."""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from assay.adapters.judging.encoder import OnnxEncoder
from assay.claims.estimate.equivalence import RuleJudge
from assay.config.claims import ClaimsConfig, JudgeName, claims_problems
from assay.wiring import init_node, load_config, open_judge
from tests.claims.making import VECTORS
from tests.contract._kit import refused

_FOLDER = VECTORS / "encoder"
_HAS_LIBRARIES = find_spec("onnxruntime") is not None and find_spec("tokenizers") is not None
needs_libraries = pytest.mark.skipif(not _HAS_LIBRARIES, reason="needs the extra `meaning`")


@needs_libraries
def test_words_that_no_table_has_are_compared_by_the_encoder() -> None:
    encoder = OnnxEncoder(_FOLDER)
    assert encoder("lorry", "truck") > 0.9
    assert encoder("lorry", "boat") < 0.2
    assert encoder("", "boat") == 0.0
    judge = RuleJudge(encoder, name=encoder.name)
    assert judge.judge("What is it?", "a red lorry", "a red truck") == (True, "rules over the encoder `encoder`")
    assert not judge.entails("What is it?", "a red lorry", "a red boat")
    # What a veto tells apart it is never asked about.
    assert not judge.entails("What is it?", "two lorry", "three truck")


@needs_libraries
def test_a_folder_without_an_encoder_is_said_to_be_one(tmp_path: Path) -> None:
    with refused("claims.judge_unavailable"):
        OnnxEncoder(tmp_path)
    shutil.copy(_FOLDER / "tokenizer.json", tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with refused("claims.judge_unavailable"):
        OnnxEncoder(tmp_path)


@needs_libraries
def test_the_setting_opens_it(tmp_path: Path) -> None:
    init_node(tmp_path / "node")
    file = tmp_path / "node" / "assay.toml"
    file.write_text(f'{file.read_text()}\n[claims]\njudge = "meaning"\nencoder = "{_FOLDER}"\n')
    judge = open_judge(load_config(tmp_path / "node", {}), None)
    assert judge.name == "rules over the encoder `encoder`"


def test_a_missing_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(Exception, match=r"onnxruntime is missing: pip install \"assay\[meaning\]\""):
        OnnxEncoder(_FOLDER)


def test_judge_and_folder_are_set_together() -> None:
    for wrong in (ClaimsConfig(judge=JudgeName.MEANING), ClaimsConfig(encoder="x")):
        assert [one.field for one in claims_problems(wrong, has_model=False)] == ["claims.encoder"]
    assert claims_problems(ClaimsConfig(judge=JudgeName.MEANING, encoder="x"), has_model=False) == ()
