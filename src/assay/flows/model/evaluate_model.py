"""A model is measured on cases, and what was found is recorded: the node's own word, which activation rests on.

weights -> every case the way of a verdict -> figures -> `model.evaluated`
"""

from collections.abc import Callable

from msgspec import Struct

from assay.flows.identity.admit_principal import admit_principal
from assay.flows.model.case_file import CaseFile
from assay.flows.model.known_model import load_weights
from assay.flows.model.measure_model import JudgeExaminee, measure_model
from assay.flows.model.model_entry import record_evaluation
from assay.flows.tools import Tools
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.digest import Digest
from assay.kernel.instant import Instant
from assay.model.engine import Engine
from assay.model.figures import Figures, Timing
from assay.ports.database import Unit


class EvaluatedModel(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Figures of one model on one file; times are of this machine and not recorded."""

    weight_hash: Digest
    cases_hash: Digest
    figures: Figures
    timing: Timing
    sequence_number: int


def evaluate_model(
    tools: Tools,
    weight_hash: Digest,
    cases: CaseFile,
    *,
    credential: str,
    at: Instant,
    report: Callable[[int, int], None] = lambda _done, _total: None,
) -> EvaluatedModel:
    """Measure weights of the registry, or the shipped ones, as an operator; substituted bytes are refused."""

    def admit(unit: Unit) -> Principal:
        return admit_principal(unit, credential, any_of=[BuiltInRole.OPERATOR], at=at)

    principal = tools.database.read(admit)
    weights = load_weights(tools, principal.tenant_id, weight_hash)
    measured = measure_model(JudgeExaminee(Engine(weights)), cases.cases, report=report)

    def work(unit: Unit) -> int:
        by = admit(unit)
        told = record_evaluation(unit, by.tenant_id, weight_hash, cases.hash, measured.figures, by=by.id, at=at)
        return told.sequence_number

    return EvaluatedModel(
        weight_hash=weight_hash,
        cases_hash=cases.hash,
        figures=measured.figures,
        timing=measured.timing,
        sequence_number=tools.database.write(work),
    )
