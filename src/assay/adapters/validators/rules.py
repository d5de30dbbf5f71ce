"""The engine `rules`: checks that need no model, each a pure function of the question.

question -> each check of the contract's rung -> the lowest share is the score
"""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from assay.adapters.validators.check_evidence import (
    check_duplicate_hash,
    check_evidence_present,
    check_evidence_quality,
)
from assay.adapters.validators.check_payload import check_depth_plausible, check_orbit_plausible, check_report_complete
from assay.adapters.validators.check_place import check_place_plausible
from assay.adapters.validators.check_time import check_time_plausible
from assay.adapters.validators.finding import Check, Limits
from assay.kernel.canonical import canonical_hash
from assay.ports.validator import Judgement, Question, ValidatorError

CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "depth_plausible": check_depth_plausible,
        "duplicate_hash": check_duplicate_hash,
        "evidence_present": check_evidence_present,
        "evidence_quality": check_evidence_quality,
        "orbit_plausible": check_orbit_plausible,
        "place_plausible": check_place_plausible,
        "report_complete": check_report_complete,
        "time_plausible": check_time_plausible,
    }
)
_VERSION = "1.0.0"


class RuleValidator:
    """Implements `ports.validator.Validator`. The weakest check decides: being on time makes no copy a new photo."""

    name = "rules"
    version = _VERSION

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        # Other limits are other rules, so that the version tells them apart.
        changed = self._limits != Limits()
        mark = canonical_hash(msgspec.to_builtins(self._limits))[:12]
        self._engine_version = f"{_VERSION}+limits.{mark}" if changed else _VERSION

    def validate(self, question: Question) -> Judgement:
        stage = question.stage
        unknown = [name for name in stage.checks if name not in CHECKS]
        if unknown:
            raise ValidatorError.unknown_check(f"expected checks of `{', '.join(CHECKS)}`, got `{', '.join(unknown)}`")
        findings = [(name, CHECKS[name](question, self._limits)) for name in stage.checks]
        return Judgement(
            score=min(finding.share for _, finding in findings),
            failed_checks=tuple(name for name, finding in findings if finding.share < stage.pass_threshold),
            engine_version=self._engine_version,
            note="; ".join(f"{name}: {finding.reason}" for name, finding in findings)[:2000],
        )
