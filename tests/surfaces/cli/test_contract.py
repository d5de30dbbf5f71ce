"""`assay contract`: contracts are written, linted, locked and released, and never changed after that."""

import json
from pathlib import Path

import pytest

from tests.surfaces.cli._truth import CONTRACTS, TruthShell, opened_truth_shell
from tests.surfaces.cli.running import Answer, ask

SHIPPED = sorted(CONTRACTS.glob("*.yaml"))


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> TruthShell:
    return opened_truth_shell(tmp_path, monkeypatch, capsys)


def _spoiled(folder: Path) -> Path:
    file = folder / "spoiled.yaml"
    text = (CONTRACTS / "research_artifact_v1.yaml").read_text()
    file.write_text(text.replace("risk_profile: monitor", "risk_profile: mild").replace("quorum: 3", "quorums: 3"))
    return file


def _line_of(file: Path, word: str) -> int:
    return next(number for number, line in enumerate(file.read_text().splitlines(), start=1) if word in line)


def test_the_shipped_contracts_lint_and_are_those_of_the_lock() -> None:
    """Four in two versions, schemas beside them, with the hashes that were released."""
    linted = ask("contract", "lint", *SHIPPED, "--strict", "--json")
    assert linted.code == 0
    assert [one["holds"] for one in linted.json] == [True] * 8
    locked = ask("contract", "lock", *SHIPPED, "--lock", CONTRACTS / "contracts.lock", "--check")
    assert (locked.code, locked.out) == (0, "the lock holds\n")
    hashed = ask("contract", "hash", *SHIPPED).out.splitlines()
    assert sorted(hashed) == (CONTRACTS / "contracts.lock").read_text().splitlines()[1:]


def test_every_problem_is_told_with_its_file_and_line(tmp_path: Path) -> None:
    """For people as file:line, for editors as JSON; an honest no is exit 1."""
    file = _spoiled(tmp_path)
    answer = ask("contract", "lint", file, CONTRACTS / "flood_v1.yaml")
    assert answer.code == 1
    lines = answer.out.splitlines()
    assert any(line.startswith(f"{file}:{_line_of(file, 'mild')}: error: risk_profile: ") for line in lines)
    assert any(line.startswith(f"{file}:{_line_of(file, 'quorums')}: error: ") for line in lines)
    assert "1 of 2 contracts can be used" in answer.err
    told = ask("contract", "lint", file, "--json").json[0]
    assert (told["holds"], told["claim_type_hash"]) == (False, None)
    codes = {problem["code"] for problem in told["errors"]}
    assert {"choice", "unknown_key", "required"} <= codes


def test_a_file_that_cannot_be_used_is_refused_by_every_other_command(tmp_path: Path) -> None:
    """The problems are told as `lint` tells them; nothing is hashed, locked or released."""
    file = _spoiled(tmp_path)
    for command in (("hash",), ("lock", "--lock", tmp_path / "lock")):
        answer = ask("contract", *command, file, "--json")
        assert (answer.code, answer.error_code) == (3, "truth.contract")
    assert f"{file}:" in ask("contract", "hash", file).err
    assert not (tmp_path / "lock").exists()


def test_warnings_refuse_only_who_asks_for_that(tmp_path: Path) -> None:
    """Weights that do not add up to 1 are odd, and allowed."""
    file = tmp_path / "odd.yaml"
    text = (CONTRACTS / "research_artifact_v1.yaml").read_text()
    file.write_text(text.replace("consensus: {weight: 0.6,", "consensus: {weight: 0.5,"))
    answer = ask("contract", "lint", file)
    assert answer.code == 0
    assert ": warning: confidence_model.components: " in answer.out
    assert ask("contract", "lint", file, "--strict").code == 1


def _with_schema(folder: Path, ref: str) -> Path:
    file = folder / "flood.yaml"
    text = (CONTRACTS / "flood_v1.yaml").read_text()
    file.write_text(text.replace("schemas/output/flood_v1.json", ref))
    return file


@pytest.mark.parametrize(
    ("ref", "said"),
    [
        ("missing.json", "cannot be read"),
        ("../outside.json", "relative path"),
        ("/etc/passwd", "relative path"),
        ("link.json", "below"),
    ],
)
def test_a_schema_is_read_from_below_the_contract_and_from_nowhere_else(tmp_path: Path, ref: str, said: str) -> None:
    """A stranger's contract cannot make us read files of its choice."""
    (tmp_path / "outside.json").write_text('{"type": "object"}')
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / "link.json").symlink_to(tmp_path / "outside.json")
    file = _with_schema(folder, ref)
    answer = ask("contract", "lint", file)
    assert answer.code == 1
    assert f"{file}:{_line_of(file, 'output_schema_ref')}: error: output_schema_ref: " in answer.out
    assert said in answer.out


@pytest.mark.parametrize("content", [b"\xff\xfe", b"id: [", b"", b"a" * (4 * 1024 * 1024 + 1)])
def test_what_is_no_contract_at_all_is_refused_and_crashes_nothing(tmp_path: Path, content: bytes) -> None:
    """Bytes that are no text, a text that is no YAML, nothing, and far too much."""
    file = tmp_path / "x.yaml"
    file.write_bytes(content)
    assert ask("contract", "lint", file, "--json").code in (1, 3)
    assert ask("contract", "hash", file, "--json").code == 3
    assert ask("contract", "lint", tmp_path / "none.yaml").code == 2


@pytest.mark.parametrize("claim_type", ["earth.fire.v1", "ocean.spill.v12", "space.flare.v2", "meta.paper.v1"])
@pytest.mark.parametrize("lane", [(), ("--critical",)])
def test_a_new_contract_can_be_used_as_it_is(tmp_path: Path, claim_type: str, lane: tuple[str, ...]) -> None:
    """It lints without a warning, for every domain and both lanes, and every block has its word of explanation."""
    file = tmp_path / "new.yaml"
    assert ask("contract", "new", claim_type, *lane, "--output", file).code == 0
    linted = ask("contract", "lint", file, "--strict", "--json")
    assert (linted.code, linted.json[0]["claim_type"]) == (0, claim_type)
    assert file.read_text().count("# ") >= 14
    assert ask("contract", "new", claim_type, *lane).out == file.read_text()
    assert ask("contract", "new", claim_type, "--output", file).code == 2


@pytest.mark.parametrize(
    ("claim_type", "expected"),
    [
        ("earth.fire", (2, "contract.template")),
        ("mars.fire.v1", (2, "contract.template")),
        ("Earth.Fire.v1", (3, "truth.claim_type_id")),
    ],
)
def test_a_claim_type_that_needs_more_than_a_template_is_refused(claim_type: str, expected: tuple[int, str]) -> None:
    answer = ask("contract", "new", claim_type, "--json")
    assert (answer.code, answer.error_code) == expected


@pytest.mark.clause("kaori", "6.4")
def test_a_locked_contract_never_changes(tmp_path: Path) -> None:
    """The same again changes nothing; another body under its id is refused, and the lock stays as it was."""
    file, lock = tmp_path / "fire.yaml", tmp_path / "contracts.lock"
    assert ask("contract", "new", "earth.fire.v1", "--output", file).code == 0

    def run(*more: str) -> Answer:
        return ask("contract", "lock", file, "--lock", lock, *more)

    assert run("--check").code == 1
    assert not lock.exists()
    assert run().out == "earth.fire.v1 added\n"
    before = lock.read_text()
    assert (run().out, run("--check").code, lock.read_text()) == ("the lock holds\n", 0, before)
    file.write_text(file.read_text().replace("quorum: 3", "quorum: 2"))
    changed = run("--json")
    assert (changed.code, changed.error_code, lock.read_text()) == (3, "truth.contract_changed", before)
    lock.write_text("nonsense\n")
    assert run("--json").error_code == "truth.lock_form"


@pytest.mark.clause("kaori", "6.4")
def test_a_released_contract_is_law_and_never_changes(shell: TruthShell) -> None:
    """Released once, listed and shown; the same again changes nothing, another body is refused."""
    released = shell.done("contract", "release", *SHIPPED, as_="user:op")
    assert len({one["sequence_number"] for one in released}) == len(SHIPPED)
    assert shell.done("contract", "release", *SHIPPED, as_="user:op") == released
    assert [one["claim_type"] for one in shell.done("contract", "list")["items"]] == [
        "earth.flood.v1",
        "earth.flood.v2",
        "meta.research_artifact.v1",
        "meta.research_artifact.v2",
        "ocean.coral_bleaching.v1",
        "ocean.coral_bleaching.v2",
        "space.orbital_debris.v1",
        "space.orbital_debris.v2",
    ]
    shown = shell("contract", "show", "earth.flood.v1")
    assert "in a file of its own" in shown.out
    assert '"severity_differs"' in shown.out
    document = shell("contract", "document", "earth.flood.v1").out
    assert document == shell.done("contract", "show", "earth.flood.v1")["document"]
    changed = shell.folder / "flood.yaml"
    (shell.folder / "schemas").mkdir()
    (shell.folder / "schemas" / "f.json").write_bytes((CONTRACTS / "schemas" / "output" / "flood_v1.json").read_bytes())
    text = (CONTRACTS / "flood_v1.yaml").read_text().replace("quorum: 3", "quorum: 1")
    changed.write_text(text.replace("schemas/output/flood_v1.json", "schemas/f.json"))
    assert shell("contract", "release", changed, "--json", as_="user:op").refusal == (3, "truth.contract_changed")


def test_only_an_operator_releases(shell: TruthShell) -> None:
    """And whoever asks for what is not there gets an honest no."""
    file = CONTRACTS / "coral_bleaching_v1.yaml"
    assert shell("contract", "release", file, "--json", as_="user:eve").refusal == (1, "identity.role")
    assert shell("contract", "show", "ocean.coral_bleaching.v1", "--json").refusal == (1, "flow.not_found")
    # The operator of the folder is one.
    assert shell.done("contract", "release", file)[0]["claim_type"] == "ocean.coral_bleaching.v1"


def test_a_domain_of_ones_own_needs_its_spatial_system_said(shell: TruthShell) -> None:
    """On the command line for files, in assay.toml for the node; without it nothing is guessed."""
    file = shell.folder / "city.yaml"
    text = ask("contract", "new", "earth.traffic.v1").out
    file.write_text(text.replace("earth.traffic", "city.traffic").replace("domain: earth", "domain: city"))
    assert ask("contract", "lint", file).code == 1
    assert ask("contract", "lint", file, "--domain", "city=h3").code == 0
    for wrong in ("city", "=h3", "city=grid"):
        assert ask("contract", "hash", file, "--domain", wrong).code == 2
    key = ("truth", "key", "--contract", file, "--at", "2026-01-07T12:34:56Z", "--lat", "4.175", "--lon", "73.509")
    assert ask(*key, "--domain", "city=h3").out.startswith("city:traffic:h3:886142a8e7fffff:")
    assert shell("contract", "release", file, "--json", as_="user:op").refusal == (3, "truth.contract")
    settings = shell.shell.home / "assay.toml"
    settings.write_text(settings.read_text() + '[truth.domains]\ncity = "h3"\n')
    assert shell("contract", "release", file, as_="user:op").code == 0
    assert shell.observe("user:ann", "city.traffic.v1", present=True).startswith("city:traffic:h3:")


def test_the_form_of_a_released_contract_is_shown_to_whoever_writes_a_screen(shell: TruthShell) -> None:
    form = shell.done("contract", "form", "earth.flood.v1")
    assert [one["widget"] for one in form["fields"]] == ["choice", "number", "toggle"]
    assert form["fields"][0]["options"] == ["low", "moderate", "high", "critical"]
    told = shell("contract", "form", "earth.flood.v1").out
    assert "Flood report" in told
    assert "water_level_meters" in told


def test_a_contract_is_tried_on_observations_without_a_node(tmp_path: Path) -> None:
    """The state, what each report changes, and who is not heard."""
    file, data = tmp_path / "rain.yaml", tmp_path / "rain.ndjson"
    file.write_text(ask("contract", "new", "earth.rain.v1").out)
    given = {
        "claim_type": "earth.rain.v1",
        "reported_at": "2026-01-07T12:10:00Z",
        "reporter_context": {"standing": "bronze", "trust_score": 0, "source_type": "human"},
        "geo": {"lat": 4.175, "lon": 73.509},
        "payload": {"present": True, "level": 2},
    }
    picture = [{"uri": "https://example.org/a.jpg", "sha256": "0" * 64}]
    said = [
        {**given, "observation_id": "a", "reporter_id": "user:ann", "evidence_refs": picture},
        {**given, "observation_id": "b", "reporter_id": "user:ben", "evidence_refs": []},
    ]
    data.write_text("\n".join(map(json.dumps, said)))
    found = ask("contract", "try", file, data, "--at", "2026-01-07T12:30:00Z", "--json").json
    (key,) = found["keys"]
    assert (key["state"]["claim"]["present"], key["state"]["observation_ids"]) == (True, ["a"])
    assert [(one["observation_id"], one["reason"]) for one in found["hearings"] if not one["heard"]] == [
        ("b", "evidence")
    ]
    told = ask("contract", "try", file, data, "--at", "2026-01-07T12:30:00Z").out
    assert "to verify" in told
    assert "b by user:ben is not heard: evidence" in told
