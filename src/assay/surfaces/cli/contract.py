"""`assay contract`: claim types as people write them, and as they were released."""

from pathlib import Path

import click

from assay.operations.shown.truth import contract_line
from assay.operations.truth import CONTRACT_RELEASE, OPERATIONS
from assay.surfaces.cli.contract_file import ContractText, files_argument, hash_, lint, lock, read_contract_text
from assay.surfaces.cli.contract_new import new
from assay.surfaces.cli.contract_try import try_
from assay.surfaces.cli.derive import add_operations, common_options
from assay.surfaces.cli.output import Call, Group, NodeCommand
from assay.surfaces.cli.perform import perform
from assay.surfaces.cli.text_file import TextFileError


@click.group(cls=Group)
def contract() -> None:
    """Contracts: what a claim type asks for, how its claims are derived, and who decides."""


add_operations(contract, "contract", OPERATIONS)


@click.command(cls=NodeCommand)
@files_argument
@common_options(CONTRACT_RELEASE)
@click.pass_obj
def release(call: Call, /, files: tuple[Path, ...], **where: str | None) -> None:
    """Release the contracts in FILE: from then on their bodies never change.

    The same body again changes nothing; another under a released id is refused. A schema in `output_schema_ref` is
    read from beside the contract.
    """
    texts = [read_contract_text(path) for path in files]
    done = [perform(call, CONTRACT_RELEASE, _asked(one), **where) for one in texts]
    call.answer(done, "\n".join(map(contract_line, done)))


def _asked(one: ContractText) -> dict[str, str]:
    if one.problem is not None:
        raise TextFileError(one.problem)
    return {"document": one.text, **({} if one.schema is None else {"schema_text": one.schema.decode()})}


for _command in (new, lint, try_, hash_, lock, release):
    contract.add_command(_command)
