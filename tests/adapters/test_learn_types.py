"""Two threads that decode into a new type at once end the process; a type that was learnt is safe."""

import subprocess
import sys
from pathlib import Path

_SOURCE = Path(__file__).parent.parent.parent / "src"
# As many types as it takes: without `learn_types` one of the first does it.
_RACE = """
import sys, threading
import msgspec
from assay.adapters.learn_types import learn_types

sys.setswitchinterval(1e-6)
field = "    f{}: 'dict[str, tuple[int, ...] | None]' = {{}}\\n"
inner = "class Inner(msgspec.Struct):\\n" + "".join(field.format(n) for n in range(20))
outer = "class Outer(msgspec.Struct):\\n" + "".join(f"    g{n}: 'Inner | None' = None\\n" for n in range(20))
for _ in range(100):
    exec(inner + outer)
    learn_types()
    together = threading.Barrier(8)

    def decode(kind=Outer):
        together.wait()
        msgspec.json.decode(b'{"g1": {"f1": {"a": [1]}}, "g19": {"f19": {"a": [1]}}}', type=kind)

    threads = [threading.Thread(target=decode) for _ in range(8)]
    [one.start() for one in threads]
    [one.join() for one in threads]
"""
_OPENED = """
import sys
from pathlib import Path
from msgspec import Struct
from assay.adapters import learn_types
from assay.surfaces.http.app import create_app
from assay.wiring import init_node, open_node

def below(base):
    for kind in base.__subclasses__():
        yield kind
        yield from below(kind)

home = Path(sys.argv[1]) / "node"
init_node(home)
with open_node(home) as (tools, config):
    create_app(tools, config)
    missed = [kind.__name__ for kind in below(Struct) if kind not in learn_types._LEARNT]
    assert not missed, missed
"""


def _run(script: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", script, *arguments]
    environment = {"PYTHONPATH": str(_SOURCE), "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)


def test_threads_decode_into_a_type_that_was_learnt() -> None:
    done = _run(_RACE)
    assert done.returncode == 0, done.stderr


def test_a_server_has_learnt_every_type_before_it_has_threads(tmp_path: Path) -> None:
    done = _run(_OPENED, str(tmp_path))
    assert done.returncode == 0, done.stderr
