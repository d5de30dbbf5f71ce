"""What must fit together across the blocks of a contract, and what is merely odd.

Each rule names the blocks it reads and runs when those could be read, so that one broken block hides no other mistake.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from assay.truth._contract_form import form_problems
from assay.truth._read import Found
from assay.truth.contract import (
    CENTRES,
    ConfidenceModel,
    ConfidenceSource,
    ConsensusModel,
    Contract,
    ContradictionRule,
    CreditReason,
    CriticalCase,
    CriticalLane,
    Derivation,
    DerivationStrategy,
    FlowMode,
    RiskProfile,
    Route,
    StageName,
    Standing,
    StateVerificationPolicy,
    TimeoutAction,
    TruthKeyPolicy,
    ValidationFlow,
)
from assay.truth.duration import parse_duration
from assay.truth.key import DOMAIN_SYSTEMS
from assay.truth.problem import ProblemCode

_Rule = Callable[..., Iterator[Found]]
_NUMBERS = frozenset({"number", "integer"})
_BOOLEANS = frozenset({"boolean"})
_YIELDS = {
    DerivationStrategy.WEIGHTED_MEAN: _NUMBERS,
    DerivationStrategy.MEDIAN: _NUMBERS,
    DerivationStrategy.WEIGHTED_MEDIAN: _NUMBERS,
    DerivationStrategy.TRIMMED_MEAN: _NUMBERS,
    DerivationStrategy.HUBER: _NUMBERS,
    DerivationStrategy.INTERVAL: frozenset({"array"}),
    DerivationStrategy.MIN: _NUMBERS,
    DerivationStrategy.MAX: _NUMBERS,
    DerivationStrategy.COUNT: _NUMBERS,
    DerivationStrategy.ALL_OF: _BOOLEANS,
    DerivationStrategy.ANY_OF: _BOOLEANS,
    DerivationStrategy.BOOLEAN_MAJORITY: _BOOLEANS,
}


def cross_problems(
    values: Mapping[str, Any], schema: Mapping[str, object] | None, domain_systems: Mapping[str, str]
) -> Iterator[Found]:
    known = {**values, "schema": schema, "domain_systems": domain_systems}
    for needs, rule in _RULES:
        arguments = [known.get(name) for name in needs]
        if all(argument is not None for argument in arguments):
            yield from rule(*arguments)


def _id_agrees(id_: str, version: str) -> Iterator[Found]:
    major = id_.rpartition(".v")[2]
    if version.partition(".")[0] != major:
        yield Found(
            ("version",), ProblemCode.AGREEMENT, f"expected major version {major} as in the id, got `{version}`"
        )


def _domain_agrees(id_: str, domain: str) -> Iterator[Found]:
    namespace = id_.split(".", maxsplit=1)[0]
    if domain != namespace:
        yield Found(("domain",), ProblemCode.AGREEMENT, f"expected `{namespace}` as in the id, got `{domain}`")


def _topic_agrees(id_: str, topic: str) -> Iterator[Found]:
    name = id_.split(".")[1]
    if topic != name:
        yield Found(("topic",), ProblemCode.AGREEMENT, f"expected `{name}` as in the id, got `{topic}`")


def _system_fits(domain: str, truthkey: TruthKeyPolicy, added: Mapping[str, str]) -> Iterator[Found]:
    """Kaori 5.4: the four domains have their systems; another must be one that the deployment added."""
    system = DOMAIN_SYSTEMS.get(domain) or added.get(domain)
    path = ("truthkey", "spatial_system")
    if system is None:
        known = ", ".join(sorted({*DOMAIN_SYSTEMS, *added}))
        yield Found(("domain",), ProblemCode.CHOICE, f"expected a domain of {known}, got `{domain}`")
    elif truthkey.spatial_system != system:
        message = f"expected `{system}` for the domain `{domain}`, got `{truthkey.spatial_system}`"
        yield Found(path, ProblemCode.AGREEMENT, message)


def _lane_is_defined(risk: RiskProfile, policy: StateVerificationPolicy) -> Iterator[Found]:
    lane = policy.monitor_lane if risk is RiskProfile.MONITOR else policy.critical_lane
    if lane is None:
        path = ("state_verification_policy", f"{risk}_lane")
        yield Found(path, ProblemCode.LANE, f"expected the lane of the risk profile `{risk}`, got nothing")


def _critical_is_strict(risk: RiskProfile, policy: StateVerificationPolicy) -> Iterator[Found]:
    """Kaori 15.2: people decide, and an authority is named."""
    lane = policy.critical_lane
    if risk is RiskProfile.CRITICAL and lane is not None:
        yield from _critical_lane_problems(lane)


def _critical_lane_problems(lane: CriticalLane) -> Iterator[Found]:
    path = ("state_verification_policy", "critical_lane")
    if not lane.require_human_consensus:
        message = "expected true in a critical contract, got false"
        yield Found((*path, "require_human_consensus"), ProblemCode.LANE, message)
    escalation = lane.authority_escalation
    if escalation is None or Standing.AUTHORITY not in escalation.roles:
        message = "expected an escalation to the role `authority` in a critical contract, got none"
        yield Found((*path, "authority_escalation"), ProblemCode.ESCALATION, message)


def _cases_have_a_lane(
    cases: Sequence[CriticalCase], policy: StateVerificationPolicy, derivation: Mapping[str, Derivation]
) -> Iterator[Found]:
    """A claim that becomes critical is decided in the critical lane, which is as strict as in a critical contract."""
    for place, case in enumerate(cases):
        for condition in case.all:
            if condition.field not in derivation:
                message = f"expected a field of the claim, got `{condition.field}`"
                yield Found(("critical_when", place), ProblemCode.AGREEMENT, message)
    if not cases:
        return
    if policy.critical_lane is None:
        path = ("state_verification_policy", "critical_lane")
        yield Found(path, ProblemCode.LANE, "expected a critical lane with `critical_when`, got none")
    else:
        yield from _critical_lane_problems(policy.critical_lane)


def _critical_asks_people(risk: RiskProfile, flow: ValidationFlow) -> Iterator[Found]:
    if risk is RiskProfile.CRITICAL and flow.mode is FlowMode.AUTO:
        message = "expected people to validate in a critical contract, got `auto`"
        yield Found(("validation_flow", "mode"), ProblemCode.LANE, message)


def _rules_are_distinct(rules: Sequence[ContradictionRule]) -> Iterator[Found]:
    ids = [rule.id for rule in rules]
    if len(ids) != len(set(ids)):
        message = f"expected each rule once, got `{', '.join(ids)[:80]}`"
        yield Found(("contradiction_rules",), ProblemCode.DUPLICATE, message)


def _posterior_is_stated(consensus: ConsensusModel, confidence: ConfidenceModel) -> Iterator[Found]:
    """A component that measures the posterior needs a contract that states how it is computed."""
    for name, component in confidence.components.items():
        if component.source is ConfidenceSource.POSTERIOR and consensus.posterior is None:
            message = "expected `consensus_model.type: posterior` with the source `posterior`, got another type"
            yield Found(("confidence_model", "components", name, "source"), ProblemCode.AGREEMENT, message)


def _posterior_has_a_field(consensus: ConsensusModel, derivation: Mapping[str, Derivation]) -> Iterator[Found]:
    judged = (*CENTRES, DerivationStrategy.WEIGHTED_MODE, DerivationStrategy.BOOLEAN_MAJORITY)
    if consensus.posterior is None:
        return
    if not any(rule.strategy in judged for rule in derivation.values()):
        message = "expected a field with one right answer (a mode, a majority or a centre), got none"
        yield Found(("claim_derivation",), ProblemCode.DERIVATION, message)
    for name in consensus.posterior.priors:
        if name not in derivation:
            message = f"expected a field of the claim, got `{name}`"
            yield Found(("consensus_model", "posterior", "priors", name), ProblemCode.AGREEMENT, message)


def _derivation_covers(derivation: Mapping[str, Derivation], schema: Mapping[str, Any]) -> Iterator[Found]:
    for name in schema.get("required", ()):
        if name not in derivation:
            message = f"expected a derivation of `{name}`, which the schema requires, got none"
            yield Found(("claim_derivation",), ProblemCode.DERIVATION, message)


def _derivation_fits(derivation: Mapping[str, Derivation], schema: Mapping[str, Any]) -> Iterator[Found]:
    properties = schema.get("properties", {})
    for name, rule in derivation.items():
        path = ("claim_derivation", name)
        if "." in name:
            yield Found(path, ProblemCode.DERIVATION, "expected the name of a member of the claim, got a path")
        elif name not in properties:
            yield Found(path, ProblemCode.DERIVATION, f"expected a property of the schema, got `{name}`")
        elif not _can_hold(properties[name], rule.strategy):
            message = f"expected a strategy that gives what the schema says, got `{rule.strategy}`"
            yield Found((*path, "strategy"), ProblemCode.DERIVATION, message)


def _can_hold(described: object, strategy: DerivationStrategy) -> bool:
    """Only a stated type can contradict; a schema without one is judged when the claim is."""
    stated = described.get("type") if isinstance(described, Mapping) else None
    given = _YIELDS.get(strategy)
    if stated is None or given is None:
        return True
    return bool(given & ({stated} if isinstance(stated, str) else set(stated)))


_RULES: tuple[tuple[tuple[str, ...], _Rule], ...] = (
    (("id", "version"), _id_agrees),
    (("id", "domain"), _domain_agrees),
    (("id", "topic"), _topic_agrees),
    (("domain", "truthkey", "domain_systems"), _system_fits),
    (("risk_profile", "state_verification_policy"), _lane_is_defined),
    (("risk_profile", "state_verification_policy"), _critical_is_strict),
    (("risk_profile", "validation_flow"), _critical_asks_people),
    (("critical_when", "state_verification_policy", "claim_derivation"), _cases_have_a_lane),
    (("contradiction_rules",), _rules_are_distinct),
    (("ui_schema",), form_problems),
    (("consensus_model", "confidence_model"), _posterior_is_stated),
    (("consensus_model", "claim_derivation"), _posterior_has_a_field),
    (("claim_derivation", "schema"), _derivation_covers),
    (("claim_derivation", "schema"), _derivation_fits),
)


def warnings_about(contract: Contract) -> list[Found]:
    """Odd, and allowed: what a reviewer should look at before a release."""
    return [
        *_weights_add_up(contract),
        *_weights_rise(contract),
        *_disputes_end(contract),
        *_decay_is_seen(contract),
        *_people_are_gated(contract),
        *_credits_are_paid(contract),
        *_formats_are_ignored(contract.schema, ("output_schema",)),
        *_machines_see_content(contract),
    ]


def _machines_see_content(contract: Contract) -> Iterator[Found]:
    """A ladder that ends with a form check gives no machine confidence: machines cannot verify what it accepts."""
    routing, lane = contract.ai_validation_routing, contract.state_verification_policy.monitor_lane
    if lane is None or not lane.allow_ai_verification:
        return
    for name in StageName:
        stage = routing.find(name)
        if stage is not None and stage.is_form_check and Route.ACCEPT in stage.routes.targets():
            message = f"the engine `{stage.engine}` checks form alone: what it accepts has no machine confidence"
            yield Found(("ai_validation_routing", name.value, "routes"), ProblemCode.UNUSED, message)
    stages = [stage for stage in map(routing.find, StageName) if stage is not None]
    if all(stage.is_form_check for stage in stages):
        message = "every rung checks form alone, so machines never verify; name an engine that looks at the content"
        yield Found(("state_verification_policy", "monitor_lane", "allow_ai_verification"), ProblemCode.UNUSED, message)


def _weights_add_up(contract: Contract) -> Iterator[Found]:
    components = contract.confidence_model.components.values()
    total = sum((component.weight for component in components), Decimal(0))
    # A posterior is a probability by itself, and what people say is added to it.
    is_probability = any(one.source is ConfidenceSource.POSTERIOR and one.weight == 1 for one in components)
    if total != 1 and not is_probability:
        message = f"weights usually add up to 1, got {total}; confidence is clamped"
        yield Found(("confidence_model", "components"), ProblemCode.WEIGHTS, message)


def _weights_rise(contract: Contract) -> Iterator[Found]:
    weights = [contract.consensus_model.weighted_roles[standing] for standing in Standing]
    if weights != sorted(weights):
        message = f"weights usually rise from bronze to authority, got {', '.join(map(str, weights))}"
        yield Found(("consensus_model", "weighted_roles"), ProblemCode.WEIGHTS, message)


def _disputes_end(contract: Contract) -> Iterator[Found]:
    dispute = contract.dispute_resolution
    if dispute.default_action_on_timeout is TimeoutAction.STAY_OPEN:
        message = "a dispute that stays open may never end"
        yield Found(("dispute_resolution", "default_action_on_timeout"), ProblemCode.UNUSED, message)


def _decay_is_seen(contract: Contract) -> Iterator[Found]:
    decay = contract.temporal_decay
    if parse_duration(decay.half_life) > parse_duration(decay.max_validity):
        message = (
            f"half_life `{decay.half_life}` is longer than max_validity `{decay.max_validity}`, so decay is hardly seen"
        )
        yield Found(("temporal_decay", "half_life"), ProblemCode.UNUSED, message)


def _people_are_gated(contract: Contract) -> Iterator[Found]:
    gating = contract.human_gating
    if contract.risk_profile is RiskProfile.CRITICAL and not (
        gating.always_require_human or RiskProfile.CRITICAL in gating.required_for_risk_profiles
    ):
        message = "the critical lane asks people anyway; human_gating does not say so"
        yield Found(("human_gating", "required_for_risk_profiles"), ProblemCode.AGREEMENT, message)


def _credits_are_paid(contract: Contract) -> Iterator[Found]:
    for name in sorted(contract.credits.keys() - set(CreditReason)):
        message = f"credits are paid for {', '.join(CreditReason)}; nobody earns `{name}`"
        yield Found(("credits", name), ProblemCode.UNUSED, message)


def _formats_are_ignored(schema: object, path: tuple[str, ...]) -> Iterator[Found]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("format"), str):
            yield Found((*path, "format"), ProblemCode.UNUSED, "`format` is an annotation and refuses nothing")
        for name, part in schema.items():
            yield from _formats_are_ignored(part, (*path, name))
