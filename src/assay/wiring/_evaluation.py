"""A node that judges telemetry: the weights in use, the reasoner, the egress guard, and the settings of SKI."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace as structs_replace

from assay.adapters.clock import SystemClock
from assay.adapters.weight_folder import WeightFolder
from assay.config import Config
from assay.config.ski import ReasonerName, RuntimeVersion
from assay.flows.errors.verdicts import SovereigntyError
from assay.flows.tools import Tools
from assay.flows.verdicts.shelves import UNKNOWN_COMMIT, SkiSettings
from assay.flows.verdicts.sovereignty import check_node_sovereignty, require_own_weights
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.ids import parse_tenant_id
from assay.kernel.json_text import JsonValue, parse_json
from assay.ports.model import ModelError, ModelGrammarError
from assay.verdicts.graph.open import SovereigntyMode
from assay.verdicts.sovereignty import SovereigntyFinding, may_start
from assay.verdicts.telemetry import SkewLimits
from assay.wiring._models import open_general

if TYPE_CHECKING:  # what only a node with machines pays for
    from assay.adapters.reasoning.judge import JudgeReasoner, JudgeWeights
    from assay.ports.egress import EgressGuard
    from assay.ports.measured_boot import MeasuredBoot
    from assay.ports.reasoner import KeptReasoners, LocalReasoner

_BUILD_FILE = "_build.json"
_LEVEL_OF_RECEIPTS = 3


class Evaluation(NamedTuple):
    """A node that can judge telemetry, what was found of its sovereignty, and what else an operator is warned of."""

    tools: Tools
    findings: tuple[SovereigntyFinding, ...]
    warnings: tuple[str, ...] = ()


@contextmanager
def open_evaluation(
    folder: Path,
    config: Config,
    tools: Tools,
    environment: Mapping[str, str] = os.environ,
    *,
    judge: "JudgeWeights | None" = None,
    may_wait: bool = False,
) -> Iterator["Evaluation"]:
    """The node with its model and its egress guard; `judge` are the judge's weights where not those in use.

    Strict mode refuses to begin where a check of SKI 6.2 is unmet, and tells of all; advisory mode begins, and whoever
    asked logs each unmet one as a warning (SKI 6.1). A node with the reasoner `none` has nothing to refuse, and one
    that `may_wait` begins with what else it does: each record is refused for as long as a check is unmet.
    """
    with ExitStack() as stack:
        guarded = replace(tools, guard=_guard(config), boot=_measured_boot(config), kept=_kept_judges(folder, tools))
        if config.ski.reasoner is ReasonerName.JUDGE:
            weights = judge or _judge_in_use(folder, config, tools)
            settings = _with_registered(tools.ski, weights)
            guarded = replace(guarded, ski=settings, reasoner=_judge(stack, weights, tools))
        else:
            guarded = replace(guarded, reasoner=_reasoner(stack, folder, config, tools, environment))
        findings = check_node_sovereignty(guarded)
        is_asked = guarded.reasoner is not None and not may_wait
        if is_asked and config.ski.reasoner is ReasonerName.JUDGE:
            require_own_weights(guarded)
        if is_asked and not may_start(findings, config.ski.sovereignty):
            raise SovereigntyError(findings)
        yield Evaluation(guarded, findings, _grammar_warnings(guarded.reasoner) if is_asked else ())


def open_scorer(
    weights: Path | None = None, *, folder: Path | None = None, named: Digest | None = None
) -> "JudgeReasoner":
    """The judge in this very process, to check receipts or draw replies with: any weights of its kind, or the shipped.

    `folder` is a node's: where its registry keeps the weights that are `named`, it is they that check.
    """
    from assay.adapters.inference.weights import hash_weights  # noqa: PLC0415 - only who checks a receipt pays for it
    from assay.adapters.reasoning import judge  # noqa: PLC0415 - the same
    from assay.adapters.reasoning.judge_here import JudgeHere  # noqa: PLC0415 - the same

    if weights is None and folder is not None and named is not None:
        kept = weight_folder(folder).path_of(named)
        weights = kept if kept.is_file() else None
    if weights is None:
        chosen = (judge.find_shipped(named) if named is not None else None) or judge.shipped_weights()
    else:
        # Whose weights they are is for the receipt to say: here they are named by their own bytes.
        chosen = judge.JudgeWeights(file=weights, expected=hash_weights(weights))
    return judge.JudgeReasoner(JudgeHere(chosen), SystemClock())


def _judge_in_use(folder: Path, config: Config, tools: Tools) -> "JudgeWeights":
    """What people put into use for the node's tenant, else what it was founded with or judged by: no other bytes load.

    The card beside the shipped file is no witness for it: whoever changes one can change the other.
    """
    from assay.adapters.reasoning.judge import (  # noqa: PLC0415 - only who evaluates
        JudgeWeights,
        find_shipped,
        shipped_weights,
    )
    from assay.flows.model.known_weights import find_known_weights  # noqa: PLC0415 - the same

    tenant_id, shipped = parse_tenant_id(config.node.tenant), shipped_weights()
    pinned = None if config.node.judge is None else parse_digest(config.node.judge)
    known = find_known_weights(tools, tenant_id, pinned=pinned)
    packaged = shipped if known is None else find_shipped(known)
    if packaged is not None or known is None:
        return packaged or shipped
    kept = weight_folder(folder).path_of(known)
    return JudgeWeights(file=kept if kept.is_file() else shipped.file, expected=known)


def load_judge_weights(folder: Path, config: Config, tools: Tools) -> Digest:
    """The hash of the judge's weights, read and found to be those that are to judge; else `model.weights`."""
    from assay.adapters.reasoning.judge import load_weights  # noqa: PLC0415 - only who asks pays for it

    weights = _judge_in_use(folder, config, tools)
    load_weights(weights)
    return weights.expected


def _kept_judges(folder: Path, tools: Tools) -> "KeptReasoners":
    from assay.adapters.reasoning.judge_kept import KeptJudges  # noqa: PLC0415 - only who evaluates pays for it

    return KeptJudges(weight_folder(folder).path_of, tools.clock)


def weight_folder(folder: Path) -> WeightFolder:
    return WeightFolder(folder / "models")


def _judge(stack: ExitStack, weights: "JudgeWeights", tools: Tools) -> "LocalReasoner":
    """In a process of its own, which starts with the first question and ends with the stack."""
    from assay.adapters.reasoning.judge import JudgeReasoner  # noqa: PLC0415 - only who evaluates pays for it
    from assay.adapters.reasoning.judge_process import JudgeProcess  # noqa: PLC0415 - the same

    reasoner = JudgeReasoner(JudgeProcess(weights), tools.clock)
    stack.callback(reasoner.close)
    return reasoner


def _with_registered(settings: SkiSettings, judge: "JudgeWeights") -> SkiSettings:
    """The judge's own hash is the registry of an operator who named none; one who named some meant these alone."""
    return settings if settings.weights else structs_replace(settings, weights=(judge.expected,))


def _grammar_warnings(reasoner: "LocalReasoner | None") -> tuple[str, ...]:
    """A general model's server must show that it binds its output by a grammar; strict mode refuses one that does not.

    One that does not answer now has to show it before its first verdict.
    """
    from assay.adapters.reasoning.general import GeneralReasoner  # noqa: PLC0415 - only who evaluates pays for it

    if not isinstance(reasoner, GeneralReasoner):
        return ()
    try:
        is_bound = reasoner.check_grammar()
    except ModelGrammarError:
        raise
    except ModelError:
        return ()
    unbound = "model.grammar_unbound: the model's server does not bind its output by a grammar; every verdict says so"
    return () if is_bound else (unbound,)


def _guard(config: Config) -> "EgressGuard":
    from assay.adapters.egress.guard import ProcessEgressGuard  # noqa: PLC0415 - it changes the process's sockets
    from assay.adapters.egress.perimeter import Perimeter  # noqa: PLC0415 - the same

    local = (*config.models.deployment_local, *config.ski.deployment_local)
    return ProcessEgressGuard(Perimeter(local), is_strict=config.ski.sovereignty is SovereigntyMode.STRICT)


def _measured_boot(config: Config) -> "MeasuredBoot | None":
    if config.ski.tpm is None:
        return None
    from assay.adapters.tpm import TpmMeasuredBoot  # noqa: PLC0415 - only a node with a TPM pays for it

    return TpmMeasuredBoot(config.ski.tpm, register=config.ski.tpm_register)


def _reasoner(
    stack: ExitStack, folder: Path, config: Config, tools: Tools, environment: Mapping[str, str]
) -> "LocalReasoner | None":
    from assay.adapters.egress.places import place_of_model  # noqa: PLC0415 - only who evaluates pays for it
    from assay.adapters.reasoning.general import GeneralReasoner  # noqa: PLC0415 - the same
    from assay.adapters.reasoning.scripted import RecordedReplies, ScriptedReasoner, load_replies  # noqa: PLC0415 - the same

    if config.ski.reasoner is ReasonerName.SCRIPTED:
        replies = RecordedReplies(load_replies(folder / (config.ski.replies or "")))
        return ScriptedReasoner(replies, tools.clock, weight_hash=replies.weight_hash)
    if config.ski.reasoner is not ReasonerName.GENERAL or config.models.general is None:
        return None
    model = stack.enter_context(open_general(folder, config, environment))
    place = place_of_model(config.models.general.url)
    is_strict = config.ski.sovereignty is SovereigntyMode.STRICT
    return GeneralReasoner(model, tools.clock, place=place, is_exact=config.ski.exact_model, is_strict=is_strict)


def ski_settings(config: Config) -> SkiSettings:
    from assay.adapters.egress.places import place_of_database  # noqa: PLC0415 - together with the rest of egress

    ski, build = config.ski, _build_facts()
    return SkiSettings(
        mode=ski.sovereignty,
        is_v2=ski.runtime_version is RuntimeVersion.V2,
        # SKI 9.3: a verdict without a model has no receipt.
        fast_path_n=0 if ski.level == _LEVEL_OF_RECEIPTS else ski.fast_path_n,
        requires_receipt=ski.level == _LEVEL_OF_RECEIPTS,
        agreement_window=ski.agreement_window,
        agreement_threshold=Decimal(str(ski.agreement_threshold)),
        keep_seconds=ski.retention_seconds,
        skew=SkewLimits(ahead_seconds=ski.ahead_seconds, behind_seconds=ski.behind_seconds),
        decoder_seed=ski.decoder_seed,
        max_tokens=ski.max_tokens,
        attest_seconds=ski.attest_seconds,
        token_seconds=ski.token_seconds,
        require_review=ski.require_review,
        weights=tuple(parse_digest(one) for one in ski.weights),
        is_backend_tagged=ski.custom_backend,
        ledger_place=place_of_database(config.database.url),
        evaluation_egress=ski.evaluation_egress,
        deployment_local=(*config.models.deployment_local, *ski.deployment_local),
        egress_channels=(
            *(f"witness {one.name} {one.url}" for one in config.witnesses),
            *(f"peer {one.name} {one.url}" for one in config.delivery.peers),
        ),
        codebase_commit=str(build.get("commit", UNKNOWN_COMMIT)),
        build_provenance=build.get("provenance"),
    )


def _build_facts() -> dict[str, JsonValue]:
    """What the build left beside the code: its commit and its provenance statement; nothing where it was not built."""
    try:
        text = (files("assay") / _BUILD_FILE).read_bytes()
    except FileNotFoundError:
        return {}
    facts = parse_json(text)
    return facts if isinstance(facts, dict) else {}
