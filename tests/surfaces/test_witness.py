"""Witnesses end to end: real servers, a node that asks them, and a fork that is caught."""

import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import httpx
import msgspec
import pytest
from litestar.testing import TestClient

from assay.adapters.clock import SystemClock
from assay.adapters.keyfile import create_key_file, load_key_file
from assay.flows.errors.ledger import LedgerFlowError, WitnessRefusedError
from assay.flows.ledger.answer_witness import answer_witness
from assay.flows.ledger.prove_record import prove_record
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.ledger.witness_standing import witness_lags
from assay.flows.tools import Tools
from assay.kernel.bundle import parse_bundle, render_bundle
from assay.kernel.check_bundle import check_bundle
from assay.kernel.checkpoint import (
    Checkpoint,
    SignedCheckpoint,
    add_signatures,
    log_key,
    render_checkpoint_body,
    seal_checkpoint,
)
from assay.kernel.cosignature import verify_cosignatures, witness_key
from assay.kernel.key import parse_anchors
from assay.kernel.ledger import EntryKind, draft_entry
from assay.kernel.merkle import EMPTY_ROOT, leaf_hash, node_hash
from assay.kernel.note import note_signature, parse_signature_lines, render_verifier_key
from assay.kernel.witness import WitnessRequest, render_request
from assay.surfaces.http.witness import create_witness_app, open_witness
from assay.wiring import init_node, open_node
from tests.raising import raises
from tests.surfaces.cli.running import ask, spawn
from tests.surfaces.http.served import ACME, Served, serving

_ORIGIN = "example.org/assay/acme"
_NAMES = ("witness.example/one", "witness.example/two")


class _Witness(msgspec.Struct):
    """A witness of this test: its folder and what `witness init` printed."""

    home: Path
    name: str
    public_key: str
    vkey: str

    @property
    def raw_key(self) -> bytes:
        return bytes.fromhex(self.public_key)


def _make_witness(home: Path, name: str) -> _Witness:
    done = ask("witness", "init", home, "--name", name, "--json")
    assert done.code == 0, done.err
    made = done.json
    assert made["logs"] == []
    return _Witness(home=home, name=made["name"], public_key=made["public_key"], vkey=made["vkey"])


def _trust(witness: _Witness, key: str, *options: str) -> None:
    done = ask("witness", "trust", witness.home, key, *options)
    assert done.code == 0, done.err


@contextmanager
def _serving(witness: _Witness, folder: Path, port: int = 0) -> Iterator[Served]:
    with serving("witness", "serve", "--home", str(witness.home), "--port", str(port), folder=folder) as served:
        yield served


def _configure(home: Path, witnesses: list[tuple[_Witness, str]], threshold: int) -> None:
    text = (home / "assay.toml").read_text()
    listed = "".join(
        f'\n[[witnesses]]\nname = "{one.name}"\nurl = "{url}"\npublic_key = "{one.public_key}"\n'
        for one, url in witnesses
    )
    (home / "assay.toml").write_text(f"witness_threshold = {threshold}\n{text}{listed}")


def _append(tools: Tools, count: int, *, word: str = "note") -> None:
    for number in range(count):
        tools.database.append(draft_entry(ACME, EntryKind.NOTE, {word: number}, at=tools.clock.now()))


def _post(url: str, body: bytes) -> httpx.Response:
    return httpx.post(f"{url}/add-checkpoint", content=body, trust_env=False, timeout=20)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "node"
    init_node(home, tenant=ACME, origin="example.org/assay")
    return home


def test_two_witnesses_cosign_and_the_bundle_proves_it(tmp_path: Path, home: Path) -> None:
    """Threshold 2: the checkpoint carries both cosignatures, and a verifier who demands both is satisfied."""
    witnesses = [_make_witness(tmp_path / f"w{number}", name) for number, name in enumerate(_NAMES)]
    key_file = home / "keys" / "ledger.key"
    public_key = load_key_file(key_file).public_key
    _trust(witnesses[0], render_verifier_key(log_key(_ORIGIN, public_key)))
    _trust(witnesses[1], f"{key_file}.pub", "--origin", _ORIGIN)
    with ExitStack() as stack:
        served = [stack.enter_context(_serving(one, tmp_path)) for one in witnesses]
        _configure(home, [(one, there.url) for one, there in zip(witnesses, served, strict=True)], threshold=2)
        tools, _ = stack.enter_context(open_node(home))
        _append(tools, 5)
        sign_checkpoint(tools, ACME, at=tools.clock.now())
        # The second time both witnesses know a size: the first question is answered 409, and asked again from there.
        _append(tools, 300)
        sign_checkpoint(tools, ACME, at=tools.clock.now())
        bundle = parse_bundle(render_bundle(prove_record(tools, ACME, 7)))
    keys = {one.name: one.raw_key for one in witnesses}
    anchors = parse_anchors([public_key.hex()])
    assert check_bundle(bundle, anchors, witnesses=keys, threshold=2).holds
    assert not check_bundle(bundle, anchors, witnesses={"witness.example/three": public_key}, threshold=1).holds
    shown = ask("witness", "show", witnesses[0].home, "--json").json
    assert [(log["origin"], log["size"]) for log in shown["logs"]] == [(_ORIGIN, 308)]


def test_a_witness_that_is_down_leaves_the_checkpoint_unsigned_below_the_threshold(tmp_path: Path, home: Path) -> None:
    """One of two is enough for threshold 1 and not for 2; what was not published is not remembered."""
    witnesses = [_make_witness(tmp_path / f"w{number}", name) for number, name in enumerate(_NAMES)]
    for one in witnesses:
        _trust(one, f"{home / 'keys' / 'ledger.key'}.pub", "--origin", _ORIGIN)
    with _serving(witnesses[0], tmp_path) as up:
        with _serving(witnesses[1], tmp_path) as down:
            pass
        _configure(home, [(witnesses[0], up.url), (witnesses[1], down.url)], threshold=2)
        with open_node(home) as (tools, _):
            with pytest.raises(
                WitnessRefusedError, match=r"expected cosignatures of 2 witnesses, got 1.*gave no answer"
            ):
                sign_checkpoint(tools, ACME, at=tools.clock.now())
            assert (tools.checkpoints.load(ACME), tools.checkpoints.tenants()) == (None, ())
        text = (home / "assay.toml").read_text()
        (home / "assay.toml").write_text(text.replace("witness_threshold = 2", "witness_threshold = 1"))
        with open_node(home) as (tools, _):
            signed = sign_checkpoint(tools, ACME, at=tools.clock.now())
    found = verify_cosignatures(signed, {one.name: one.raw_key for one in witnesses}, 1)
    assert [one.name for one in found] == [_NAMES[0]]


def test_a_forked_log_is_refused(tmp_path: Path, home: Path) -> None:
    """A copy of the node that went its own way is told no, also after the witness was restarted."""
    witness = _make_witness(tmp_path / "w", _NAMES[0])
    _trust(witness, f"{home / 'keys' / 'ledger.key'}.pub", "--origin", _ORIGIN)
    with _serving(witness, tmp_path) as served:
        port = int(served.url.rpartition(":")[2])
        _configure(home, [(witness, served.url)], threshold=1)
        with open_node(home) as (tools, _):
            _append(tools, 3)
        fork = tmp_path / "fork"
        shutil.copytree(home, fork)
        with open_node(home) as (tools, _):
            _append(tools, 4, word="ours")
            sign_checkpoint(tools, ACME, at=tools.clock.now())
        served.kill()
    with _serving(witness, tmp_path, port):
        # As long as what was cosigned, then longer: neither continues it.
        with open_node(fork) as (tools, _):
            _append(tools, 4, word="theirs")
            with pytest.raises(WitnessRefusedError, match="got 409"):
                sign_checkpoint(tools, ACME, at=tools.clock.now())
            with raises(LedgerFlowError.witness_contradicted, match=_NAMES[0]):
                _append(tools, 1, word="theirs")
        with open_node(fork) as (tools, _):
            _append(tools, 1, word="theirs")
            with pytest.raises(WitnessRefusedError, match="got 422"):
                sign_checkpoint(tools, ACME, at=tools.clock.now())
        # Shorter than what was cosigned: the witness has seen more than this node has.
        shorter = tmp_path / "shorter"
        shutil.copytree(fork, shorter)
        with open_node(home) as (tools, _):
            _append(tools, 9)
            sign_checkpoint(tools, ACME, at=tools.clock.now())
        with (
            open_node(shorter) as (tools, _),
            pytest.raises(WitnessRefusedError, match="the witness has seen 19 entries, more than our 11"),
        ):
            sign_checkpoint(tools, ACME, at=tools.clock.now())


def test_a_node_that_was_rolled_back_as_a_whole_refuses_writes_and_names_the_witness(
    tmp_path: Path, home: Path
) -> None:
    """Its own memory was rolled back with it, so that only the witness knows: asked at the start, and by doctor."""
    witness = _make_witness(tmp_path / "w", _NAMES[0])
    _trust(witness, f"{home / 'keys' / 'ledger.key'}.pub", "--origin", _ORIGIN)
    with _serving(witness, tmp_path) as served:
        _configure(home, [(witness, served.url)], threshold=1)
        with open_node(home) as (tools, _):
            sign_checkpoint(tools, ACME, at=tools.clock.now())
        older = tmp_path / "older"
        shutil.copytree(home, older)
        with serving("serve", "--home", str(home), "--port", "0", folder=tmp_path) as node:
            assert httpx.get(f"{node.url}/readyz", trust_env=False).status_code == 200
        with open_node(home) as (tools, _):
            _append(tools, 4)
            sign_checkpoint(tools, ACME, at=tools.clock.now())
            assert [one.entries_behind for one in witness_lags(tools, ACME)] == [0]
        with serving("serve", "--home", str(older), "--port", "0", folder=tmp_path) as node:
            told = httpx.get(f"{node.url}/readyz", trust_env=False)
            assert told.status_code == 503
            assert _NAMES[0] in told.text
            assert "witness.contradicted" in told.text
        done = ask("doctor", "--home", older)
        assert done.code != 0
        assert "it contradicts this node" in done.out
        assert _NAMES[0] in done.out


def test_a_server_signs_when_it_stops_and_when_it_starts(tmp_path: Path, home: Path) -> None:
    """What was written since the last round is vouched for before the process ends, and what a crash left at once."""

    def sizes() -> tuple[int, int]:
        with open_node(home, writable=False) as (tools, _):
            kept = tools.database.read(lambda unit: unit.ledger.find_checkpoint(ACME))
            head = tools.database.read(lambda unit: unit.ledger.head(ACME).sequence_number)
        return (0 if kept is None else kept.size), head

    with open_node(home) as (tools, _):
        _append(tools, 3)
    assert sizes()[0] == 0
    with serving("serve", "--home", str(home), "--port", "0", folder=tmp_path) as node:
        httpx.get(f"{node.url}/readyz", trust_env=False)
        assert sizes()[0] == sizes()[1] > 0
        (tmp_path / "note.json").write_text('{"text": "one more"}')
        assert ask("ledger", "append", "--home", home, tmp_path / "note.json").code == 0
        node.process.terminate()
        node.process.wait(60)
    assert sizes()[0] == sizes()[1]


class _Log:
    """A tiny log with a real key: sizes 0, 1 and 2, and two ways to be of size 1."""

    def __init__(self, folder: Path) -> None:
        self.signer = create_key_file(folder / "log.key")
        self.leaves = [leaf_hash(b"one"), leaf_hash(b"two")]
        self.roots = {0: EMPTY_ROOT, 1: self.leaves[0], 2: node_hash(*self.leaves)}

    def signed(self, size: int, root: bytes | None = None) -> SignedCheckpoint:
        checkpoint = Checkpoint(origin="log.example", size=size, root=root or self.roots[size])
        signature = self.signer.sign(render_checkpoint_body(checkpoint))
        key = log_key("log.example", self.signer.public_key)
        return seal_checkpoint(checkpoint, [note_signature(key, signature)])

    def request(self, old: int, size: int, *, path: tuple[bytes, ...] = (), root: bytes | None = None) -> bytes:
        return render_request(WitnessRequest(old_size=old, path=path, signed=self.signed(size, root)))


@pytest.fixture
def log(tmp_path: Path) -> _Log:
    return _Log(tmp_path)


@pytest.fixture
def witness(tmp_path: Path, log: _Log) -> _Witness:
    made = _make_witness(tmp_path / "w", _NAMES[0])
    _trust(made, log.signer.public_key.hex(), "--origin", "log.example")
    return made


def test_the_answers_of_the_protocol(tmp_path: Path, log: _Log, witness: _Witness) -> None:
    """200, 400, 403, 404, 409 and 422 with the bodies and media types of C2SP tlog-witness."""
    with _serving(witness, tmp_path) as served:
        first = _post(served.url, log.request(0, 1))
        assert first.status_code == 200
        lines = parse_signature_lines(first.text)
        assert [line.name for line in lines] == [_NAMES[0]]
        assert lines[0].key_hash == witness_key(_NAMES[0], witness.raw_key).key_hash
        stale = _post(served.url, log.request(0, 2))
        assert (stale.status_code, stale.headers["content-type"], stale.text) == (409, "text/x.tlog.size", "1\n")
        other_root = _post(served.url, log.request(1, 1, root=leaf_hash(b"other")))
        assert (other_root.status_code, other_root.text) == (409, "1\n")
        assert _post(served.url, log.request(1, 2, path=(leaf_hash(b"no"),))).status_code == 422
        assert _post(served.url, b"nonsense").status_code == 400
        assert _post(served.url, log.request(2, 1)).status_code == 400
        assert _post(served.url, log.request(0, 1).replace(b"log.example\n1", b"log.example\n2")).status_code == 403
        unknown = log.request(0, 1).replace(b"log.example", b"else.example")
        assert _post(served.url, unknown).status_code == 404
        assert _post(served.url, log.request(1, 2, path=(log.leaves[1],))).status_code == 200
        # Asked again for what it cosigned, as after an answer that got lost, it answers again.
        assert _post(served.url, log.request(2, 2)).status_code == 200
        assert httpx.get(f"{served.url}/add-checkpoint", trust_env=False).status_code == 405
        assert _post(served.url, b"x" * 300_000).status_code == 413


def test_a_log_trusted_while_the_witness_runs_is_known_at_once(tmp_path: Path, log: _Log) -> None:
    """Without a restart, and by several keys while a log rotates."""
    made = _make_witness(tmp_path / "w", _NAMES[0])
    with _serving(made, tmp_path) as served:
        assert _post(served.url, log.request(0, 1)).status_code == 404
        _trust(made, str(tmp_path / "log.key.pub"), "--origin", "log.example")
        assert _post(served.url, log.request(0, 1)).status_code == 200


def test_of_racing_requests_from_the_same_state_one_history_wins(tmp_path: Path, log: _Log, witness: _Witness) -> None:
    """Many at once, to two processes with one memory, ask to go from 0 to two trees of size 1: one is cosigned."""
    roots = [leaf_hash(b"left"), leaf_hash(b"right")]
    answers: list[int] = []
    with _serving(witness, tmp_path) as one, _serving(witness, tmp_path) as two:

        def ask(number: int) -> None:
            url = (one, two)[number // 2 % 2].url
            answers.append(_post(url, log.request(0, 1, root=roots[number % 2])).status_code)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(answers) == [200, *[409] * 15]


def test_what_was_cosigned_survives_a_kill(tmp_path: Path, log: _Log, witness: _Witness) -> None:
    """The size is on disk before the cosignature leaves, so a killed witness still refuses to go back."""
    with _serving(witness, tmp_path) as served:
        assert _post(served.url, log.request(0, 2)).status_code == 200
        served.kill()
    with _serving(witness, tmp_path) as served:
        back = _post(served.url, log.request(0, 1))
        assert (back.status_code, back.text) == (409, "2\n")
        assert served.stop() == 0


def test_a_witness_that_cannot_remember_cosigns_nothing(log: _Log, witness: _Witness) -> None:
    """A memory that fails is a 500 without a signature and without words about what failed."""
    desk = open_witness(witness.home, SystemClock())
    with TestClient(create_witness_app(desk)) as client:
        desk.state.close()
        answer = client.post("/add-checkpoint", content=log.request(0, 1))
    assert (answer.status_code, answer.text) == (500, "the witness failed\n")


def test_the_memory_itself_refuses_to_go_back(witness: _Witness, log: _Log) -> None:
    """Even whoever writes to the file by hand is stopped from shrinking or forgetting a log."""
    desk = open_witness(witness.home, SystemClock())
    at = desk.clock.now()
    assert answer_witness(desk.state, desk.state.name, desk.signer, log.request(0, 2), at=at).status == 200
    desk.state.close()
    with closing(sqlite3.connect(witness.home / "witness.db")) as connection:
        for change in ("UPDATE cosigned SET size = 1", "UPDATE cosigned SET root = x'00'", "DELETE FROM cosigned"):
            with pytest.raises(sqlite3.IntegrityError, match="never"):
                connection.execute(change)


def test_the_cosignature_verifies_and_is_dated_in_whole_seconds(tmp_path: Path, log: _Log, witness: _Witness) -> None:
    with _serving(witness, tmp_path) as served:
        lines = parse_signature_lines(_post(served.url, log.request(0, 1)).text)
    cosigned = add_signatures(log.signed(1), lines)
    (found,) = verify_cosignatures(cosigned, {witness.name: witness.raw_key}, 1)
    assert found.cosigned_at.microsecond == 0


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (["witness", "show", "{empty}"], "witness.no_state", 2),
        (["witness", "serve", "--home", "{empty}"], "witness.no_state", 2),
        (["witness", "init", "{empty}/w", "--name", "two words"], "checkpoint.key_name", 3),
        (["witness", "init", "{made}", "--name", "again"], "key.exists", 2),
        (["witness", "trust", "{made}", "ab" * 32], "key.malformed", 3),
    ],
)
def test_refusals_of_the_commands(tmp_path: Path, arguments: list[str], code: str, exit_code: int) -> None:
    """Each says its code and leaves an existing witness as it was."""
    made = _make_witness(tmp_path / "made", _NAMES[0])
    given = [part.format(empty=tmp_path, made=made.home) for part in arguments]
    # A server is a process of its own: it says how it logs before it looks for its memory.
    done = (spawn if "serve" in given else ask)(*given, "--json")
    assert (done.code, done.error_code) == (exit_code, code)
    shown = ask("witness", "show", made.home, "--json").json
    assert (shown["vkey"], shown["logs"]) == (made.vkey, [])


def test_a_key_that_does_not_name_its_log_needs_an_origin(tmp_path: Path, log: _Log) -> None:
    made = _make_witness(tmp_path / "made", _NAMES[0])
    done = ask("witness", "trust", made.home, log.signer.public_key.hex(), "--json")
    assert (done.code, done.error_code) == (2, "witness.origin")
