"""What is shipped to run a node for years: the container's steps work in an empty folder, and the unit is sound."""

import ast
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml  # type: ignore[import-untyped]  # ships no types

from assay.config import ENVIRONMENT
from assay.config.http import LONGEST_DRAIN
from assay.surfaces.http.serve import _DRAIN_SECONDS
from tests.scale import LONG

_ROOT = Path(__file__).resolve().parents[2]
_DEPLOY = _ROOT / "deploy"
_UNWANTED = shutil.ignore_patterns("__pycache__", "*.pyc")
# What needs a distribution or root: the folder has the same Python, and one user.
_OF_THE_SYSTEM = re.compile(r"apt-get |useradd ")


class _Step(NamedTuple):
    word: str
    rest: str


def _steps() -> list[_Step]:
    lines = (_DEPLOY / "Containerfile").read_text().splitlines()
    found = [line.split(maxsplit=1) for line in lines if line.strip() and not line.startswith("#")]
    return [_Step(word, rest) for word, rest in found]


def _last(word: str) -> str:
    return [step.rest for step in _steps() if step.word == word][-1]


class _Image:
    """A folder that stands for the root of the container."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workdir = root

    def build(self) -> None:
        for step in _steps():
            if step.word == "WORKDIR":
                self.workdir = self.place(step.rest)
                self.workdir.mkdir(parents=True)
            elif step.word == "COPY":
                self._copy(shlex.split(step.rest))
            elif step.word == "RUN" and not _OF_THE_SYSTEM.match(step.rest):
                self._run(shlex.split(step.rest))

    def place(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def words(self, words: list[str]) -> list[str]:
        """The same command with every path of the container inside the folder."""
        return [str(self.place(word)) if word.startswith("/") else word for word in words]

    def _copy(self, words: list[str]) -> None:
        if words[0].startswith("--from="):
            assert self.place(words[1]) == self.place(words[2])
            return
        *sources, target = words
        for name in sources:
            source, place = _ROOT / name, self.workdir / target
            if source.is_dir():
                shutil.copytree(source, place, ignore=_UNWANTED)
            else:
                place = place / name if target.endswith("/") else place
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, place)

    def _run(self, words: list[str]) -> None:
        if words[:2] == ["install", "-d"]:
            self.place(words[-1]).mkdir(parents=True, mode=0o700)
            return
        if "--require-hashes" in words and not LONG:
            self._lend_packages()
            return
        mapped = [sys.executable if word == "python3" else word for word in self.words(words)]
        done = subprocess.run(
            mapped, cwd=self.workdir, capture_output=True, text=True, check=False, env=_clean_environment()
        )
        assert done.returncode == 0, f"{words}: {done.stderr}"

    def _lend_packages(self) -> None:
        """The packages of the same locked list, as the tests have them; a long run installs them."""
        (site,) = self.place("/opt/assay/lib").glob("python3*/site-packages")
        (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")


def _clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("ASSAY_", "PYTHON"))}


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Image]:
    image = _Image(tmp_path_factory.mktemp("container"))
    image.build()
    # The source is not part of the second stage.
    shutil.rmtree(image.place("/src"))
    yield image
    shutil.rmtree(image.root)


def _environment(image: _Image) -> dict[str, str]:
    """`ENV` of the last stage, on loopback and a free port."""
    given = dict(word.split("=", 1) for word in shlex.split(_last("ENV")))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    home = str(image.place(given["ASSAY_HOME"]))
    return {
        **_clean_environment(),
        **given,
        "ASSAY_HOME": home,
        "ASSAY_HTTP_HOST": "127.0.0.1",
        "ASSAY_HTTP_PORT": port,
    }


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_container_s_steps_give_a_node_that_serves_and_stops(image: _Image) -> None:
    """Install, init, serve, be found healthy, end: from the wheel alone, writing nowhere but into the volume."""
    environment = _environment(image)
    program = image.words(json.loads(_last("ENTRYPOINT")))
    made = [*program, "init", environment["ASSAY_HOME"], "--origin", "log.example.com"]
    subprocess.run(made, check=True, capture_output=True, env=environment)
    before = _files(image.place("/opt"))
    command = [*program, *json.loads(_last("CMD"))]
    healthy = [word.replace(":4585/", f":{environment['ASSAY_HTTP_PORT']}/") for word in _health_command(image)]
    log = image.root / "log"
    with _running(command, environment, log) as process:
        assert process.stdout is not None
        said = process.stdout.readline().strip().decode()
        assert said == f"http://127.0.0.1:{environment['ASSAY_HTTP_PORT']}", log.read_text()
        assert subprocess.run(healthy, check=False, env=environment).returncode == 0
        process.send_signal(getattr(signal, _last("STOPSIGNAL")))
        assert process.wait(60) == 0
    assert subprocess.run(healthy, check=False, env=environment, stderr=subprocess.DEVNULL).returncode != 0
    assert _files(image.place("/opt")) == before
    assert (Path(environment["ASSAY_HOME"]) / "assay.db").exists()


@contextmanager
def _running(command: list[str], environment: dict[str, str], log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with (
        log.open("wb") as words,
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=words) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def _health_command(image: _Image) -> list[str]:
    words: list[str] = json.loads(_last("HEALTHCHECK").partition(" CMD ")[2])
    return image.words(words)


def _files(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_the_container_is_nobody_s_root_and_keeps_its_state_in_a_volume() -> None:
    given = dict(word.split("=", 1) for word in shlex.split(_last("ENV")))
    assert _last("USER") not in {"root", "0"}
    assert given["ASSAY_HOME"].startswith(_last("VOLUME") + "/")
    assert {name for name in given if name.startswith("ASSAY_")} <= {*ENVIRONMENT, "ASSAY_HOME"}
    assert _last("EXPOSE") == given["ASSAY_HTTP_PORT"]
    assert "/healthz" in _last("HEALTHCHECK")


def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    """Every line is known to it; the program is not installed here, so another stands for it."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("this machine has no systemd-analyze")
    unit = tmp_path / "assay.service"
    unit.write_text((_DEPLOY / "assay.service").read_text().replace("/opt/assay/bin/assay", "/bin/true"))
    done = subprocess.run([analyze, "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_waits_for_the_longest_drain_and_hides_the_rest_of_the_machine() -> None:
    lines = (_DEPLOY / "assay.service").read_text().splitlines()
    said = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    assert int(said["TimeoutStopSec"]) > LONGEST_DRAIN + _DRAIN_SECONDS
    assert said["KillSignal"] == "SIGTERM"
    assert (said["Restart"], said["RestartPreventExitStatus"]) == ("on-failure", "2")
    for name in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices", "ProtectKernelModules"):
        assert said[name] == "yes"
    assert (said["ProtectSystem"], said["StateDirectory"], said["CapabilityBoundingSet"]) == ("strict", "assay", "")


def test_the_composition_has_two_processes_that_share_one_node() -> None:
    """Both stand by, both are read-only, and nobody but the administrator's step knows the administrator."""
    services: dict[str, Any] = yaml.safe_load((_DEPLOY / "compose.yaml").read_text())["services"]
    for name in ("node", "standby"):
        assert services[name]["command"] == ["serve", "--standby"]
    ours = {name: one for name, one in services.items() if name != "postgres"}
    assert all(one["read_only"] and one["cap_drop"] == ["ALL"] for one in ours.values())
    assert {one["volumes"][0] for one in ours.values()} == {"node:/var/lib/assay"}
    knowing = [name for name, one in ours.items() if "ASSAY_ADMIN_PASSWORD" in json.dumps(one)]
    assert knowing == ["provision"]
    assert services["provision"]["profiles"] == services["init"]["profiles"] == ["setup"]
    ast.parse(services["provision"]["command"][0])


def test_a_port_of_the_machine_is_published_on_loopback_alone() -> None:
    """TLS is a proxy's work, and it stands on the same machine."""
    services: dict[str, Any] = yaml.safe_load((_DEPLOY / "compose.yaml").read_text())["services"]
    published = [port for one in services.values() for port in one.get("ports", ())]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)
