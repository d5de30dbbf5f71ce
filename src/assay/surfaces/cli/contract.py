"""`assay contract`: claim types as people write them, and as they were released."""

from pathlib import Path
from typing import BinaryIO

import click

from assay.kernel.instant import Instant
from assay.operations.shown.truth import contract_line
from assay.operations.truth import CONTRACT_RELEASE, OPERATIONS
from assay.surfaces.cli.acting import INSTANT, columns
from assay.surfaces.cli.contract_file import (
    ContractText,
    domain_option,
    files_argument,
    hash_,
    lint,
    lock,
    read_contract_files,
    read_contract_text,
)
from assay.surfaces.cli.contract_template import render_contract
from assay.surfaces.cli.derive import add_operations, common_options
from assay.surfaces.cli.output import Call, Command, Group, NodeCommand
from assay.surfaces.cli.perform import perform
from assay.surfaces.cli.sink import open_file_sink
from assay.surfaces.cli.text_file import TextFileError
from assay.truth.observation import HashedObservation, observation_hash, parse_observation
from assay.truth.try_contract import TriedKey, TryRequest, TryResult, try_contract

_LARGEST = 64 * 1024 * 1024


@click.command(cls=Command, name="try")
@click.argument("contract", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="CONTRACT")
@click.argument("data", type=click.File("rb"), metavar="DATA|-")
@click.option("--at", type=INSTANT, metavar="TIME", help="Compile at this time; else now.")
@domain_option
@click.pass_obj
def try_(call: Call, /, contract: Path, data: BinaryIO, at: Instant | None, domains: dict[str, str]) -> None:
    """Compile the observations in DATA, one JSON object in each line, under the contract in the file CONTRACT.

    Every reporter is a newcomer without a record. For each key: the state, its confidence term by term, what each
    report changes, and how many more newcomers who say the same would verify it. Nothing is recorded.
    """
    from assay.adapters.clock import SystemClock

    ((_, law),) = read_contract_files(call, [contract], domains)
    said = [parse_observation(line) for line in data.read(_LARGEST).splitlines() if line.strip()]
    hashed = tuple(HashedObservation(observation=one, observation_hash=observation_hash(one)) for one in said)
    found = try_contract(TryRequest(contract=law, observations=hashed, compile_time=at or SystemClock().now()))
    call.answer(found, _text(found))


def _text(found: TryResult) -> str:
    unheard = [
        f"{one.observation_id} by {one.reporter_id} is not heard: {one.reason}"
        for one in found.hearings
        if not one.heard
    ]
    return "\n".join([*(_key_text(one) for one in found.keys), *unheard]) or "no observation belongs to a key"


def _key_text(one: TriedKey) -> str:
    state = one.state
    facts = [
        ("truth key", one.truthkey),
        ("status", f"{state.status} by {state.verification_basis}"),
        *((f"claim {name}", str(value)) for name, value in sorted(state.claim.items())),
        ("confidence", f"{state.confidence:f}"),
        *(
            (f"  {name}", f"{part.weight:f} x {part.value:f} = {part.contribution:f}")
            for name, part in sorted(state.confidence_breakdown.components.items())
        ),
        ("flags", ", ".join(state.transparency_flags) or "-"),
        *((f"without {part.observation_id}", f"{part.status}, {part.confidence:f}") for part in one.effects),
        ("to verify", "not by twenty more" if one.further is None else f"{one.further} more who say the same"),
    ]
    return columns(list(facts))


@click.command(cls=Command)
@click.argument("claim_type", metavar="CLAIM_TYPE")
@click.option("--critical", is_flag=True, help="The lane in which people decide; else machines may decide clear cases.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    default="-",
    metavar="FILE",
    help="A new file; else standard output.",
)
@click.pass_obj
def new(call: Call, claim_type: str, output: Path, *, critical: bool) -> None:
    """Write a commented contract for CLAIM_TYPE, such as earth.flood.v1, that can be linted and used as it is."""
    text = render_contract(claim_type, is_critical=critical)
    if str(output) == "-":
        call.answer({"claim_type": claim_type, "text": text}, text.removesuffix("\n"))
        return
    with open_file_sink(output) as put:
        put(output.name, text.encode())
    call.answer({"claim_type": claim_type, "output": str(output)}, f"wrote {output}")


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
