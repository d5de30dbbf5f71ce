"""`assay contract new`: a contract to begin with."""

from pathlib import Path

import click

from assay.surfaces.cli.contract_template import render_contract
from assay.surfaces.cli.output import Call, Command
from assay.surfaces.cli.sink import open_file_sink


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
