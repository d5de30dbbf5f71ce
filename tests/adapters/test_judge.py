"""The judge as a reasoner: the same answers from either bench, bounded, and never by other weights than were named."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest
from msgspec import Raw
from msgspec.structs import replace

from assay.adapters.clock import SystemClock
from assay.adapters.reasoning.judge import JudgeReasoner, JudgeWeights, shipped_weights, weights_by_card
from assay.adapters.reasoning.judge_here import JudgeHere
from assay.adapters.reasoning.judge_process import JudgeBounds, JudgeProcess
from assay.kernel.digest import digest_of
from assay.ports.model import ModelError, ModelUnavailableError
from assay.ports.reasoner import BatchReasoner, ScoringReasoner
from assay.verdicts.reason import RawReply, ReasonRequest, build_request, interpret_reply
from tests.contract._kit import refused
from tests.verdicts.judging import docket_of, obligation, record
from tests.waiting import until

_DOCKET = docket_of(obligation("o-1", "must_not_exceed", "nox", 35), obligation("o-2", "must_be_below", "so2", 10))


def _request(nox: float = 40) -> ReasonRequest:
    return build_request(_DOCKET, record({"nox": nox, "so2": 9}), {}, seed=7)


def _reasoner(bench: JudgeProcess | JudgeHere) -> JudgeReasoner:
    return JudgeReasoner(bench, SystemClock())


@cache
def _here() -> JudgeReasoner:
    return _reasoner(JudgeHere(shipped_weights()))


@pytest.fixture(scope="module")
def beside() -> Iterator[JudgeProcess]:
    """One child for all tests that leave it alive."""
    bench = JudgeProcess(shipped_weights())
    yield bench
    bench.close()


def _same(one: RawReply, other: RawReply) -> bool:
    return replace(one, started_at=other.started_at, completed_at=other.completed_at) == other


@pytest.mark.clause("ski", "2.1.3")
def test_the_judge_says_the_same_in_its_own_process_and_in_ours(beside: JudgeProcess) -> None:
    reasoner = _reasoner(beside)
    assert isinstance(reasoner, ScoringReasoner)
    reply = reasoner.complete(_request())
    assert _same(reply, _here().complete(_request()))
    read = interpret_reply(reply, _DOCKET)
    assert (read.error, read.answer.verdict) == (None, "FLAG")
    assert interpret_reply(reasoner.complete(_request(35)), _DOCKET).answer.verdict == "CLEAR"


@pytest.mark.clause("ski", "4.6")
@pytest.mark.clause("ski", "6.2")
def test_it_names_the_hash_of_the_bytes_that_run(beside: JudgeProcess) -> None:
    identity = _reasoner(beside).identify()
    expected = digest_of(shipped_weights().file.read_bytes())
    assert (identity.backend_name, identity.is_exact, identity.model_weight_hash) == ("judge", True, expected)
    assert (identity.place.kind, _here().identify().place.kind) == ("child_process", "in_process")
    assert _reasoner(beside).complete(_request()).model_weight_hash == expected


def test_every_token_comes_with_its_scores_and_is_the_best_of_them(beside: JudgeProcess) -> None:
    reply = _reasoner(beside).complete(_request())
    assert reply.token_ids is not None
    assert reply.logprobs is not None
    assert reply.top_scores is not None
    assert [top[0][0] for top in reply.top_scores] == list(reply.token_ids)
    assert all(logprob <= 0 for logprob in reply.logprobs)
    assert len(reply.logprobs) == len(reply.token_ids)


def test_a_transcript_is_read_again_in_one_pass_to_the_same_reply(beside: JudgeProcess) -> None:
    reply = _reasoner(beside).complete(_request())
    assert _same(_reasoner(beside).score(_request(), reply.token_ids or ()), reply)
    with refused("model.bad_request"):
        _reasoner(beside).score(_request(), (reply.token_ids or ())[:-1])


def test_many_callers_at_once_each_get_their_own_answer(beside: JudgeProcess) -> None:
    requests = [_request(30 + number) for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(_reasoner(beside).complete, requests))
    alone = [_here().complete(request) for request in requests]
    assert all(_same(one, other) for one, other in zip(replies, alone, strict=True))


def test_a_case_too_large_for_it_is_refused_and_the_next_is_answered(beside: JudgeProcess) -> None:
    """It is never cut: a person or a larger model judges."""
    many = docket_of(*(obligation(f"o-{number}", "must_not_exceed", "nox", number) for number in range(65)))
    with pytest.raises(ModelError, match=r"judge\.case_size") as caught:
        _reasoner(beside).complete(build_request(many, record({"nox": 1}), {}, seed=0))
    assert caught.value.code == "model.bad_request"
    with pytest.raises(ModelError, match=r"judge\.case:"):
        _reasoner(beside).complete(replace(_request(), prompt="hello"))
    with pytest.raises(ModelError, match=r"judge\.grammar"):
        _reasoner(beside).complete(replace(_request(), grammar=Raw(b"{}")))
    assert _reasoner(beside).complete(_request()).is_complete


def test_one_bad_question_of_a_batch_spoils_no_other(beside: JudgeProcess) -> None:
    requests = [replace(_request(), prompt="hello") if number % 3 == 0 else _request() for number in range(9)]

    def told(request: ReasonRequest) -> str:
        try:
            return _reasoner(beside).complete(request).text
        except ModelError as error:
            return error.code

    with ThreadPoolExecutor(9) as pool:
        texts = list(pool.map(told, requests))
    good = _here().complete(_request()).text
    assert texts == ["model.bad_request" if number % 3 == 0 else good for number in range(9)]


def test_several_questions_at_once_are_answered_each_as_alone(beside: JudgeProcess) -> None:
    """More than fit into one batch, and one of them bad."""
    requests = [_request(30 + number) for number in range(20)]
    requests[7] = replace(requests[7], prompt="hello")
    for reasoner in (_reasoner(beside), _here()):
        assert isinstance(reasoner, BatchReasoner)
        replies = reasoner.complete_many(requests)
        for number, (request, reply) in enumerate(zip(requests, replies, strict=True)):
            if number == 7:
                assert isinstance(reply, ModelError)
            else:
                assert isinstance(reply, RawReply)
                assert _same(reply, _here().complete(request))
        assert reasoner.complete_many([]) == []


def test_an_answer_longer_than_was_allowed_counts_as_cut_off(beside: JudgeProcess) -> None:
    asked = _request()
    short = replace(asked, decoding=replace(asked.decoding, max_tokens=3))
    read = interpret_reply(_reasoner(beside).complete(short), _DOCKET)
    assert read.error is not None
    assert read.error.startswith("reply.unfinished")


def _copied(folder: Path) -> JudgeWeights:
    shipped = shipped_weights().file
    for suffix in (".bin", ".json"):
        shutil.copy(shipped.with_suffix(suffix), folder)
    return weights_by_card(folder / shipped.name)


@pytest.mark.clause("ski", "9.3")
@pytest.mark.parametrize("bench", [JudgeProcess, JudgeHere])
def test_a_substituted_weight_file_is_refused(tmp_path: Path, bench: type[JudgeProcess | JudgeHere]) -> None:
    weights = _copied(tmp_path)
    content = bytearray(weights.file.read_bytes())
    content[-1] ^= 1
    weights.file.write_bytes(content)
    reasoner = _reasoner(bench(weights))
    with refused("model.weights"):
        reasoner.identify()
    with refused("model.weights"):
        reasoner.complete(_request())
    weights.file.unlink()
    with refused("model.weights"):
        reasoner.complete(_request())
    reasoner.close()


def test_weights_of_another_kind_are_refused_also_under_their_own_hash(tmp_path: Path) -> None:
    file = tmp_path / "other.bin"
    file.write_bytes(b"ASSAYJ1\nno weights")
    for bench in (JudgeProcess, JudgeHere):
        reasoner = _reasoner(bench(JudgeWeights(file=file, expected=digest_of(file.read_bytes()))))
        with refused("model.weights"):
            reasoner.complete(_request())
        reasoner.close()
    with refused("model.weights"):
        weights_by_card(file)
    file.with_suffix(".json").write_text("{}")
    with refused("model.weights"):
        weights_by_card(file)


def _child(bench: JudgeProcess) -> int:
    assert bench._child is not None
    return bench._child.pid


@pytest.mark.clause("ski", "9.3")
def test_a_child_that_died_is_started_anew_and_from_the_same_weights_only(tmp_path: Path) -> None:
    weights = _copied(tmp_path)
    bench = JudgeProcess(weights)
    reasoner = _reasoner(bench)
    text = reasoner.complete(_request()).text
    first = _child(bench)
    os.kill(first, signal.SIGKILL)
    assert _eventually(reasoner).text == text
    assert _child(bench) != first
    os.kill(_child(bench), signal.SIGKILL)
    weights.file.write_bytes(b"other")
    with refused("model.weights"):
        _eventually(reasoner)
    bench.close()


def _eventually(reasoner: JudgeReasoner) -> RawReply:
    """A question that was on its way when the child died is not answered; the next one is."""
    try:
        return reasoner.complete(_request())
    except ModelUnavailableError:
        return reasoner.complete(_request())


def test_a_child_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here it finds nothing to import."""
    monkeypatch.setattr(sys, "path", [])
    bench = JudgeProcess(shipped_weights())
    with pytest.raises(ModelUnavailableError, match="No module named 'assay'"):
        _reasoner(bench).complete(_request())
    bench.close()


def test_a_child_that_hangs_is_a_time_out_and_is_replaced() -> None:
    bench = JudgeProcess(shipped_weights(), JudgeBounds(timeout_seconds=20))
    reasoner = _reasoner(bench)
    reasoner.complete(_request())
    bench._bounds = JudgeBounds(timeout_seconds=0.05)
    hung = _child(bench)
    os.kill(hung, signal.SIGSTOP)
    with refused("model.timeout"):
        reasoner.complete(_request())
    bench._bounds = JudgeBounds(timeout_seconds=20)
    assert reasoner.complete(_request()).is_complete
    assert _child(bench) != hung
    bench.close()


def test_more_callers_than_may_wait_are_told_so_and_close_lets_all_go() -> None:
    bench = JudgeProcess(shipped_weights(), JudgeBounds(queue=2, batch=1))
    reasoner = _reasoner(bench)
    reasoner.complete(_request())
    os.kill(_child(bench), signal.SIGSTOP)
    codes: list[str] = []

    def ask() -> None:
        try:
            reasoner.complete(_request())
        except ModelError as error:
            codes.append(error.code)

    callers = [threading.Thread(target=ask) for _ in range(2)]
    for caller in callers:
        caller.start()
    until(lambda: bench._present == 2)
    with refused("model.busy"):
        reasoner.complete(_request())
    bench.close()
    for caller in callers:
        caller.join(10)
    assert codes == ["model.unavailable"] * 2
    with refused("model.unavailable"):
        reasoner.complete(_request())


@pytest.mark.clause("ski", "6.3")
def test_the_child_can_open_no_socket_start_no_program_and_write_no_file(tmp_path: Path) -> None:
    """Asked from inside it, with the hook that it installs."""
    code = f"""
import socket, subprocess, sys
from assay.adapters.reasoning.judge_child import _refuse
sys.addaudithook(_refuse)
for attempt in (socket.socket, lambda: subprocess.Popen(["true"]), lambda: open({str(tmp_path / "x")!r}, "w")):
    try:
        attempt()
    except PermissionError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert [line.split(": ")[1] for line in done.stdout.splitlines()] == ["socket.__new__", "subprocess.Popen", "open"]


def test_the_child_ends_with_its_parent() -> None:
    code = """
import os
from tests.adapters.test_judge import JudgeProcess, _child, _reasoner, _request, shipped_weights
bench = JudgeProcess(shipped_weights())
_reasoner(bench).complete(_request())
print(_child(bench), flush=True)
os._exit(0)
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, cwd=root)
    until(lambda: _is_gone(int(done.stdout)))


def _is_gone(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
