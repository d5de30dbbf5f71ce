"""`assay evaluate`: the shipped judge on the shipped example, line by line, by commands alone."""

import json
import os
import pty
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.cli._verdicts import TELEMETRY, VerdictShell, opened_verdict_shell, record
from tests.surfaces.cli.running import command_line, environment

IED = "Directive 2010/75/EU on industrial emissions"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> VerdictShell:
    return opened_verdict_shell(tmp_path, monkeypatch, capsys)


def _of(lines: list[str], name: str, verdict: str) -> list[str]:
    """What is said of a record after its name and its verdict."""
    return [line.split("  ", 2)[2].strip() for line in lines if line.split()[:2] == [name, verdict]]


@pytest.mark.clause("ski", "2.2")
@pytest.mark.clause("ski", "4.1")
def test_every_verdict_is_a_line_with_limit_observation_and_clause(shell: VerdictShell) -> None:
    """What was measured, against which limit in which unit, where that stands written, and why it stands."""
    answer = shell("evaluate", TELEMETRY, as_="service:sensor")
    lines = answer.out.splitlines()
    assert (answer.code, len(lines)) == (0, 46)
    limit, agreed = "must not exceed", "medium tier, and the verifier: AGREED"
    unverifiable = "medium tier, and the verifier: UNVERIFIABLE"
    assert _of(lines, "en-03", "FLAG") == [
        (
            f"Sulphur dioxide, coal, above 300 MW (medium tier): so2.monthly_mean is 201 mg/Nm3, {limit} 200 mg/Nm3"
            f" (breached) [{IED}, Annex V, Part 1, point 2]; {agreed}"
        )
    ]
    assert f"so2.daily_mean is 480 mg/Nm3, {limit} 220 mg/Nm3 (exempt by ex:start-up)" in "".join(
        _of(lines, "en-05", "CLEAR")
    )
    assert _of(lines, "en-07", "DISCRETIONARY") == [
        (
            f"Sulphur dioxide, coal, above 300 MW (medium tier): so2.monthly_mean is 0.15 g/Nm3, {limit} 200 mg/Nm3"
            " (in another unit, for which the graph declares no conversion)"
            f" [{IED}, Annex V, Part 1, point 2]; {unverifiable}"
        )
    ]
    assert _of(lines, "en-15", "NULL_STALE") == [
        (
            "Continuous measurement (medium tier): so2 was recorded 26 h before, must be recorded within 1 h (stale)"
            f" [{IED}, Annex V, Part 3, point 1]; {agreed}"
        )
    ]
    assert _of(lines, "en-14", "FLAG") == [
        (
            "Dust over a day, from hourly averages (low tier): dust has the average 30 mg/Nm3 over 1 d, must average"
            f" within 0 to 22 mg/Nm3 (breached) [{IED}, Annex V, Part 4, point 1]; low tier honours the model;"
            " the verifier: AGREED"
        )
    ]
    assert _of(lines, "en-20", "NULL_UNMAPPED") == [f"the graph has no subject `stack-9`; {unverifiable}"]
    assert next(told.split("; ")[0] for told in _of(lines, "en-09", "CLEAR")).endswith("in force then and there")
    # A held verdict is none: neither what the model said nor what the verifier found is told.
    (held,) = _of(lines, "en-18", "HELD")
    assert held.startswith(f"Breakdown of abatement equipment (high tier): notified_after is 60 h, {limit} 48 h [{IED}")
    assert "breached" not in held
    assert held.rpartition("; ")[2].startswith("high tier waits for a person, ticket tkt_")
    table = answer.err.splitlines()
    assert table[0].split() == ["RULE", "TIER", "CLEAR", "FLAG", "UNMAPPED", "STALE", "DISCRETIONARY", "HELD"]
    assert "Sulphur dioxide, coal, above 300 MW     medium  8      1     0         0      2              0" in table
    assert table[-1] == "20 records: 20 judged, 0 judged before, none refused, 3 held: see `assay verdict hold-list`"


@pytest.mark.clause("ski", "3.4")
def test_a_jurisdiction_that_the_graph_does_not_know_is_told_beside_the_verdict(shell: VerdictShell) -> None:
    """CLEAR because nothing applies is not CLEAR because everything was met."""
    lines = shell.judge(record("en-03", telemetry_id="away", jurisdiction="XX")).out.splitlines()
    told = "jurisdiction `XX` is not in the graph, so only obligations without a scope were applied"
    assert [told in line for line in lines if line.startswith("away")] == [True, True, True]


def test_running_again_goes_on_and_records_nothing_twice(shell: VerdictShell) -> None:
    """A known record is answered with what is recorded; with --resume it is only counted."""
    first = shell.judged(record("en-03"), record("en-20"))
    assert [one["decided"]["is_new"] for one in first[:-1]] == [True, True]
    before = shell.items("verdict", "list", "--limit", "1")[0]["outcome"]["sequence_number"]
    again = shell.judged(record("en-03"), record("en-20"), record("en-12"))
    assert [one["decided"]["is_new"] for one in again[:-1]] == [False, False, True]
    assert again[0]["decided"]["verdicts"] == first[0]["decided"]["verdicts"]
    assert (again[-1]["summary"]["judged"], again[-1]["summary"]["repeated"]) == (1, 2)
    told = shell.judged(record("en-03"), record("en-12"), record("en-19"), options=("--resume",))
    assert [one["decided"]["telemetry_id"] for one in told[:-1]] == ["en-19"]
    assert told[-1]["summary"]["repeated"] == 2
    # Two rules of the hourly record, one of the planned unit.
    assert shell.items("verdict", "list", "--limit", "1")[0]["outcome"]["sequence_number"] == before + 3


@pytest.mark.clause("ski", "5.1")
def test_a_line_that_is_refused_is_coded_and_counted_and_costs_no_other_anything(shell: VerdictShell) -> None:
    """No value is guessed: a time without offset, NaN, a changed record under a known id, no JSON, no end."""
    answer = shell.judge(
        record("en-20"),
        "{not json",
        record("en-20", telemetry_id="n-1", timestamp="2024-02-17T00:00:00"),
        '{"telemetry_id": "n-2", "timestamp": "2024-02-17T00:00:00Z", "subject": "s", "measurement": {"a": NaN}}',
        "",
        record("en-20", subject="stack-8"),
        record("en-19"),
        '"' + "x" * 2_500_000,
        record("en-20"),
        options=("--json",),
    )
    assert answer.code == 1
    lines = [json.loads(line) for line in answer.out.splitlines()]
    codes = [(one["line"], one["code"]) for one in lines[:-1]]
    assert codes == [
        (1, None),
        (2, "json.malformed"),
        (3, "telemetry.form"),
        (4, "json.non_finite"),
        (6, "telemetry.conflict"),
        (7, None),
        (8, "json.size"),
        (9, None),
    ]
    assert lines[-1]["summary"]["refusals"] == {
        "json.malformed": 1,
        "json.non_finite": 1,
        "telemetry.form": 1,
        "telemetry.conflict": 1,
        "json.size": 1,
    }
    told = shell.judge("{not json")
    assert (told.code, told.out.startswith("line 1  refused: ")) == (1, True)
    assert "1 refused (1 json.malformed)" in told.err


def test_many_at_once_answer_in_order_and_come_to_the_same(shell: VerdictShell) -> None:
    """Records of one subject stay in order, so that windows see what came before."""
    names = ("en-12", "en-13", "en-14", "en-15", "en-16", "en-20")
    lines = shell.judged(*map(record, names))[:-1]
    assert [one["decided"]["telemetry_id"] for one in lines] == [*names]
    assert [one["decided"]["overall"]["verdict"] for one in lines] == [
        "NULL_STALE",
        "CLEAR",
        "FLAG",
        "NULL_STALE",
        None,
        "NULL_UNMAPPED",
    ]


@pytest.mark.clause("ski", "5.6")
def test_the_fast_path_is_taken_for_a_low_rule_alone_and_said(shell: VerdictShell) -> None:
    """After N equal evaluations the model may be left out; medium rules always ask it."""
    shell.configure("fast_path_n = 1")
    shell.judge(record("en-01"), record("en-02"))
    shown = shell.done("verdict", "show", "en-02")
    paths = {one["rule_id"]: one["envelope"]["verdict_path"] for one in shown["decided"]["verdicts"]}
    assert paths == {"ied-dust": "fast", "ied-nox": None, "ied-so2": None}
    fast = shown["decided"]["verdicts"][0]["envelope"]
    asked = shown["decided"]["verdicts"][1]["envelope"]
    assert fast["model_provenance"]["model_weight_hash"] == asked["model_provenance"]["model_weight_hash"]
    assert fast["verifier_result"]["status"] == "AGREED"
    assert {one["node_id"] for one in fast["kg_citations"]} >= {"dust-month", "reference-oxygen"}
    assert "the fast path: no model was asked" in shell("verdict", "show", "en-02", "--rule", "ied-dust").out
    assert shell("replay", "en-02").code == 0


@pytest.mark.clause("ski", "6.1")
def test_strict_mode_does_not_begin_and_advisory_mode_warns_of_each_unmet_check(shell: VerdictShell) -> None:
    """Weights that are not on the operator's registry: refused before a line is read, or told aloud."""
    shell.configure(f'weights = ["sha256:{"0" * 64}"]')
    refused = shell.judge(record("en-20"), options=("--json",))
    assert refused.refusal == (2, "sovereignty.unmet")
    shell.shell.monkeypatch.setenv("SKI_SOVEREIGNTY", "advisory")
    told = shell.judge(record("en-20"))
    assert told.code == 0
    assert "warning: sovereignty is advisory: 2 weights is not met" in told.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [(("--workers", "0"), "cli.usage"), (("--workers", "65"), "cli.usage"), ((), "identity.not_signed_in")],
)
def test_wrong_usage_and_a_missing_credential_are_refused(
    shell: VerdictShell, arguments: tuple[str, ...], expected: str
) -> None:
    """Nobody judges without saying who sends."""
    answer = shell("evaluate", TELEMETRY, *arguments, "--json")
    assert answer.json["error"]["code"] == expected
    assert answer.code != 0


def test_what_would_refuse_every_record_stops_it_with_its_code(shell: VerdictShell) -> None:
    """No model: there is nothing to go on with, and no line is blamed for it."""
    shell.configure('reasoner = "none"')
    answer = shell.judge(record("en-20"), options=("--json",))
    assert answer.json["error"]["code"] == "verdict.no_model"


def _spawned(shell: VerdictShell, *arguments: str, **streams: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401
    own = {
        **environment(),
        "TERM": "xterm",
        "ASSAY_HOME": str(shell.shell.home),
        "ASSAY_CREDENTIAL": shell.keys["service:sensor"],
    }
    return subprocess.Popen(command_line("evaluate", *arguments), env=own, stdin=subprocess.PIPE, **streams)


def test_an_interrupted_run_says_where_it_stopped_and_goes_on(shell: VerdictShell) -> None:
    """Each line is answered before the next is read, and Ctrl-C loses nothing that was answered."""
    child = _spawned(shell, "-", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(f"{record('en-20')}\n".encode())
    child.stdin.flush()
    assert b"NULL_UNMAPPED" in child.stdout.readline()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert b"stopped after line 1; run the same command again" in err
    again = shell.judged(record("en-20"), record("en-19"))
    assert [one["decided"]["is_new"] for one in again[:-1]] == [False, True]


def test_answers_go_to_the_file_and_a_bar_and_the_table_to_the_terminal(shell: VerdictShell) -> None:
    """Standard error is a terminal, standard output is none: what is piped on is the answers and nothing else."""
    ours, theirs = pty.openpty()
    child = _spawned(shell, "-", stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    out, _ = child.communicate(f"{record('en-20')}\n".encode(), timeout=60)
    seen = b"".join(iter(lambda: _screen(ours), b""))
    os.close(ours)
    assert (child.returncode, out.decode().split()[:2]) == (0, ["en-20", "NULL_UNMAPPED"])
    assert out.count(b"\n") == 1
    assert b"NULL_UNMAPPED" not in seen
    assert b"evaluating" in seen
    assert b"1 records: 1 judged" in seen


def _screen(terminal: int) -> bytes:
    """What is left on it; Linux says EIO at its end."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""
