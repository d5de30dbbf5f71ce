"""`make build`: the same commit gives the same wheel, and the chain wheel, statement, running files is closed."""

import base64
import json
import os
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import pytest

from assay.adapters.keyfile import create_key_file, public_path
from assay.kernel.dsse import parse_envelope, payload_of, verify_envelope
from assay.kernel.intoto import PAYLOAD_TYPE, digests_of, parse_provenance, parse_statement
from assay.kernel.key import parse_public_key
from assay.wiring import _evaluation
from tests.surfaces.cli.running import ask
from tools.provenance import Release, build_release, requirements_of

_ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow

_PARTS = ("pyproject.toml", "README.md", "LICENSE", "requirements", "examples")
# Two rooms are enough: what is built is a package like ours, and the builder is the same.
_ROOMS = ("kernel", "verdicts")
_DATE = "2026-03-01T12:00:00+00:00"
_AUTHOR = {f"GIT_{who}_{what}": text for who in ("AUTHOR", "COMMITTER") for what, text in
           (("NAME", "Ada"), ("EMAIL", "ada@example.org"), ("DATE", _DATE))}  # fmt: skip


class Built(NamedTuple):
    """Two builds of one commit, the second from another folder; and what an operator holds."""

    first: Release
    second: Release
    key: Path
    commit: str


def _git(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, **_AUTHOR, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ["git", "-C", folder, *arguments], check=True, capture_output=True, text=True, env=environment
    )
    return done.stdout.strip()


def _checkout(folder: Path) -> Path:
    unwanted = shutil.ignore_patterns("__pycache__", "*.gz", "*.jsonl")
    for name in (*_PARTS, *(f"src/assay/{room}" for room in _ROOMS)):
        source, target = _ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=unwanted)
        else:
            shutil.copy(source, target)
    shutil.copy(_ROOT / "src/assay/__init__.py", folder / "src/assay/__init__.py")
    _git(folder, "init", "-q")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "-m", "all of it")
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("build")
    checkout = _checkout(folder / "one")
    elsewhere = folder / "some" / "where" / "else"
    shutil.copytree(checkout, elsewhere)
    # Neither is part of the commit, so neither may be part of the build.
    (elsewhere / "src/assay/kernel/left_over.py").write_text("STRAY = 1\n")
    (elsewhere / "src/assay/kernel/ids.py").write_text("CHANGED = 1\n")
    signer = create_key_file(folder / "builder.key")
    releases = [
        build_release(one, folder / f"dist-{number}", signer=signer, builder_id="https://example.org/builder")
        for number, one in enumerate((checkout, elsewhere))
    ]
    return Built(releases[0], releases[1], folder / "builder.key", _git(checkout, "rev-parse", "HEAD"))


@pytest.fixture
def package(built: Built, tmp_path: Path) -> Path:
    """The wheel as it is installed."""
    with ZipFile(built.first.wheel) as wheel:
        wheel.extractall(tmp_path / "site")
    return tmp_path / "site" / "assay"


def _verify(package: Path, *arguments: str | Path) -> Any:  # noqa: ANN401 - the JSON of the answer
    answer = ask("sovereignty", "verify", "--package", package, *arguments, "--json")
    return answer.code, answer.json


def _unmet(report: Any) -> list[str]:  # noqa: ANN401 - the JSON of the answer
    return [one["check"] for one in report["build"]["findings"] if not one["is_met"]]


def test_the_same_commit_gives_the_same_bytes_wherever_it_is_built(built: Built) -> None:
    """Wheel and archive; and only what is committed is built."""
    for part in ("wheel", "archive"):
        digests = {sha256(getattr(one, part).read_bytes()).hexdigest() for one in (built.first, built.second)}
        assert len(digests) == 1, part


@pytest.mark.clause("ski", "6.4")
@pytest.mark.clause("ski", "9.3")
def test_the_release_statement_names_what_lies_beside_it(built: Built) -> None:
    """An in-toto statement with SLSA provenance, signed by the builder, about wheel, archive and every file."""
    envelope = parse_envelope(built.first.statement.read_bytes())
    assert verify_envelope(envelope, [bytes.fromhex(_public_hex(built))])
    statement = parse_statement(payload_of(envelope, payload_type=PAYLOAD_TYPE))
    named = digests_of(statement.subject)
    for path in (built.first.wheel, built.first.archive):
        assert named[path.name] == sha256(path.read_bytes()).hexdigest()
    with ZipFile(built.first.wheel) as wheel:
        inside = {name: sha256(wheel.read(name)).hexdigest() for name in wheel.namelist() if "dist-info" not in name}
    assert inside.items() <= named.items()
    provenance = parse_provenance(statement)
    dependencies = provenance.build_definition.resolved_dependencies
    assert dependencies[0].digest == {"gitCommit": built.commit}
    assert any(one.uri.startswith("pkg:pypi/numpy@") for one in dependencies)
    assert provenance.run_details.builder.id == "https://example.org/builder"
    assert provenance.run_details.metadata.started_on <= provenance.run_details.metadata.finished_on


def test_an_outsider_verifies_the_statement_with_openssl_alone(built: Built, tmp_path: Path) -> None:
    """As docs/sovereignty.md shows it: base64, a line of text in front, and OpenSSL."""
    envelope = json.loads(built.first.statement.read_bytes())
    payload = base64.b64decode(envelope["payload"])
    signed, signature = tmp_path / "signed", tmp_path / "signature"
    signed.write_bytes(b"DSSEv1 28 application/vnd.in-toto+json %d " % len(payload) + payload)
    signature.write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))
    verify = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(public_path(built.key)), "-rawin"]
    subprocess.run([*verify, "-in", str(signed), "-sigfile", str(signature)], check=True, capture_output=True)


def _public_hex(built: Built) -> str:
    return parse_public_key(public_path(built.key).read_text()).hex()


@pytest.mark.clause("ski", "9.3")
def test_an_installed_wheel_passes_by_either_statement(built: Built, package: Path) -> None:
    key = public_path(built.key)
    for more in ((), ("--statement", built.first.statement)):
        code, report = _verify(package, "--builder-key", key, *more)
        assert (code, _unmet(report), report["build"]["commit"]) == (0, [], built.commit)


@pytest.mark.clause("ski", "9.3")
@pytest.mark.parametrize("kind", ["altered", "missing", "unexpected"])
def test_one_file_that_differs_is_named(built: Built, package: Path, kind: str) -> None:
    file = package / "kernel" / ("ids.py" if kind != "unexpected" else "backdoor.py")
    if kind == "missing":
        file.unlink()
    else:
        file.write_text("CHANGED = 1\n")
    code, report = _verify(package, "--builder-key", public_path(built.key))
    assert (code, _unmet(report)) == (1, ["4 files"])
    assert [(one["name"], one["kind"]) for one in report["build"]["differences"]] == [
        (f"assay/kernel/{file.name}", kind)
    ]


def test_the_file_with_the_statement_is_bound_by_the_other_statement(built: Built, package: Path) -> None:
    """Another statement by the same key, say of an older build, passes for itself and not for this release."""
    facts = package / "_build.json"
    facts.write_bytes(facts.read_bytes() + b"\n")
    key = public_path(built.key)
    assert _verify(package, "--builder-key", key)[0] == 0
    code, report = _verify(package, "--builder-key", key, "--statement", built.first.statement)
    assert (code, [one["name"] for one in report["build"]["differences"]]) == (1, ["assay/_build.json"])


def test_a_statement_by_another_key_is_untrusted(package: Path, tmp_path: Path) -> None:
    create_key_file(tmp_path / "other.key")
    code, report = _verify(package, "--builder-key", public_path(tmp_path / "other.key"))
    assert (code, report["error"]["code"]) == (3, "dsse.untrusted")


def test_without_a_key_nobody_vouches(package: Path) -> None:
    code, report = _verify(package)
    assert (code, _unmet(report)) == (1, ["2 signature"])


def test_a_forged_statement_is_refused(built: Built, package: Path) -> None:
    """Files changed, and the statement made to fit: its signature no longer does."""
    facts = json.loads((package / "_build.json").read_bytes())
    statement = json.loads(base64.b64decode(facts["provenance"]["payload"]))
    (package / "kernel/ids.py").write_text("CHANGED = 1\n")
    changed = next(one for one in statement["subject"] if one["name"] == "assay/kernel/ids.py")
    changed["digest"]["sha256"] = sha256(b"CHANGED = 1\n").hexdigest()
    facts["provenance"]["payload"] = base64.b64encode(json.dumps(statement).encode()).decode()
    (package / "_build.json").write_text(json.dumps(facts))
    code, report = _verify(package, "--builder-key", public_path(built.key))
    assert (code, report["error"]["code"]) == (3, "dsse.untrusted")


@pytest.mark.parametrize("text", [b"[]", b"{}", b'{"commit": "a", "provenance": {}}', b"\xff"])
def test_a_file_of_facts_that_cannot_be_read_is_untrusted(package: Path, text: bytes) -> None:
    (package / "_build.json").write_bytes(text)
    assert _verify(package)[0] == 3


def test_a_build_without_a_key_says_that_nobody_vouches_for_it(built: Built, tmp_path: Path) -> None:
    release = build_release(built.second.wheel.parents[1] / "one", tmp_path / "dist", signer=None)
    with ZipFile(release.wheel) as wheel:
        wheel.extractall(tmp_path / "site")
    code, report = _verify(tmp_path / "site" / "assay", "--builder-key", public_path(built.key))
    assert (code, _unmet(report)) == (1, ["2 signature"])
    assert "unsigned" in report["build"]["findings"][1]["detail"]


@pytest.mark.clause("ski", "6.4")
def test_a_running_build_knows_its_commit_and_its_statement(
    built: Built, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `/api/sovereignty` says comes from the file in the wheel, by the reader that wiring uses."""
    monkeypatch.setattr(_evaluation, "files", lambda _name: package)
    facts = _evaluation._build_facts()
    assert facts["commit"] == built.commit
    envelope = parse_envelope(json.dumps(facts["provenance"]))
    assert verify_envelope(envelope, [bytes.fromhex(_public_hex(built))])


def test_a_checkout_in_place_says_that_it_is_no_build() -> None:
    answer = ask("sovereignty", "verify", "--json")
    assert (answer.code, _unmet(answer.json)) == (1, ["1 build"])


def test_every_pinned_file_of_the_lock_is_a_dependency() -> None:
    found = requirements_of((_ROOT / "requirements/base.txt").read_text())
    assert len(found) == (_ROOT / "requirements/base.txt").read_text().count("--hash=sha256:")
    assert all(one.uri.startswith("pkg:pypi/") and len(one.digest["sha256"]) == 64 for one in found)
