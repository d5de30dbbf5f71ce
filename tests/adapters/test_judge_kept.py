"""Judges of before: found by the hash of their weights, and only while the bytes still have it."""

from pathlib import Path

from assay.adapters.clock import SystemClock
from assay.adapters.reasoning.judge import shipped_weights
from assay.adapters.reasoning.judge_kept import KeptJudges
from assay.adapters.weight_folder import WeightFolder
from assay.kernel.digest import digest_of


def test_the_shipped_weights_are_always_kept(tmp_path: Path) -> None:
    """Whatever was put into use since; asked for twice, they are loaded once."""
    kept = KeptJudges(WeightFolder(tmp_path).path_of, SystemClock())
    shipped = shipped_weights().expected
    found = kept.find(shipped)
    assert found is not None
    assert found.identify().model_weight_hash == shipped
    assert kept.find(shipped) is found


def test_weights_that_are_not_kept_or_were_substituted_are_none(tmp_path: Path) -> None:
    """A file under the right name with other bytes judges nothing again."""
    folder = WeightFolder(tmp_path)
    named = digest_of(b"weights that were trained here")
    assert KeptJudges(folder.path_of, SystemClock()).find(named) is None
    folder.path_of(named).write_bytes(shipped_weights().file.read_bytes())
    assert KeptJudges(folder.path_of, SystemClock()).find(named) is None
    folder.put(b"weights that were trained here")
    assert KeptJudges(folder.path_of, SystemClock()).find(named) is None
