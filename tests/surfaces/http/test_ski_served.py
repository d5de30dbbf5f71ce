"""`assay serve` with the shipped judge, as a process of its own: what an operator runs."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.scale import scale
from tests.surfaces.cli._verdicts import TELEMETRY, VerdictShell, opened_verdict_shell
from tests.surfaces.http.served import run_cli, serving

_LINES = TELEMETRY.read_text().splitlines()
_EXPECTED = {
    one["telemetry_id"]: one for one in json.loads(TELEMETRY.with_suffix(".expected.json").read_text())["expected"]
}


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> VerdictShell:
    """A node that judges by the energy graph, with the shipped judge."""
    return opened_verdict_shell(tmp_path, monkeypatch, capsys)


def _judged(client: httpx.Client, key: str, line: str) -> httpx.Response:
    headers = {"x-api-key": key, "content-type": "application/json"}
    return client.post("/api/evaluate", content=line.encode(), headers=headers)


@pytest.mark.clause("ski", "2.2")
@pytest.mark.clause("ski", "5.1")
def test_a_server_judges_the_example_as_the_cited_texts_ask(shell: VerdictShell, tmp_path: Path) -> None:
    """Every record gets its expected verdict, or waits for a person; many at once lose nothing; it ends in order."""
    sensor, operator = shell.keys["service:sensor"], shell.keys["user:olga"]
    with (
        serving("serve", "--home", str(shell.shell.home), "--port", "0", folder=tmp_path) as served,
        httpx.Client(base_url=served.url, timeout=60) as client,
    ):
        assert client.get("/api/health").json()["status"] == "ok"
        for line in _LINES:
            answer = _judged(client, sensor, line)
            expected = _EXPECTED[json.loads(line)["telemetry_id"]]
            if answer.status_code == 202:
                assert any(one["verdict"] is None for one in answer.json()["rules"])
            else:
                assert (answer.status_code, answer.json()["verdict"]) == (200, expected["verdict"]), expected
        count = scale(16, 64)
        copies = [json.dumps({**json.loads(_LINES[0]), "telemetry_id": f"many-{number}"}) for number in range(count)]
        with ThreadPoolExecutor(count) as pool:
            answers = list(pool.map(lambda line: _judged(client, sensor, line), copies))
        assert {one.json()["verdict"] for one in answers} == {"CLEAR"}
        assert len({one.headers["assay-sequence-number"] for one in answers}) == count
        assert client.get("/api/canary", headers={"x-api-key": sensor}).json()["agreement_rate"] == 1.0
        told = client.get("/api/sovereignty", headers={"authorization": f"Bearer {operator}"}).json()
        assert all(one["is_met"] for one in told["findings"])
        figures = client.get("/metrics", headers={"x-api-key": operator}).text
        assert re.search(r"ski_egress_attempts_total 0\.0", figures)
        assert served.stop() == 0


@pytest.mark.clause("ski", "6.1")
@pytest.mark.clause("ski", "6.2")
def test_a_server_with_a_graph_in_use_does_not_start_while_a_check_is_unmet(shell: VerdictShell) -> None:
    """Strict mode names what is unmet and ends; the graph in use is what makes the node one that judges."""
    config = shell.shell.home / "assay.toml"
    config.write_text(re.sub(r"(?s)anchors = \[.*?\]", "anchors = []", config.read_text()))
    done = run_cli("serve", "--home", str(shell.shell.home), "--port", "0", "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (2, "sovereignty.unmet")
    assert "3 anchor" in json.loads(done.stdout)["error"]["message"]


@pytest.mark.clause("ski", "6.1")
def test_a_server_in_advisory_mode_starts_and_logs_each_unmet_check_as_a_warning(
    shell: VerdictShell, tmp_path: Path
) -> None:
    """One line of the log for each, at the level of a warning; what is met is not mentioned."""
    config = shell.shell.home / "assay.toml"
    config.write_text(re.sub(r"(?s)anchors = \[.*?\]", "anchors = []", config.read_text()))
    shell.configure('sovereignty = "advisory"')
    with serving("serve", "--home", str(shell.shell.home), "--port", "0", folder=tmp_path) as served:
        lines = [json.loads(line) for line in served.log.read_text().splitlines()]
    told = [(one["level"], one["check"]) for one in lines if one.get("event") == "sovereignty"]
    assert told == [("warning", "3 anchor")]
