"""How a contract uses machines: the ladder, what they may decide alone, and when people must be asked."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from assay.truth._contract_subject import RiskProfile
from assay.truth._read import Complaint, Size
from assay.truth.forms import Name, Segment, Share
from assay.truth.problem import ProblemCode

# The node's own engine: evidence present, time and place plausible, and the like.
FORM_ENGINE = "rules"


class StageName(StrEnum):
    """The rungs of the ladder, in the order in which they are climbed."""

    BOUNCER = "bouncer"
    GENERALIST = "generalist"
    SPECIALIST = "specialist"


class Route(StrEnum):
    """Where an observation goes next: a later rung, people, or an end."""

    GENERALIST = "generalist"
    SPECIALIST = "specialist"
    HUMAN = "human"
    ACCEPT = "accept"
    REJECT = "reject"


class StageRoutes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"passed": "pass"}):
    """What follows each outcome of a rung; written `pass`, `fail`, `uncertain`."""

    passed: Route
    fail: Route
    uncertain: Route

    def targets(self) -> tuple[Route, Route, Route]:
        return self.passed, self.fail, self.uncertain


class Stage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rung: who judges, what is looked at, and from which scores on it passes or fails.

    At `pass_threshold` and above it passes, at `fail_threshold` and below it fails, between them it is uncertain.
    """

    engine: Segment
    checks: Annotated[tuple[Name, ...], Size(1)]
    pass_threshold: Share
    fail_threshold: Share
    routes: StageRoutes

    @property
    def is_form_check(self) -> bool:
        """Whether the rung only looks at the form of a report, as the node's own rules do, and at no content."""
        return self.engine == FORM_ENGINE

    def complaints(self) -> Iterator[Complaint]:
        if self.fail_threshold >= self.pass_threshold:
            message = f"expected less than pass_threshold {self.pass_threshold}, got {self.fail_threshold}"
            yield Complaint("fail_threshold", ProblemCode.ORDER, message)
        if len(set(self.checks)) < len(self.checks):
            yield Complaint(
                "checks", ProblemCode.DUPLICATE, f"expected each check once, got `{', '.join(self.checks)}`"
            )


class AiValidationRouting(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ladder; a rung that is left out cannot be routed to, and nothing is routed back."""

    bouncer: Stage
    generalist: Stage | None = None
    specialist: Stage | None = None

    def find(self, name: StageName) -> Stage | None:
        stage: Stage | None = getattr(self, name)
        return stage

    def complaints(self) -> Iterator[Complaint]:
        rungs = list(StageName)
        for place, name in enumerate(rungs):
            stage = self.find(name)
            later = {Route(rung) for rung in rungs[place + 1 :] if self.find(rung) is not None}
            allowed = later | {Route.HUMAN, Route.ACCEPT, Route.REJECT}
            for target in sorted(set(stage.routes.targets()) - allowed) if stage is not None else ():
                message = f"expected a route to a later rung that is defined, or an end, got `{target}`"
                yield Complaint(f"{name}.routes", ProblemCode.ROUTE, message)


class Band(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Both ends belong to it."""

    low: Share
    high: Share


class Autovalidation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When machines alone may verify; a confidence inside the band is always uncertain."""

    ai_verified_true_threshold: Share
    ai_verified_false_threshold: Share
    uncertainty_band: Band

    def complaints(self) -> Iterator[Complaint]:
        band = self.uncertainty_band
        rising = (self.ai_verified_false_threshold, band.low, band.high, self.ai_verified_true_threshold)
        if list(rising) != sorted(rising) or rising[0] == rising[-1]:
            shown = ", ".join(str(number) for number in rising)
            message = f"expected false threshold <= low <= high <= true threshold, and not all equal, got {shown}"
            yield Complaint("uncertainty_band", ProblemCode.ORDER, message)


class HumanGating(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """People are asked always, for these risk profiles, or when trust or machine confidence falls below."""

    always_require_human: bool
    required_for_risk_profiles: tuple[RiskProfile, ...]
    min_trust_score: Share
    min_ai_confidence: Share
