"""Endpoints of the operator's own, inside the perimeter: a judge of entailment, and a guardian.

POST {"question", "premise", "hypothesis"} -> {"entailment": 0 to 1}
POST {"bundle", "evidence", "tool_arguments", "session"} -> {"score": 0 to 1, "signs": ["…"]}
Neither an odd answer nor silence is ever read as a yes.
"""

from collections.abc import Collection, Mapping
from math import isfinite

import msgspec

from assay.adapters.inference.address import parse_address
from assay.adapters.inference.backend import Patience
from assay.adapters.inference.exchange import SMALL_REPLY, Exchange
from assay.claims.errors import ClaimsError
from assay.claims.guardian import Suspect, ThreatReport, ThreatSign
from assay.kernel.errors import JsonError
from assay.kernel.json_text import JsonValue, parse_json
from assay.ports.model import ModelError

_SECONDS = 10.0
_MOST_SIGNS = 50
_SHOWN = 200


class EndpointJudge:
    """Implements `EquivalenceJudge`: what follows with at least `threshold` follows."""

    is_symmetric = False

    def __init__(
        self,
        url: str,
        *,
        deployment_local: Collection[str] = (),
        threshold: float = 0.5,
        seconds: float = _SECONDS,
        token: str | None = None,
    ) -> None:
        self._ask = _Endpoint(url, deployment_local, seconds, token)
        self._threshold = threshold
        self.name = f"endpoint {url}, entailment at least {threshold:g}"

    def entails(self, question: str, premise: str, hypothesis: str) -> bool:
        asked = {"question": question, "premise": premise, "hypothesis": hypothesis}
        try:
            share = _share(self._ask(asked), "entailment")
        except ModelError as error:
            raise ClaimsError.judge_unavailable(
                f"expected an answer of the judge, got {error.code}: {error}"
            ) from error
        if share is None:
            raise ClaimsError.judge_unavailable("expected `entailment` of 0 to 1 from the judge, got something else")
        return share >= self._threshold


class EndpointGuardian:
    """Implements `Guardian`; it stands beside the built-in one, and the higher score counts."""

    def __init__(
        self,
        url: str,
        *,
        deployment_local: Collection[str] = (),
        seconds: float = _SECONDS,
        token: str | None = None,
    ) -> None:
        self._ask = _Endpoint(url, deployment_local, seconds, token)
        self.name = f"endpoint {url}"

    def examine(self, suspect: Suspect) -> ThreatReport:
        asked = {
            "bundle": msgspec.to_builtins(suspect.bundle),
            "evidence": dict(suspect.evidence),
            "tool_arguments": suspect.tool_arguments,
            "session": suspect.session,
        }
        try:
            answer = self._ask(asked)
        except ModelError as error:
            raise ClaimsError.guardian_unavailable(
                f"expected an answer of the guardian, got {error.code}: {error}"
            ) from error
        score = _share(answer, "score")
        if score is None:
            raise ClaimsError.guardian_unavailable("expected `score` of 0 to 1 from the guardian, got something else")
        return ThreatReport(score=score, signs=_signs(answer, score), guardian=self.name)


class _Endpoint:
    """One exchange; an address outside the perimeter is refused when it is named, not when it is asked."""

    def __init__(self, url: str, deployment_local: Collection[str], seconds: float, token: str | None) -> None:
        self._exchange = Exchange(parse_address(url, deployment_local=deployment_local), token=token)
        self._seconds = seconds

    def __call__(self, asked: Mapping[str, object]) -> JsonValue:
        content = self._exchange.post("", asked, Patience(seconds=self._seconds), most_bytes=SMALL_REPLY)
        try:
            return parse_json(content)
        except JsonError:
            return None


def _share(answer: JsonValue, name: str) -> float | None:
    value = answer.get(name) if isinstance(answer, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return float(value) if 0.0 <= value <= 1.0 else None


def _signs(answer: JsonValue, score: float) -> tuple[ThreatSign, ...]:
    """What it names, by its beginning; only the score decides."""
    named = answer.get("signs") if isinstance(answer, dict) else None
    told = [one for one in named if isinstance(one, str)] if isinstance(named, list) else []
    return tuple(
        ThreatSign(kind="endpoint", score=score, where="endpoint", excerpt=one[:_SHOWN]) for one in told[:_MOST_SIGNS]
    )
