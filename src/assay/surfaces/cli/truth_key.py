"""`assay truth key`: where an observation belongs; no node is needed."""

from pathlib import Path
from typing import BinaryIO

import click
from msgspec.structs import asdict

from assay.kernel.instant import Instant
from assay.surfaces.cli.acting import INSTANT, columns
from assay.surfaces.cli.contract_file import domain_option, read_contract_files
from assay.surfaces.cli.output import Call, Command
from assay.truth.address import address_observation
from assay.truth.contract import Contract
from assay.truth.key import TruthKey, build_truth_key, parse_truth_key, render_truth_key
from assay.truth.observation import parse_observation
from assay.truth.place import HealpixScheme, IdStrategy, Location

_LARGEST = 1024 * 1024


@click.command(cls=Command)
@click.option(
    "--contract",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="The contract that says how keys are built.",
)
@click.option("--observation", type=click.File("rb"), metavar="FILE|-", help="The observation, as JSON.")
@click.option("--at", type=INSTANT, metavar="TIME", help="When it was, such as 2026-01-07T12:30:00Z.")
@click.option("--lat", type=float, help="Degrees north, -90 to 90.")
@click.option("--lon", type=float, help="Degrees east, -180 to 180.")
@click.option("--content-hash", metavar="HASH", help="Of an artefact, for the system `meta`.")
@click.option("--artifact-id", metavar="ID", help="Of an artefact, for the system `meta`.")
@domain_option
@click.option("--parse", "text", metavar="KEY", help="Take a key apart instead.")
@click.pass_obj
def key(
    call: Call,
    /,
    *,
    contract: Path | None,
    observation: BinaryIO | None,
    at: Instant | None,
    lat: float | None,
    lon: float | None,
    content_hash: str | None,
    artifact_id: str | None,
    domains: dict[str, str],
    text: str | None,
) -> None:
    """Print the truth key of an observation, or of a time and a place, under a contract.

    Example: assay truth key --contract flood_v1.yaml --at 2026-01-07T12:30:00Z --lat 4.175 --lon 73.509
    """
    if text is not None:
        found = parse_truth_key(text)
        call.answer(found, columns([(name, str(value)) for name, value in asdict(found).items()]))
        return
    if contract is None or (observation is None) is (at is None):
        raise click.UsageError("expected --parse KEY, or --contract with either --observation or --at")
    ((_, law),) = read_contract_files(call, [contract], domains)
    if observation is not None:
        found = address_observation(law, parse_observation(observation.read(_LARGEST + 1)), domain_systems=domains)
    else:
        found = _built(law, at, _location(lat, lon), content_hash, artifact_id)
    call.answer({"truthkey": render_truth_key(found), "parts": found}, render_truth_key(found))


def _location(lat: float | None, lon: float | None) -> Location | None:
    if (lat is None) is not (lon is None):
        raise click.UsageError("expected --lat and --lon together")
    return None if lat is None or lon is None else Location(lat=lat, lon=lon)


def _built(
    law: Contract, at: Instant | None, location: Location | None, content_hash: str | None, artifact_id: str | None
) -> TruthKey:
    if at is None:
        raise click.UsageError("expected --at")
    policy = law.truthkey
    return build_truth_key(
        claim_type_id=law.id,
        event_time=at,
        location=location,
        spatial_system=policy.spatial_system,
        spatial_resolution=policy.resolution or 0,
        healpix_scheme=policy.scheme or HealpixScheme.NESTED,
        z_index=policy.z_index,
        time_bucket_duration=policy.time_bucket,
        id_strategy=policy.id_strategy or IdStrategy.CONTENT_HASH,
        content_hash=content_hash,
        artifact_id=artifact_id,
    )
