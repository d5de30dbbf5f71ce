"""PHALA: what came of an answer reaches the rules that caused it, once, and durably (PRAMANA 7.4).

sender -> signals -> known? -> may this sender? -> `report_posts`, for all who report at the same time together
"""

from collections.abc import Sequence
from typing import NamedTuple

from assay.delivery.outcome import parse_outcome
from assay.flows.delivery.count_outcome import Reported
from assay.flows.delivery.judge_success import judge_success, may_be_judged
from assay.flows.delivery.ready_signal import make_ready
from assay.flows.delivery.report_posts import Post, report_posts
from assay.flows.delivery.sender_shelf import Sender
from assay.flows.identity.authenticate import authenticate_in
from assay.flows.tools import Tools
from assay.kernel.errors import Error
from assay.kernel.instant import Instant

__all__ = ["Told", "report_each", "report_in_turn", "report_outcome", "report_outcomes"]


class Told(NamedTuple):
    """A signal as it came, when, and by which credential."""

    content: bytes
    credential: str
    at: Instant
    idempotency_key: str | None = None


def report_outcome(
    tools: Tools, content: bytes, *, credential: str, idempotency_key: str | None = None, at: Instant
) -> Reported:
    """One signal; refused whole without a credential, malformed, or for a rule not granted or not known."""
    [done] = report_outcomes(tools, [(content, idempotency_key)], credential=credential, at=at)
    return done


def report_outcomes(
    tools: Tools, contents: Sequence[tuple[bytes, str | None]], *, credential: str, at: Instant
) -> tuple[Reported, ...]:
    """Many of one sender, each with its idempotency key, in one commit: all of them count, or none."""
    post = _judge(tools, _read_post(tools, contents, credential=credential, at=at))
    return tools.delivery.reports.write(tools.database, post, report_posts, weight=len(post.signals))


def report_each(tools: Tools, told: Sequence[Told]) -> list[Reported | Error | None]:
    """Signals that came at the same time, of whomever: each is counted or refused by itself, all in one commit.

    None for one whose answer may be worked out again: that may take its time, so it is reported by itself.
    """
    posts = [_read_told(tools, one) for one in told]
    is_quick = [isinstance(post, Error) or not _has_success(post) for post in posts]
    done = iter(_write(tools, [post for post, quick in zip(posts, is_quick, strict=True) if quick]))
    return [next(done) if quick else None for quick in is_quick]


def report_in_turn(tools: Tools, told: Sequence[Told]) -> list[Reported | Error]:
    """The same of one who waits for all of them: they count in their order, and none is left out."""
    return _write(tools, [_read_judged(tools, one) for one in told])


def _write(tools: Tools, posts: Sequence[Post | Error]) -> list[Reported | Error]:
    good = [post for post in posts if isinstance(post, Post)]
    if not good:
        return [post for post in posts if isinstance(post, Error)]
    done = iter(tools.delivery.reports.write_all(tools.database, good, report_posts, weight=len(good)))
    return [post if isinstance(post, Error) else _only(next(done)) for post in posts]


def _read_told(tools: Tools, told: Told) -> Post | Error:
    try:
        return _read_post(tools, [(told.content, told.idempotency_key)], credential=told.credential, at=told.at)
    except Error as refusal:
        return refusal


def _read_judged(tools: Tools, told: Told) -> Post | Error:
    post = _read_told(tools, told)
    try:
        return post if isinstance(post, Error) else _judge(tools, post)
    except Error as refusal:
        return refusal


def _only(done: tuple[Reported, ...] | Error) -> Reported | Error:
    return done if isinstance(done, Error) else done[0]


def _read_post(tools: Tools, contents: Sequence[tuple[bytes, str | None]], *, credential: str, at: Instant) -> Post:
    """Who sends is a hint here; that the sender is who they say is found out in the commit."""

    def look() -> Sender:
        return _sender_of(tools, credential, at)

    sender = tools.delivery.senders.get(credential, look)
    read = [parse_outcome(content, sender=sender[1], at=at, idempotency_key=key) for content, key in contents]
    signals = [make_ready(signal, service=tools.delivery.service) for signal in read]
    return Post(tools=tools, credential=credential, sender=sender, signals=signals, at=at)


def _judge(tools: Tools, post: Post) -> Post:
    """The post with what is found about each success of an answer of ours; replays run here, outside any commit."""
    if not _has_success(post):
        return post
    # Answering again is work that nobody gets for a credential that was only named.
    tenant_id, _ = _sender_of(tools, post.credential, post.at)
    judged = {one.signal.signal_id: judge_success(tools, tenant_id, one.signal) for one in post.signals}
    return post._replace(judged=judged)


def _has_success(post: Post) -> bool:
    """Whether a signal tells of a success, as it seems, of an answer of ours."""
    return any(may_be_judged(ready.signal) for ready in post.signals)


def _sender_of(tools: Tools, credential: str, at: Instant) -> Sender:
    found = tools.database.read(lambda unit: authenticate_in(unit, credential, at=at)).principal
    return found.tenant_id, found.id
