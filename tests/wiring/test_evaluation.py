"""What an operator says about verdicts is what evaluation runs under; strict mode does not begin half-way."""

import json
from pathlib import Path

import pytest

from assay.adapters.reasoning.judge import JudgeWeights, shipped_weights
from assay.config import BadConfigError, Config, parse_config
from assay.flows.errors.verdicts import SovereigntyError
from assay.kernel.canonical import canonical_digest
from assay.kernel.digest import digest_of
from assay.ports.reasoner import ScoringReasoner
from assay.verdicts.graph.open import SovereigntyMode
from assay.wiring import CONFIG_FILE, init_node, load_config, load_judge_weights, open_evaluation, open_node
from tests.contract._kit import refused
from tests.flows._verdicts import GRAPH_KEY, opened_verdicts, rule
from tests.model.networks import untrained

_NODE = '[node]\norigin = "log.example"\nfounder = "sha256:' + "0" * 64 + '"\n'
_REPLIES = {"sha256:" + "1" * 64: "{}"}


def _config(text: str, **environment: str) -> Config:
    return parse_config(_NODE + text, environment)


@pytest.mark.clause("ski", "6.1")
@pytest.mark.clause("ski", "11.4")
def test_the_defaults_are_those_of_the_specification() -> None:
    ski = _config("").ski
    assert (ski.sovereignty, ski.runtime_version, ski.reasoner) == ("strict", "v3", "judge")
    assert (ski.fast_path_n, ski.agreement_threshold, ski.evaluation_egress) == (1000, 0.995, ())
    assert _config("", SKI_SOVEREIGNTY="advisory").ski.sovereignty is SovereigntyMode.ADVISORY


def test_every_problem_of_the_section_is_listed() -> None:
    text = """
    [ski]
    reasoner = "general"
    agreement_threshold = 1.5
    fast_path_n = -1
    retention_seconds = 0
    weights = ["gpt"]
    """
    with pytest.raises(BadConfigError) as caught:
        _config(text)
    assert [problem.field for problem in caught.value.problems] == [
        "ski.reasoner",
        "ski.agreement_threshold",
        "ski.fast_path_n",
        "ski.retention_seconds",
        "ski.weights[0]",
    ]
    for wrong in ('sovereignty = "lax"', 'runtime_version = "v1"', 'reasoner = "gpt"', "colour = 1"):
        with pytest.raises(BadConfigError, match="ski"):
            _config(f"[ski]\n{wrong}\n")
    with pytest.raises(BadConfigError, match=r"ski\.replies"):
        _config('[ski]\nreasoner = "scripted"\n')


@pytest.mark.clause("ski", "1")
@pytest.mark.clause("ski", "9")
@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ('sovereignty = "advisory"', "ski.sovereignty"),
        ('runtime_version = "v2"', "ski.runtime_version"),
        ('reasoner = "none"', "ski.reasoner"),
    ],
    ids=["the sovereign pillar", "the knowledge pillar", "the intelligence pillar"],
)
def test_level_three_is_not_claimed_where_one_pillar_or_a_lower_level_is_missing(wrong: str, field: str) -> None:
    """Each alone refuses it; without the claim the same setting is an operator's choice."""
    with pytest.raises(BadConfigError) as caught:
        _config(f"[ski]\nlevel = 3\n{wrong}\n")
    assert [problem.field for problem in caught.value.problems] == [field]
    assert _config(f"[ski]\n{wrong}\n").ski.level < 3


@pytest.mark.clause("ski", "9.3")
def test_level_three_is_strict_and_judged_and_leaves_no_model_out(tmp_path: Path) -> None:
    with pytest.raises(BadConfigError) as caught:
        _config('[ski]\nlevel = 3\nreasoner = "none"\nruntime_version = "v2"\nsovereignty = "advisory"\n')
    assert [problem.field for problem in caught.value.problems] == [
        "ski.reasoner",
        "ski.runtime_version",
        "ski.sovereignty",
    ]
    with pytest.raises(BadConfigError, match=r"ski\.level"):
        _config("[ski]\nlevel = 4\n")
    home = _node(tmp_path, "\n[ski]\nlevel = 3\n")
    with open_node(home) as (tools, _):
        assert (tools.ski.fast_path_n, tools.ski.requires_receipt) == (0, True)


def _node(folder: Path, text: str, *, anchors: bool = True) -> Path:
    home = folder / "node"
    init_node(home)
    written = (home / CONFIG_FILE).read_text()
    if anchors:
        written = written.replace("anchors = []", f'anchors = ["{GRAPH_KEY.key_id}"]')
    (home / CONFIG_FILE).write_text(written + text)
    (home / "replies.json").write_text(json.dumps(_REPLIES))
    return home


def _scripted(**more: object) -> str:
    fields = {"reasoner": "scripted", "replies": "replies.json", **more}
    return "\n[ski]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in fields.items())


@pytest.mark.clause("ski", "6.2")
def test_strict_mode_does_not_begin_with_an_unmet_check_and_names_all(tmp_path: Path) -> None:
    home = _node(tmp_path, _scripted(), anchors=False)
    with (
        open_node(home) as (tools, config),
        pytest.raises(SovereigntyError) as caught,
        open_evaluation(home, config, tools),
    ):
        pass
    unmet = [one.check for one in caught.value.findings if not one.is_met]
    assert unmet == ["1 backend", "2 weights", "3 anchor"]


def test_strict_mode_begins_where_everything_is_on_record(tmp_path: Path) -> None:
    home = _node(tmp_path, _scripted(custom_backend=True, weights=[canonical_digest(_REPLIES)]))
    with open_node(home) as (tools, config), open_evaluation(home, config, tools) as (ready, findings, _):
        assert all(one.is_met for one in findings)
        assert ready.guard is not None
        assert ready.reasoner is not None
        assert ready.reasoner.identify().model_weight_hash == canonical_digest(_REPLIES)
        assert ready.ski.codebase_commit == "unknown"


@pytest.mark.clause("ski", "6.1")
def test_advisory_mode_begins_and_tells_what_is_unmet(tmp_path: Path) -> None:
    home = _node(tmp_path, _scripted(sovereignty="advisory"))
    with open_node(home) as (tools, config), open_evaluation(home, config, tools) as (_, findings, _):
        assert [one.check for one in findings if not one.is_met] == ["1 backend", "2 weights"]


def test_a_node_without_a_reasoner_has_nothing_to_refuse(tmp_path: Path) -> None:
    home = _node(tmp_path, '\n[ski]\nreasoner = "none"\n')
    with open_node(home) as (tools, config), open_evaluation(home, config, tools) as (ready, _, _):
        assert ready.reasoner is None


@pytest.mark.clause("ski", "6.2")
def test_a_new_node_judges_by_the_shipped_judge_as_soon_as_it_trusts_somebody(tmp_path: Path) -> None:
    home = _node(tmp_path, "")
    with open_node(home) as (tools, config), open_evaluation(home, config, tools) as (ready, findings, _):
        assert all(one.is_met for one in findings)
        assert isinstance(ready.reasoner, ScoringReasoner)
        identity = ready.reasoner.identify()
        assert (identity.backend_name, identity.is_exact) == ("judge", True)
        assert ready.ski.weights == (identity.model_weight_hash,)


@pytest.mark.clause("ski", "6.2")
def test_an_operator_who_names_weights_means_these_alone(tmp_path: Path) -> None:
    home = _node(tmp_path, f'\n[ski]\nweights = ["sha256:{"1" * 64}"]\n')
    with (
        open_node(home) as (tools, config),
        pytest.raises(SovereigntyError) as caught,
        open_evaluation(home, config, tools),
    ):
        pass
    assert [one.check for one in caught.value.findings if not one.is_met] == ["2 weights"]


def _other_weights(folder: Path) -> JudgeWeights:
    """Weights with a card of their own."""
    file = folder / "judge.bin"
    file.write_bytes(untrained())
    return JudgeWeights(file=file, expected=digest_of(file.read_bytes()))


@pytest.mark.clause("ski", "9.3")
def test_a_substituted_weight_file_does_not_begin(tmp_path: Path) -> None:
    home = _node(tmp_path, "")
    (tmp_path / "judge.bin").write_bytes(shipped_weights().file.read_bytes() + b" ")
    other = JudgeWeights(file=tmp_path / "judge.bin", expected=shipped_weights().expected)
    with (
        open_node(home) as (tools, config),
        refused("model.weights"),
        open_evaluation(home, config, tools, judge=other),
    ):
        pass


@pytest.mark.clause("ski", "6.2")
@pytest.mark.clause("ski", "9.3")
def test_weights_are_not_vouched_for_by_the_card_beside_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever changes the file can change its card: what the node was founded with is in its own configuration."""
    home, other = _node(tmp_path, ""), _other_weights(tmp_path)
    monkeypatch.setattr("assay.adapters.reasoning.judge.shipped_weights", lambda: other)
    with open_node(home) as (tools, config):
        with refused("model.weights"), open_evaluation(home, config, tools):
            pass
        with refused("model.weights"):
            load_judge_weights(home, config, tools)
        waiting = open_evaluation(home, config, tools, may_wait=True)
        with waiting as (_, findings, _):
            assert [one.check for one in findings if not one.is_met] == ["1 backend", "2 weights"]


@pytest.mark.clause("ski", "6.2")
def test_a_node_that_pins_nothing_goes_on_with_the_weights_of_its_verdicts(
    tmp_path: Path,
) -> None:
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(rule("so2"))
        desk.decide({"so2": 1})
    home = tmp_path / "node"
    text = (home / CONFIG_FILE).read_text()
    lines = [line for line in text.splitlines() if not line.startswith("judge = ")]
    (home / CONFIG_FILE).write_text("\n".join(lines).replace("anchors = []", f'anchors = ["{GRAPH_KEY.key_id}"]'))
    with open_node(home) as (tools, config), refused("model.weights"), open_evaluation(home, config, tools):
        pass


def test_the_general_model_is_the_reasoner_when_the_operator_says_so(tmp_path: Path) -> None:
    text = '\n[models.general]\nbackend = "llamacpp"\nweights = "m"\n[ski]\nreasoner = "general"\n'
    home = _node(tmp_path, text + 'sovereignty = "advisory"\n')
    with open_node(home) as (tools, config), open_evaluation(home, config, tools, {}) as (ready, findings, _):
        assert ready.reasoner is not None
        # Its weights are not there, so nobody can name them.
        assert [one.is_met for one in findings][:2] == [False, False]


def test_a_file_of_replies_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    home = _node(tmp_path, _scripted())
    (home / "replies.json").write_text("[]")
    with open_node(home) as (tools, config), refused("model.replies"), open_evaluation(home, config, tools):
        pass
    (home / "replies.json").unlink()
    with open_node(home) as (tools, config), refused("model.replies"), open_evaluation(home, config, tools):
        pass


def test_settings_reach_the_tools(tmp_path: Path) -> None:
    home = _node(tmp_path, "\n[ski]\nfast_path_n = 7\nretention_seconds = 60\nbehind_seconds = 5\nattest_seconds = 9\n")
    config = load_config(home, {})
    with open_node(home) as (tools, _):
        assert (tools.ski.fast_path_n, tools.ski.keep_seconds, tools.ski.skew.behind_seconds) == (7, 60, 5)
        assert tools.ski.attest_seconds == config.ski.attest_seconds == 9
        assert tools.ski.ledger_place is not None
        assert tools.ski.ledger_place.kind == "local_file"
