"""Claims: who guards them, and who says that two answers mean the same."""

from enum import StrEnum

from msgspec import Struct

from assay.identity.problem import Problem, when


class JudgeName(StrEnum):
    """Who says that two sampled answers mean the same: rules, or behind them an encoder, a model or an address."""

    RULES = "rules"
    MEANING = "meaning"
    MODEL = "model"
    ENDPOINT = "endpoint"


class ClaimsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Claims. `guardian_url` is an operator's own guardian, asked beside the built-in one; when it is silent, bundles
    are deferred. `judge_url` is that of the judge `endpoint`, `encoder` the folder of the judge `meaning`, with a
    `model.onnx` and a `tokenizer.json`. Addresses are on this machine or in `models.deployment_local`; each is given
    `endpoint_seconds` to answer. `answers_per_day` is how many answers of the general model a tenant may draw for
    estimates of uncertainty; without it there is no limit.
    """

    guardian_url: str | None = None
    judge: JudgeName = JudgeName.RULES
    judge_url: str | None = None
    encoder: str | None = None
    endpoint_seconds: int = 10
    answers_per_day: int | None = None


def claims_problems(claims: ClaimsConfig, *, has_model: bool) -> tuple[Problem, ...]:
    problems = when(
        claims.judge is JudgeName.MODEL and not has_model,
        "claims.judge",
        "expected a model under `[models.general]`",
    )
    problems += when(
        (claims.judge is JudgeName.ENDPOINT) is not (claims.judge_url is not None),
        "claims.judge_url",
        "expected an address with the judge `endpoint`, and with no other",
    )
    problems += when(
        (claims.judge is JudgeName.MEANING) is not (claims.encoder is not None),
        "claims.encoder",
        "expected a folder with the judge `meaning`, and with no other",
    )
    problems += when(
        claims.answers_per_day is not None and claims.answers_per_day < 0,
        "claims.answers_per_day",
        f"expected 0 or more, got {claims.answers_per_day}",
    )
    seconds = claims.endpoint_seconds
    return problems + when(seconds < 1, "claims.endpoint_seconds", f"expected 1 or more, got {seconds}")
