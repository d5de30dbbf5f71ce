"""A model is measured on cases, and what was found is recorded: the node's own word, which activation rests on.

weights -> every case the way of a verdict -> figures -> `model.evaluated`
"""

from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from assay.facts.model import evaluated_entry
from assay.flows.identity.authenticate import confirm, require_credential
from assay.flows.model.case_file import CaseFile, load_sealed_cases, parse_case_file
from assay.flows.model.known_model import active_hash, load_weights
from assay.flows.request import Document, Option, Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.digest import Digest, parse_digest
from assay.model.figures import Figures, Timing
from assay.ports.database import Unit


class EvaluateModel(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    cases: Annotated[
        bytes,
        Meta(description="Cases with their answers, one in each line; nothing for the sealed cases of the package."),
        Document(media_type="application/octet-stream", metavar="FILE", is_long=True),
    ]
    weights: Annotated[str | None, Meta(description="Other weights than those in use."), Option(metavar="HASH")] = None
    limit: Annotated[int | None, Meta(description="Only the first so many cases.")] = None


class EvaluatedModel(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Figures of one model on one file; times are of this machine and not recorded."""

    weight_hash: Digest
    cases_hash: Digest
    figures: Figures
    timing: Timing
    sequence_number: int


def evaluate_model(tools: Tools, caller: Caller, request: EvaluateModel) -> EvaluatedModel:
    """Measure weights on cases, and record the figures: activation rests on them. Substituted bytes are refused."""
    require_credential(caller)
    cases = parse_case_file(request.cases) if request.cases else load_sealed_cases()
    cases = replace(cases, cases=cases.cases[: request.limit])
    chosen = None if request.weights is None else parse_digest(request.weights)
    return record_figures(tools, caller, cases, chosen)


def record_figures(tools: Tools, caller: Caller, cases: CaseFile, weight_hash: Digest | None = None) -> EvaluatedModel:
    """Measure these weights, or those in use."""
    from assay.flows.model.measure_model import JudgeExaminee, measure_model  # noqa: PLC0415 - numpy comes with it
    from assay.model.engine import Engine  # noqa: PLC0415 - the same

    tenant_id = caller.tenant_id
    chosen = weight_hash or tools.database.read(lambda unit: active_hash(unit, tenant_id))
    measured = measure_model(JudgeExaminee(Engine(load_weights(tools, tenant_id, chosen))), cases.cases)

    def work(unit: Unit) -> int:
        by = confirm(unit, caller).principal
        draft = evaluated_entry(tenant_id, chosen, cases.hash, measured.figures, by=by.id, at=caller.at)
        return unit.record(draft).sequence_number

    return EvaluatedModel(
        weight_hash=chosen,
        cases_hash=cases.hash,
        figures=measured.figures,
        timing=measured.timing,
        sequence_number=tools.database.write(work),
    )
