"""Models that generate, and what asks them: validators, the judges of sampled answers, guardians."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import asdict

from assay.claims.guardian import BuiltInGuardian
from assay.config import Config
from assay.config.claims import JudgeName

if TYPE_CHECKING:  # what only a node with machines pays for
    from assay.adapters.inference.bounded import BoundedModel
    from assay.claims.estimate.equivalence import EquivalenceJudge
    from assay.claims.guardian import Guardian
    from assay.flows.claims.estimate import Estimator
    from assay.ports.model import Model
    from assay.ports.validator import Engines

_MODEL_TOKEN_VARIABLE = "ASSAY_MODEL_TOKEN"  # noqa: S105 - the name of a variable, not a secret


class Models(NamedTuple):
    """The general model, if there is one, and the engines that can judge observations."""

    general: "Model | None"
    engines: "Engines"


@contextmanager
def open_models(folder: Path, config: Config, environment: Mapping[str, str] = os.environ) -> Iterator[Models]:
    """Only what the operator named; a server of our own starts with the first question and ends here."""
    from assay.adapters.validators.engines import NamedEngines  # noqa: PLC0415 - only who asks a machine pays for it
    from assay.adapters.validators.model_generalist import ModelGeneralist  # noqa: PLC0415 - the same
    from assay.adapters.validators.rules import RuleValidator  # noqa: PLC0415 - the same

    with ExitStack() as stack:
        general = (
            None if config.models.general is None else stack.enter_context(open_general(folder, config, environment))
        )
        readers = () if general is None else (ModelGeneralist(general, name=name) for name in config.models.engines)
        yield Models(general, NamedEngines((RuleValidator(), *readers)))


def open_guardians(config: Config) -> "tuple[Guardian, ...]":
    """The built-in one always; an operator's own beside it."""
    if config.claims.guardian_url is None:
        return (BuiltInGuardian(),)
    from assay.adapters.judging.endpoint import EndpointGuardian  # noqa: PLC0415 - an HTTP client comes with it

    local, seconds = config.models.deployment_local, float(config.claims.endpoint_seconds)
    return (BuiltInGuardian(), EndpointGuardian(config.claims.guardian_url, deployment_local=local, seconds=seconds))


def open_judge(config: Config, model: "Model | None") -> "EquivalenceJudge":
    """Who compares sampled answers, always behind the rules that veto; the rules themselves unless one is named."""
    from assay.claims.estimate.equivalence import RuleJudge, VetoedJudge  # noqa: PLC0415 - only who estimates pays

    # A configuration that names the model as the judge has one.
    if config.claims.judge is JudgeName.MODEL and model is not None:
        from assay.adapters.judging.model_judge import ModelJudge  # noqa: PLC0415 - the same

        return VetoedJudge(ModelJudge(model))
    if config.claims.encoder is not None:
        from assay.adapters.judging.encoder import OnnxEncoder  # noqa: PLC0415 - the same

        encoder = OnnxEncoder(Path(config.claims.encoder))
        return RuleJudge(encoder, name=encoder.name)
    if config.claims.judge_url is not None:
        from assay.adapters.judging.endpoint import EndpointJudge  # noqa: PLC0415 - the same

        local, seconds = config.models.deployment_local, float(config.claims.endpoint_seconds)
        return VetoedJudge(EndpointJudge(config.claims.judge_url, deployment_local=local, seconds=seconds))
    return RuleJudge()


def open_estimator(config: Config, model: "Model | None") -> "Estimator | None":
    """Return what asks this node's own model how uncertain it is; None where there is no model."""
    from assay.flows.claims.estimate import ModelEstimator  # noqa: PLC0415 - only who estimates pays

    if model is None:
        return None
    name = str(config.models.general)
    return ModelEstimator(model, open_judge(config, model), name=name, answers_per_day=config.claims.answers_per_day)


def open_general(folder: Path, config: Config, environment: Mapping[str, str]) -> "BoundedModel":
    from assay.adapters.inference.choose import ModelChoice, open_model  # noqa: PLC0415 - an HTTP client comes with it

    chosen = {} if config.models.general is None else asdict(config.models.general)
    weights = chosen.get("weights")
    return open_model(
        ModelChoice(
            **chosen | {"weights": None if weights is None else folder / weights},
            deployment_local=config.models.deployment_local,
            token=environment.get(_MODEL_TOKEN_VARIABLE),
        )
    )
