"""A TPM is used where the configuration names one, and nowhere else."""

from pathlib import Path

import pytest

from assay.adapters.tpm import TpmMeasuredBoot
from assay.config import BadConfigError
from assay.wiring import init_node, load_config, open_evaluation, open_node


@pytest.fixture
def home(tmp_path: Path) -> Path:
    init_node(tmp_path / "node")
    return tmp_path / "node"


def _ski(home: Path, lines: str) -> None:
    file = home / "assay.toml"
    file.write_text(f"{file.read_text()}\n[ski]\n{lines}\n")


def test_there_is_no_tpm_unless_one_is_named(home: Path) -> None:
    with open_node(home) as (tools, config), open_evaluation(home, config, tools, may_wait=True) as evaluation:
        assert evaluation.tools.boot is None


def test_a_tpm_that_is_named_is_used_with_its_register(home: Path) -> None:
    """Nothing is asked of it before there is something to measure."""
    _ski(home, 'tpm = "device:/dev/none"\ntpm_register = 14')
    with open_node(home) as (tools, config), open_evaluation(home, config, tools, may_wait=True) as evaluation:
        boot = evaluation.tools.boot
        assert isinstance(boot, TpmMeasuredBoot)
        assert (boot._tcti, boot._register) == ("device:/dev/none", 14)


@pytest.mark.parametrize("register", [-1, 24])
def test_a_register_that_no_tpm_has_is_refused(home: Path, register: int) -> None:
    _ski(home, f"tpm_register = {register}")
    with pytest.raises(BadConfigError, match="tpm_register"):
        load_config(home)
