"""`assay contract try`: what a contract makes of observations; no node is needed."""

from pathlib import Path
from typing import BinaryIO

import click

from assay.kernel.instant import Instant
from assay.surfaces.cli.acting import INSTANT, columns
from assay.surfaces.cli.contract_file import domain_option, read_contract_files
from assay.surfaces.cli.output import Call, Command
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
