"""Judges of before: found by the hash of their weights, and only while the bytes still have it."""

from pathlib import Path

import pytest

from assay.adapters.clock import SystemClock
from assay.adapters.reasoning.judge import shipped_weights
from assay.adapters.reasoning.judge_kept import KeptJudges
from assay.adapters.weight_folder import WeightFolder
from assay.kernel.digest import digest_of, parse_digest


def test_the_shipped_weights_are_always_kept(tmp_path: Path) -> None:
    """Whatever was put into use since; asked for twice, they are loaded once."""
    kept = KeptJudges(WeightFolder(tmp_path).path_of, SystemClock())
    shipped = shipped_weights().expected
    found = kept.find(shipped)
    assert found is not None
    assert found.identify().model_weight_hash == shipped
    assert kept.find(shipped) is found


@pytest.mark.clause("ski", "7.4")
def test_the_weights_of_earlier_releases_come_with_the_package(tmp_path: Path) -> None:
    """Entries of version 0.1.0 are replayed by the weights that decided them."""
    earlier = parse_digest("sha256:e04fa4890d3fa24f755b6d6a38fc1f6ec6f766cab3db86c297441d71563cf6b5")
    assert earlier != shipped_weights().expected
    found = KeptJudges(WeightFolder(tmp_path).path_of, SystemClock()).find(earlier)
    assert found is not None
    assert found.identify().model_weight_hash == earlier


def test_weights_that_are_not_kept_or_were_substituted_are_none(tmp_path: Path) -> None:
    """A file under the right name with other bytes judges nothing again."""
    folder = WeightFolder(tmp_path)
    named = digest_of(b"weights that were trained here")
    assert KeptJudges(folder.path_of, SystemClock()).find(named) is None
    folder.path_of(named).write_bytes(shipped_weights().file.read_bytes())
    assert KeptJudges(folder.path_of, SystemClock()).find(named) is None
    folder.put(b"weights that were trained here")
    assert KeptJudges(folder.path_of, SystemClock()).find(named) is None
