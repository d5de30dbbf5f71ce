"""Assay: may I act on this AI output, why, and can anyone prove it later?

intake -> authorise -> reason -> gate -> mark -> record -> deliver -> learn
Importing this package imports nothing heavy; rooms are imported when they are used. What a user needs has its name
here; what is deeper inside may move.
"""

# As `typing` has it, without importing `typing`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from assay.delivery.answerer import Reply
    from assay.delivery.errors import InvalidQuestionError
    from assay.flows.delivery.answerers import Answerers
    from assay.flows.delivery.strands import Strands
    from assay.flows.ledger.check_report import parse_report
    from assay.identity.principal import PrincipalChange
    from assay.identity.risk import RiskTier
    from assay.kernel.bundle import render_bundle
    from assay.kernel.errors import Error
    from assay.kernel.search_proof import render_search
    from assay.node import AsyncNode, Node, open, open_async  # noqa: A004 - `assay.open` is its name
    from assay.permits.seal import verify_permit
    from assay.review.queue import QueueFilter
    from assay.surfaces.agents.langgraph import GuardMiddleware, resume_langgraph
    from assay.surfaces.agents.openai_agents import openai_guardrail, openai_tool, settle_interruptions
    from assay.surfaces.agents.pydantic_ai import deferred_results, guarded_toolset
    from assay.surfaces.attach import attach
    from assay.surfaces.client import AsyncClient, Client, ProblemError
    from assay.surfaces.fleet import AsyncFleet, Fleet
    from assay.surfaces.gating import Claimed, HeldBackError, claimed, gate
    from assay.surfaces.guard import Guard, NothingHappened, NotRun, Refused, Waiting, guard
    from assay.surfaces.signing import SignedRequests

__all__ = [
    "Answerers",
    "AsyncClient",
    "AsyncFleet",
    "AsyncNode",
    "Claimed",
    "Client",
    "Error",
    "Fleet",
    "Guard",
    "GuardMiddleware",
    "HeldBackError",
    "InvalidQuestionError",
    "Node",
    "NotRun",
    "NothingHappened",
    "PrincipalChange",
    "ProblemError",
    "QueueFilter",
    "Refused",
    "Reply",
    "RiskTier",
    "SignedRequests",
    "Strands",
    "Waiting",
    "__version__",
    "attach",
    "claimed",
    "deferred_results",
    "gate",
    "guard",
    "guarded_toolset",
    "open",
    "open_async",
    "openai_guardrail",
    "openai_tool",
    "parse_report",
    "render_bundle",
    "render_search",
    "resume_langgraph",
    "settle_interruptions",
    "verify_permit",
]

__version__ = "0.1.0"

_HOMES = {
    "delivery.answerer": ("Reply",),
    "delivery.errors": ("InvalidQuestionError",),
    "flows.delivery.answerers": ("Answerers",),
    "flows.delivery.strands": ("Strands",),
    "flows.ledger.check_report": ("parse_report",),
    "identity.principal": ("PrincipalChange",),
    "identity.risk": ("RiskTier",),
    "kernel.bundle": ("render_bundle",),
    "kernel.errors": ("Error",),
    "kernel.search_proof": ("render_search",),
    "node": ("AsyncNode", "Node", "open", "open_async"),
    "permits.seal": ("verify_permit",),
    "review.queue": ("QueueFilter",),
    "surfaces.agents.langgraph": ("GuardMiddleware", "resume_langgraph"),
    "surfaces.agents.openai_agents": ("openai_guardrail", "openai_tool", "settle_interruptions"),
    "surfaces.agents.pydantic_ai": ("deferred_results", "guarded_toolset"),
    "surfaces.attach": ("attach",),
    "surfaces.client": ("AsyncClient", "Client", "ProblemError"),
    "surfaces.fleet": ("AsyncFleet", "Fleet"),
    "surfaces.gating": ("Claimed", "HeldBackError", "claimed", "gate"),
    "surfaces.guard": ("Guard", "NotRun", "NothingHappened", "Refused", "Waiting", "guard"),
    "surfaces.signing": ("SignedRequests",),
}


def __getattr__(name: str) -> object:
    """`assay.open`, `assay.gate` and the rest come with everything they need, when they are first asked for."""
    from importlib import import_module  # noqa: PLC0415 - importing the package imports nothing

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"assay.{home}"), name)
    raise AttributeError(f"module `assay` has no attribute `{name}`")
