"""What a training came to is recorded: the child's weights with their lineage, and all that was measured of both.

trained -> manifest with parent and plan -> kept durably -> `model.added` and `model.evaluated`, in one commit
"""

from msgspec import Struct

from assay.facts.model import added_entry, evaluated_entry
from assay.flows.identity.authenticate import confirm, require_credential
from assay.flows.model.known_model import get_manifest, weight_files
from assay.flows.model.train_model import Comparison, Trained
from assay.flows.tools import Tools
from assay.identity.authorise import require_role
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.model.figures import Figures, check_worse
from assay.model.manifest import Manifest, manifest_of
from assay.model.weights import parse_weights
from assay.ports.database import Unit
from assay.verdicts.prompt import TEMPLATE_ID


class RecordedTraining(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The new model and its figures; `worse` says why it could not be put into use, if it could not."""

    manifest: Manifest
    sealed_before: Figures
    sealed_after: Figures
    held_out_before: Figures
    held_out_after: Figures
    worse: tuple[str, ...]


def record_training(tools: Tools, caller: Caller, trained: Trained, *, name: str, version: str) -> RecordedTraining:
    """Record a training of an operator. One that got worse is recorded too: nobody can put it into use."""
    require_credential(caller)
    require_role(caller.principal, (BuiltInRole.OPERATOR,))
    manifest = _manifest(trained, name, version)

    def work(unit: Unit) -> None:
        by = confirm(unit, caller).principal
        _record(unit, caller.tenant_id, trained, manifest, by=by.id, at=caller.at)

    # The bytes first: an entry must never name weights that a crash could have lost.
    weight_files(tools).put(trained.weights)
    tools.database.write(work)
    return _recorded(trained, manifest)


def record_own_training(
    tools: Tools, tenant_id: TenantId, trained: Trained, *, name: str, version: str, at: Instant
) -> RecordedTraining:
    """What the node learnt by itself, from pairs that people concluded; the same again records nothing new."""
    manifest, by = _manifest(trained, name, version), tools.delivery.principal_id

    def work(unit: Unit) -> None:
        if unit.models.find_model(tenant_id, manifest.weight_hash) is None:
            _record(unit, tenant_id, trained, manifest, by=by, at=at)

    weight_files(tools).put(trained.weights)
    tools.database.write(work)
    return _recorded(trained, manifest)


def _manifest(trained: Trained, name: str, version: str) -> Manifest:
    return manifest_of(
        parse_weights(trained.weights),
        name=name,
        version=version,
        size=len(trained.weights),
        template_id=TEMPLATE_ID,
        parent_hash=trained.plan.parent_hash,
        training=trained.plan,
        held_out_hash=trained.held_out.cases_hash,
    )


def _record(
    unit: Unit, tenant_id: TenantId, trained: Trained, manifest: Manifest, *, by: PrincipalId, at: Instant
) -> None:
    get_manifest(unit, tenant_id, trained.plan.parent_hash)
    if unit.models.find_model(tenant_id, manifest.weight_hash) is None:
        unit.record(added_entry(tenant_id, manifest, by=by, at=at))
    for cases_hash, weight_hash, figures in _measured(trained, manifest.weight_hash):
        unit.record(evaluated_entry(tenant_id, weight_hash, cases_hash, figures, by=by, at=at))


def _recorded(trained: Trained, manifest: Manifest) -> RecordedTraining:
    return RecordedTraining(
        manifest=manifest,
        sealed_before=trained.sealed.before,
        sealed_after=trained.sealed.after,
        held_out_before=trained.held_out.before,
        held_out_after=trained.held_out.after,
        worse=_worse("sealed cases", trained.sealed) + _worse("held-out pairs", trained.held_out),
    )


def _measured(trained: Trained, child: Digest) -> list[tuple[Digest, Digest, Figures]]:
    parent = trained.plan.parent_hash
    return [
        (one.cases_hash, weight_hash, figures)
        for one in (trained.sealed, trained.held_out)
        for weight_hash, figures in ((parent, one.before), (child, one.after))
    ]


def _worse(name: str, one: Comparison) -> tuple[str, ...]:
    return check_worse(one.before, one.after, name)
