"""Weights become known to the node: read whole, kept by their hash, and in the ledger; nothing is put to use by it.

weight file -> sound? -> manifest -> kept durably -> `model.added`
"""

from typing import Annotated

from msgspec import Meta, Struct

from assay.facts.model import added_entry
from assay.flows.identity.authenticate import confirm, require_credential
from assay.flows.model.known_model import get_manifest, weight_files
from assay.flows.request import Document, Done, Option, Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.digest import parse_digest
from assay.model.manifest import Manifest, manifest_of
from assay.model.weights import parse_weights
from assay.ports.database import Unit
from assay.verdicts.prompt import TEMPLATE_ID


class AddModel(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    content: Annotated[
        bytes,
        Meta(description="The weight file."),
        Document(media_type="application/octet-stream", metavar="FILE", is_long=True),
    ]
    version: Annotated[str, Meta(description="Which one it is, such as 1.1.0.")]
    name: Annotated[str, Meta(description="What to call it.")] = "assay-judge"
    parent: Annotated[
        str | None, Meta(description="The weights it was made from, if they are known here."), Option(metavar="HASH")
    ] = None


class AddedModel(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known now; `is_new` says whether it was not before."""

    manifest: Manifest
    is_new: bool


def add_model(tools: Tools, caller: Caller, request: AddModel) -> Done[AddedModel]:
    """Keep weights by their hash; nothing is put into use by it.

    Refused is what is no weights of this architecture, and a parent that nobody knows.
    """
    require_credential(caller)
    content, tenant_id = request.content, caller.tenant_id
    parent_hash = None if request.parent is None else parse_digest(request.parent)
    weights = parse_weights(content)
    manifest = manifest_of(
        weights,
        name=request.name,
        version=request.version,
        size=len(content),
        template_id=TEMPLATE_ID,
        parent_hash=parent_hash,
    )

    def work(unit: Unit) -> AddedModel:
        by = confirm(unit, caller).principal
        is_new = unit.models.find_model(tenant_id, manifest.weight_hash) is None
        if is_new:
            unit.record(added_entry(tenant_id, manifest, by=by.id, at=caller.at))
        return AddedModel(manifest=get_manifest(unit, tenant_id, manifest.weight_hash), is_new=is_new)

    if parent_hash is not None:
        tools.database.read(lambda unit: get_manifest(unit, tenant_id, parent_hash))
    # The bytes first: an entry must never name weights that a crash could have lost.
    weight_files(tools).put(content)
    done = tools.database.write(work)
    return Done(value=done, is_new=done.is_new)
