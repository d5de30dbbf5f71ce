"""A throw-away PostgreSQL cluster that can be stopped, started and killed without warning.

Durability is left on (`fsync`, `synchronous_commit`, `full_page_writes` keep their defaults): a test of crash safety
on a cluster that does not flush would prove nothing.
"""

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg

__all__ = ["PostgresCluster", "folder_in_memory"]

_START_SECONDS = 60.0
_STOP_SECONDS = 30.0
_POLL_SECONDS = 0.02
_DEBIAN = Path("/usr/lib/postgresql")
_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
_MEMORY_BYTES = 2**31
_GONE = frozenset("ZX")  # zombies hold no file, lock or shared memory any more


class PostgresCluster:
    """One server in a folder of its own; `dsn` stays the same over kills and restarts.

    The folder lies directly under the temporary directory, since pytest's own folders cannot be entered by the
    unprivileged user that PostgreSQL insists on.
    """

    host = "127.0.0.1"
    superuser = "postgres"

    def __init__(self, *, under: Path | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="assay-postgres-", dir=under))
        self.port = _free_port(self.host)
        self._binaries = _find_binaries()
        self._server: subprocess.Popen[bytes] | None = None
        self._names = count(1)
        atexit.register(self.close)
        if os.geteuid() == 0:
            shutil.chown(self.folder, "nobody", "nogroup")
        self._run("initdb", "-D", self._data, "-U", self.superuser, "-A", "trust", "-E", "UTF8", "--locale=C", "-N")

    def dsn(self, database: str, user: str | None = None) -> str:
        return f"postgresql://{user or self.superuser}@{self.host}:{self.port}/{database}"

    def create_database(self, *, like: str | None = None) -> str:
        """Make a database with a name never used before in this cluster: empty, or a copy of one nobody has open."""
        name = f"assay_{os.getpid()}_{next(self._names)}"
        template = "" if like is None else f' TEMPLATE "{like}"'
        self.execute("postgres", f'CREATE DATABASE "{name}"{template}')
        return name

    def drop_database(self, name: str) -> None:
        """Remove it, whoever has it open: hundreds of databases are minutes of removing files at the end."""
        self.execute("postgres", f'DROP DATABASE "{name}" WITH (FORCE)')

    def execute(self, database: str, sql: str) -> None:
        """Run statements as the superuser, outside any transaction."""
        with psycopg.connect(self.dsn(database), autocommit=True) as connection:
            connection.execute(sql.encode())

    def start(self) -> None:
        """Start the server and wait until it answers, crash recovery included."""
        if self._server is not None:
            message = "the cluster is already running"
            raise RuntimeError(message)
        command = self._as_server_user(
            [self._binaries / "postgres", "-D", self._data, "-k", self.folder, "-p", str(self.port)]
        )
        command += ["-c", f"listen_addresses={self.host}", "-c", "max_connections=200"]
        # Shared memory in files of the folder: a killed server cannot remove what it has elsewhere.
        command += ["-c", "dynamic_shared_memory_type=mmap"]
        with self._log.open("ab") as log:
            self._server = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder)
        self._wait_until_ready()

    def stop(self) -> None:
        """Shut down in order: sessions are cut off, everything is flushed."""
        if self._server is None:
            return
        self._server.send_signal(signal.SIGINT)
        try:
            self._server.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill_all()
        self._server = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def kill_all(self) -> None:
        """SIGKILL the server and every child at once, and return when none of them is left."""
        if self._server is None:
            return
        # Each PostgreSQL child leads a process group of its own, so one killpg would miss them; the server is
        # stopped first so that it cannot fork while its children are counted.
        self._server.send_signal(signal.SIGSTOP)
        family = [self._server.pid, *_children(self._server.pid)]
        for pid in family:
            _send(pid, signal.SIGKILL)
        self._server.wait(_STOP_SECONDS)
        self._server = None
        _wait_until_gone(family)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Every process stands still for as long as the block lasts: the kernel takes connections, nobody answers."""
        if self._server is None:
            message = "the cluster is not running"
            raise RuntimeError(message)
        self._server.send_signal(signal.SIGSTOP)
        family = [*_children(self._server.pid), self._server.pid]
        try:
            for pid in family:
                _send(pid, signal.SIGSTOP)
            yield
        finally:
            for pid in family:
                _send(pid, signal.SIGCONT)

    def close(self) -> None:
        """Kill what runs and remove the folder; safe to call again."""
        self.kill_all()
        shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.close)

    def log_tail(self) -> str:
        text = self._log.read_text(errors="replace") if self._log.exists() else ""
        return "\n".join(text.splitlines()[-20:])

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def _log(self) -> Path:
        return self.folder / "server.log"

    def _run(self, program: str, *arguments: str | Path) -> None:
        command = self._as_server_user([self._binaries / program, *arguments])
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder)
        if done.returncode != 0:
            message = f"`{program}` failed: {done.stderr.strip()}"
            raise RuntimeError(message)

    def _as_server_user(self, command: Sequence[str | Path]) -> list[str]:
        words = [str(word) for word in command]
        if os.geteuid() != 0:
            return words
        return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", *words]

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not self._is_ready():
            if self._server is None or self._server.poll() is not None or time.monotonic() > deadline:
                self.kill_all()
                message = f"PostgreSQL did not start:\n{self.log_tail()}"
                raise RuntimeError(message)
            time.sleep(_POLL_SECONDS)

    def _is_ready(self) -> bool:
        try:
            psycopg.connect(self.dsn("postgres"), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True


def folder_in_memory() -> Path | None:
    """Where files cost no disk, if there is room and programs may lie there. What is flushed is flushed all the same;
    whatever is killed on purpose keeps to the disk, where a flush takes the time in which it can be hit.
    """
    if not (_MEMORY.is_dir() and os.access(_MEMORY, os.W_OK)) or os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC:
        return None
    return _MEMORY if shutil.disk_usage(_MEMORY).free > _MEMORY_BYTES else None


def _find_binaries() -> Path:
    """The newest of Debian's versions, or wherever `initdb` is on the search path."""
    versions = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if versions:
        return versions[-1].parent
    found = shutil.which("initdb")
    if found is None:
        message = "no PostgreSQL server found; `tools/system_packages.sh` installs it"
        raise RuntimeError(message)
    return Path(found).resolve().parent


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def _children(parent: int) -> list[int]:
    listing = Path(f"/proc/{parent}/task/{parent}/children")
    return [int(pid) for pid in listing.read_text().split()]


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _wait_until_gone(pids: Iterable[int]) -> None:
    deadline = time.monotonic() + _STOP_SECONDS
    for pid in pids:
        while _is_alive(pid):
            if time.monotonic() > deadline:
                message = f"process {pid} survived SIGKILL"
                raise RuntimeError(message)
            time.sleep(_POLL_SECONDS)


def _is_alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    # The state follows the command name, which is in parentheses and may itself contain spaces.
    return status.rpartition(")")[2].split()[0] not in _GONE
