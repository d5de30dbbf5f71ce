"""A reasoner that replays recorded replies: for tests, demonstrations and replays without a model.

It is no model. Its weight hash is that of its script, so a verdict of it can never pass for one of real weights, and
strict mode takes it only where the operator tagged it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from assay.kernel.canonical import canonical_digest
from assay.kernel.digest import Digest
from assay.ports.clock import Clock
from assay.ports.model import ModelError, ModelUnavailableError
from assay.ports.reasoner import ReasonerIdentity
from assay.verdicts.reason import RawReply, ReasonRequest
from assay.verdicts.sovereignty import Place, PlaceKind


class ScriptedReasoner:
    """Implements `ports.reasoner.LocalReasoner` by a function of the request, which may raise a `ModelError`."""

    def __init__(self, script: Callable[[ReasonRequest], str], clock: Clock, *, weight_hash: Digest) -> None:
        self._script = script
        self._clock = clock
        self._weight_hash = weight_hash

    def identify(self) -> ReasonerIdentity:
        return ReasonerIdentity(
            backend_name="scripted",
            model_weight_hash=self._weight_hash,
            place=Place(kind=PlaceKind.IN_PROCESS),
            is_exact=True,
        )

    def complete(self, request: ReasonRequest) -> RawReply:
        started_at = self._clock.now()
        text = self._script(request)
        return RawReply(
            text=text,
            backend_name="scripted",
            model_weight_hash=self._weight_hash,
            started_at=started_at,
            completed_at=max(started_at, self._clock.now()),
        )


class RecordedReplies:
    """A script of texts by the hash of the prompt that they answered; another prompt has no answer."""

    def __init__(self, replies: Mapping[Digest, str]) -> None:
        self._replies = dict(replies)
        self.weight_hash = canonical_digest(dict(self._replies))

    def __call__(self, request: ReasonRequest) -> str:
        try:
            return self._replies[request.prompt_hash]
        except KeyError as error:
            raise ModelUnavailableError(f"no reply was recorded for the prompt `{request.prompt_hash}`") from error


def load_replies(path: Path) -> dict[Digest, str]:
    """A JSON object of texts by prompt hash."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[Digest, str])
    except (OSError, msgspec.MsgspecError) as error:
        raise ModelError.replies(f"expected a JSON object of texts by prompt hash in `{path}`: {error}") from error
