"""Claims from Python: `assay.gate` on a bundle, and `@assay.claimed` on a function that makes one.

import assay

assay.gate(bundle)                                  pure: the specification's policy, nothing recorded
assay.gate(bundle, node="node", credential=key)     on a node: durable before it returns

@assay.claimed(origin_agent="ai:planner", node="node", credential=key)
def depth(river: str) -> assay.Claimed: ...         returns on PUBLISH, raises `HeldBackError` otherwise
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, overload
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from assay.adapters.clock import OsEntropy, SystemClock
from assay.claims.bundle import (
    Claim,
    ClaimBundle,
    ClaimType,
    Decision,
    EvidencePointer,
    Uncertainty,
    UncertaintyMethod,
    render_bundle,
)
from assay.claims.decide import Outcome, gate_document
from assay.claims.errors import ClaimsError
from assay.claims.estimate.estimate import Estimate
from assay.claims.gate import GateFacts, standard_gates
from assay.claims.guardian import BuiltInGuardian
from assay.claims.parse_bundle import Reading, check_bundle
from assay.claims.parse_policy import parse_policy
from assay.claims.policy import DEFAULT_POLICY, ClaimsPolicy
from assay.flows.claims.decide_claims import GatedClaims
from assay.flows.claims.gate_claims import GateBundle
from assay.flows.claims.gate_claims import gate_document as gate_on_node
from assay.flows.identity.authenticate import authenticate
from assay.flows.tools import Tools
from assay.identity.risk import RiskTier
from assay.kernel.errors import Blame, Error
from assay.kernel.trace import TRACE_BYTES, new_trace

P = ParamSpec("P")
T = TypeVar("T")
Document = bytes | str | dict[str, Any] | ClaimBundle
_UNKNOWN = Uncertainty(
    method=UncertaintyMethod.CONFIDENCE_SCORE, value=1.0, interpretation="nobody said how sure this is"
)
_UUID_BYTES = 16


class HeldBackError(ClaimsError):
    """A function's answer may not be acted on now; `gated` says why, and what people are asked.

    Where it is PUBLISH, its caveats are what nobody took.
    """

    code = "claims.held_back"
    blame = Blame.ANSWER

    def __init__(self, gated: Outcome | GatedClaims, bundle: ClaimBundle, tool_arguments: tuple[str, ...] = ()) -> None:
        outcome = gated.outcome if isinstance(gated, GatedClaims) else gated
        super().__init__(f"{outcome.decision}: {outcome.reason}")
        self.gated = gated
        self.bundle = bundle
        self.tool_arguments = tool_arguments
        self.decision = outcome.decision


class NoCredentialError(ClaimsError):
    """A node gates nobody's bundle: it wants the agent's API key."""

    code = "claims.no_credential"
    blame = Blame.USAGE


class Claimed(Struct, Generic[T], frozen=True, kw_only=True):
    """What a function answers, and what it claims by that; whatever is left out is the stricter choice.

    Without an `uncertainty` it is taken as not sure at all, and is deferred. With a `question` the node's own general
    model is asked how uncertain it is about that: its estimate is the uncertainty where none is given, and the stricter
    of the two counts where one is. Without a node, or without such a model, it stays as uncertain as it was.
    """

    value: T
    statement: str
    evidence: tuple[EvidencePointer, ...] = ()
    uncertainty: Uncertainty = _UNKNOWN
    tool_arguments: tuple[str, ...] = ()
    question: str | None = None


@overload
def gate(
    bundle: Document,
    *,
    policy: ClaimsPolicy | str | None = ...,
    risk_ceiling: RiskTier | str = ...,
    contents: Mapping[str, bytes] = ...,
    tool_arguments: Sequence[str] = ...,
) -> Outcome: ...


@overload
def gate(
    bundle: Document,
    *,
    node: Tools | Path | str,
    credential: str | None,
    contents: Mapping[str, bytes] = ...,
    tool_arguments: Sequence[str] = ...,
    thread: str | None = ...,
    questions: Mapping[str, str] | None = ...,
) -> GatedClaims: ...


def gate(
    bundle: Document,
    *,
    node: Tools | Path | str | None = None,
    credential: str | None = None,
    policy: ClaimsPolicy | str | None = None,
    risk_ceiling: RiskTier | str = RiskTier.READ_ONLY,
    contents: Mapping[str, bytes] | None = None,
    tool_arguments: Sequence[str] = (),
    thread: str | None = None,
    questions: Mapping[str, str] | None = None,
) -> Outcome | GatedClaims:
    """What the gates decide about a bundle.

    With a `node` (an open one, or its folder) by its policy, for the agent of the `credential`, and on record before
    this returns. Without one it is a pure function: `policy` is one, or its YAML, and MODIFY and above do not pass,
    since nothing is recorded and nobody can approve. What is no bundle is REFUSE there, and an error on a node.
    """
    given = render_bundle(bundle) if isinstance(bundle, ClaimBundle) else bundle
    if node is None:
        return _gate_here(given, policy, RiskTier(risk_ceiling), contents or {}, tuple(tool_arguments))
    if credential is None:
        raise NoCredentialError("expected `credential`, the API key of the bundle's agent, got none")
    with _opened(node) as tools:
        # What comes with a bundle; the bundle itself is read from the document as it is, so that a refusal names it.
        submitted = GateBundle(
            bundle={},
            contents=dict(contents or {}),
            tool_arguments=tuple(tool_arguments),
            thread=thread,
            questions=dict(questions or {}),
        )
        return _gate_there(tools, credential, given, submitted)


def claimed(
    *,
    origin_agent: str,
    risk_tier: RiskTier | str = RiskTier.READ_ONLY,
    claim_type: ClaimType | str = ClaimType.INFERENCE,
    if_wrong_cost: str = "",
    node: Tools | Path | str | None = None,
    credential: str | None = None,
    policy: ClaimsPolicy | str | None = None,
    risk_ceiling: RiskTier | str = RiskTier.READ_ONLY,
    thread: str | None = None,
    on_caveats: Callable[[tuple[str, ...]], None] | None = None,
) -> Callable[[Callable[P, Claimed[T]]], Callable[P, T]]:
    """A function that returns a `Claimed` then returns its value on PUBLISH, and raises `HeldBackError` otherwise.

    A caveat belongs beside the value: `on_caveats` gets them before the value is returned, and where there is no one
    to take them, a value with caveats is held back.

    The error carries the bundle and its arguments: gate them again once people have approved it. The function must not
    act by itself; whoever gets the value may.
    """

    def wrap(function: Callable[P, Claimed[T]]) -> Callable[P, T]:
        @functools.wraps(function)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
            answer = function(*args, **kwargs)
            with _asking(node, credential, answer) as (place, answer):
                return settle(answer, place)

        def settle(answer: Claimed[T], node: Tools | Path | str | None) -> T:
            bundle = _bundle_of(answer, function.__name__, origin_agent, RiskTier(risk_tier), ClaimType(claim_type))
            costly = replace(bundle, claims=tuple(replace(one, if_wrong_cost=if_wrong_cost) for one in bundle.claims))
            done: Outcome | GatedClaims
            if node is None:
                done = gate(costly, policy=policy, risk_ceiling=risk_ceiling, tool_arguments=answer.tool_arguments)
            else:
                done = gate(
                    costly,
                    node=node,
                    credential=credential,
                    tool_arguments=answer.tool_arguments,
                    thread=thread,
                    questions=None if answer.question is None else {function.__name__: answer.question},
                )
            caveats = (done.outcome if isinstance(done, GatedClaims) else done).caveats
            if done.decision is not Decision.PUBLISH or (caveats and on_caveats is None):
                raise HeldBackError(done, costly, answer.tool_arguments)
            if caveats and on_caveats is not None:
                on_caveats(caveats)
            return answer.value

        return wrapped

    return wrap


@contextmanager
def _asking(
    node: Tools | Path | str | None, credential: str | None, answer: Claimed[T]
) -> Iterator[tuple[Tools | Path | str | None, Claimed[T]]]:
    """Where a question comes with an answer, the open node, and the answer with the uncertainty of the node's model.

    A model that cannot answer leaves it as it was: then the gate is asked the same, and defers.
    """
    if node is None or credential is None or answer.question is None:
        yield node, answer
        return
    with _opened(node) as tools:
        if tools.estimator is not None and answer.uncertainty is _UNKNOWN:
            caller = authenticate(tools, credential, at=tools.clock.now())
            with suppress(Error):
                found = tools.estimator(caller.tenant_id, answer.question, at=caller.at)
                answer = replace(answer, uncertainty=_stated(found))
        yield tools, answer


def _stated(found: Estimate) -> Uncertainty:
    return Uncertainty(
        method=found.method,
        value=found.value,
        interpretation=found.interpretation,
        gate_recommendation=found.recommendation,
    )


def _gate_there(
    tools: Tools, credential: str, given: bytes | str | dict[str, Any], submitted: GateBundle
) -> GatedClaims:
    """As the operation `claims.gate` for the agent of the credential, under a trace of its own."""
    from assay.operations.dispatch import Dispatcher
    from assay.operations.table import BY_NAME

    operation, dispatch = BY_NAME["claims.gate"], Dispatcher(tools=tools)
    caller = replace(
        authenticate(tools, credential, at=tools.clock.now()), trace=new_trace(tools.entropy.token(TRACE_BYTES))
    )
    permitted = dispatch.permit(operation, caller)
    return gate_on_node(dispatch.tools_for(operation, permitted), permitted, given, submitted)


def _gate_here(
    given: bytes | str | dict[str, Any],
    policy: ClaimsPolicy | str | None,
    risk_ceiling: RiskTier,
    contents: Mapping[str, bytes],
    tool_arguments: tuple[str, ...],
) -> Outcome:
    law = parse_policy(policy) if isinstance(policy, str) else policy or DEFAULT_POLICY
    finding = check_bundle(given, reading=Reading.LEGACY)
    submitter = "" if finding.bundle is None else finding.bundle.origin_agent
    facts = GateFacts(
        now=SystemClock().now(),
        submitter=submitter,
        risk_ceiling=risk_ceiling,
        contents=contents,
        tool_arguments=tool_arguments,
    )
    return gate_document(finding, standard_gates((BuiltInGuardian(),)), facts, law)


@contextmanager
def _opened(node: Tools | Path | str) -> Iterator[Tools]:
    """An open node as it is; a folder is opened for this one call, and takes the writer's place meanwhile.

    Its model is opened too, where it has one: a policy may require that it is asked.
    """
    if isinstance(node, Tools):
        yield node
        return
    from assay.wiring import open_models, open_node, plug_model

    with ExitStack() as stack:
        tools, config = stack.enter_context(open_node(Path(node)))
        is_asked = config.models.general is not None
        model = stack.enter_context(open_models(Path(node), config)).general if is_asked else None
        yield plug_model(tools, config, model)


def _bundle_of(
    answer: Claimed[Any], name: str, origin_agent: str, risk_tier: RiskTier, claim_type: ClaimType
) -> ClaimBundle:
    claim = Claim(
        id=name,
        statement=answer.statement,
        claim_type=claim_type,
        evidence_pointers=answer.evidence,
        uncertainty=answer.uncertainty,
        risk_tier=risk_tier,
    )
    made = UUID(bytes=OsEntropy().token(_UUID_BYTES), version=4)
    return ClaimBundle(id=str(made), timestamp=SystemClock().now(), origin_agent=origin_agent, claims=(claim,))
