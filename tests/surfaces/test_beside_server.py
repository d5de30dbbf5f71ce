"""Commands beside a running server: the server performs them, for the operator of the folder or a credential."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.adapters.keyfile import create_key_file
from assay.surfaces.local_socket import SOCKET_NAME, find_local, listen_locally
from tests.surfaces.http.served import Served, make_node, run_cli, serving

_LONG = "a-folder-with-a-name-that-no-socket-address-can-hold-in-one-piece-" * 2


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Served]]:
    folder = tmp_path_factory.mktemp("beside")
    home = folder / "node"
    make_node(home)
    with serving("--home", str(home), "serve", "--port", "0", folder=folder) as one:
        yield home, one


def _run(home: Path, *arguments: str) -> tuple[int, str, str]:
    done = run_cli("--home", str(home), *arguments)
    return done.returncode, done.stdout, done.stderr


def test_the_socket_belongs_to_its_owner_alone(served: tuple[Path, Served]) -> None:
    home, _ = served
    assert stat.S_IMODE((home / SOCKET_NAME).stat().st_mode) == 0o600


def test_the_operator_changes_things_while_the_server_runs(served: tuple[Path, Served]) -> None:
    """No command asks to stop the server; what it records names the operator of the folder."""
    home, _ = served
    code, key, _ = _run(home, "principal", "key", "issue", "svc:writer")
    assert (code, key.startswith("ak_")) == (0, True)
    code, listed, _ = _run(home, "principal", "key", "list", "svc:writer", "--json")
    assert (code, key.partition(".")[0] in listed) == (0, True)
    code, _, _ = _run(home, "principal", "key", "revoke", key.partition(".")[0], "--reason", "a test")
    assert code == 0


def test_a_credential_over_the_socket_is_its_principal_s(served: tuple[Path, Served]) -> None:
    """Reaching the socket gives nobody more than their credential, once they name one."""
    home, _ = served
    _, key, _ = _run(home, "principal", "key", "issue", "svc:writer")
    code, out, _ = _run(home, "principal", "key", "issue", "svc:writer", "--json", "--credential", key.strip())
    assert (code, "identity.role" in out or "identity.session_required" in out) == (1, True)


def test_a_person_is_added_and_logs_in_while_the_server_runs(served: tuple[Path, Served]) -> None:
    home, _ = served
    arguments = ("principal", "add", "user:ada", "--kind", "person", "--role", "admin", "--password-stdin")
    done = run_cli("--home", str(home), *arguments, stdin="a long password\n")
    assert done.returncode == 0, done.stderr
    done = run_cli("--home", str(home), "principal", "login", "user:ada", "--password-stdin", stdin="a long password\n")
    assert (done.returncode, done.stdout.startswith("st_")) == (0, True), done.stderr
    code, out, _ = _run(home, "principal", "whoami", "--json", "--session", done.stdout.strip())
    assert (code, '"user:ada"' in out) == (0, True)


def test_another_tenant_is_named(served: tuple[Path, Served]) -> None:
    home, _ = served
    code, out, _ = _run(home, "principal", "key", "list", "--tenant", "other", "--json")
    assert (code, '"items": []' in out) == (0, True)


def test_a_remote_node_is_asked_by_its_address(served: tuple[Path, Served], tmp_path: Path) -> None:
    """`--node` needs no folder of a node; without a credential nobody is signed in."""
    home, server = served
    _, key, _ = _run(home, "principal", "key", "issue", "svc:writer")
    code, out, _ = _run(
        tmp_path, "principal", "key", "list", "--node", server.url, "--credential", key.strip(), "--json"
    )
    assert (code, key.partition(".")[0] in out) == (0, True)
    code, out, _ = _run(tmp_path, "principal", "key", "list", "--node", server.url, "--json")
    assert (code, "identity.not_signed_in" in out) == (1, True)


def test_a_socket_that_nobody_answers_is_replaced(tmp_path: Path) -> None:
    """A server that was killed leaves its socket behind."""
    home = tmp_path / "node"
    home.mkdir()
    (home / SOCKET_NAME).touch()
    with find_local(home) as found:
        assert found is None
    with listen_locally(home) as bound:
        assert bound is not None
        with find_local(home) as found:
            assert found is not None
        with listen_locally(home) as second:
            assert second is None
    assert not (home / SOCKET_NAME).exists()


def test_a_folder_with_a_long_name_has_a_socket_too(tmp_path: Path) -> None:
    home = tmp_path / _LONG
    home.mkdir()
    with listen_locally(home) as bound, find_local(home) as found:
        assert bound is not None
        assert found is not None


def test_people_work_at_the_desk_while_the_server_runs(served: tuple[Path, Served], tmp_path: Path) -> None:
    """An operator opens a ticket, a reviewer signs the answer with a key that never leaves their machine.

    The operator of the folder reads everything and answers nothing.
    """
    home, server = served
    key = create_key_file(tmp_path / "rita.key")
    assert key.public_key is not None
    public = ("--public-key", key.public_key.hex())
    olga, rita = _person(home, "user:olga", "operator"), _person(home, "user:rita", "reviewer", *public)
    asked = tmp_path / "ask.json"
    asked.write_text('{"title": "archive", "shown": {"gauges": 40}, "eligible_roles": ["reviewer"]}')
    code, ticket, told = _run(home, "review", "open", str(asked), "--session", olga)
    assert (code, ticket.startswith("tkt_")) == (0, True), told
    ticket, seen = ticket.strip(), told.split()[-1]
    assert ticket in _run(home, "review", "list")[1]
    answer = ("review", "answer", ticket, "approve", "--seen", seen, "--json")
    code, out, _ = _run(home, *answer)
    assert (code, "identity.not_signed_in" in out) == (1, True)
    remote = (*answer, "--key", str(tmp_path / "rita.key"), "--session", rita, "--node", server.url)
    code, out, _ = _run(tmp_path, *remote)
    assert (code, '"signed_with": "reviewer_key"' in out) == (0, True), out
    assert "signature valid" in _run(home, "review", "show", ticket)[1]


def _person(home: Path, name: str, role: str, *more: str) -> str:
    """A session of a new person."""
    add = ("principal", "add", name, "--kind", "person", "--name", name, "--role", role, "--password-stdin", *more)
    done = run_cli("--home", str(home), *add, stdin="correct horse battery\n")
    assert done.returncode == 0, done.stderr
    done = run_cli("--home", str(home), "principal", "login", name, "--password-stdin", stdin="correct horse battery\n")
    return done.stdout.strip()
