"""`assay contract lint`, `hash` and `lock`: contracts in files; no node is needed."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from msgspec import Struct
from msgspec.structs import replace

from assay.surfaces.cli.output import Call, Command
from assay.surfaces.cli.sink import write_output
from assay.surfaces.cli.text_file import TextFileError, read_bytes, read_text
from assay.truth.contract import Contract
from assay.truth.errors import ContractError
from assay.truth.key import SpatialSystem
from assay.truth.lock import ContractLock, parse_lock, render_lock
from assay.truth.lock import release as add_to_lock
from assay.truth.parse_contract import check_contract
from assay.truth.problem import Problem, ProblemCode
from assay.truth.schema_ref import find_schema_ref

_HONEST_NO = 1

files_argument = click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
)

domain_option = click.option(
    "--domain",
    "domains",
    multiple=True,
    callback=lambda _context, _parameter, given: _domains(given),
    metavar="NAME=SYSTEM",
    help="A domain beyond Kaori's four, with its spatial system, as [truth] domains of assay.toml. May be repeated.",
)


class ContractText(Struct, frozen=True, kw_only=True):
    """A contract as its file has it; `problem` says why the schema it refers to could not be fetched."""

    path: Path
    text: str
    schema: bytes | None
    problem: str | None


class LintedContract(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `lint` says of one file; a contract with errors has no hash."""

    file: str
    holds: bool
    claim_type: str | None
    claim_type_hash: str | None
    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


@click.command(cls=Command)
@files_argument
@click.option("--strict", is_flag=True, help="Warnings are problems too.")
@domain_option
@click.pass_context
def lint(context: click.Context, files: tuple[Path, ...], domains: dict[str, str], *, strict: bool) -> None:
    """Tell every problem of each contract in FILE, as file:line; exit 1 if there is one.

    A schema in `output_schema_ref` is read from beside the contract.
    """
    call: Call = context.obj
    found = [_linted(read_contract_text(path), domains)[0] for path in files]
    call.answer(found, "\n".join(line for one in found for line in _lines(one)))
    wrong = [one for one in found if not one.holds or (strict and one.warnings)]
    call.say(f"{len(found) - len(wrong)} of {len(found)} contracts can be used")
    if wrong:
        context.exit(_HONEST_NO)


@click.command(cls=Command, name="hash")
@files_argument
@domain_option
@click.pass_obj
def hash_(call: Call, files: tuple[Path, ...], domains: dict[str, str]) -> None:
    """Print the hash of each contract in FILE: of the whole document and of the schema it refers to."""
    read = read_contract_files(call, files, domains)
    call.answer(
        [{"claim_type": one.id, "claim_type_hash": one.claim_type_hash} for _, one in read],
        "\n".join(f"{one.id} {one.claim_type_hash}" for _, one in read),
    )


@click.command(cls=Command)
@files_argument
@click.option(
    "--lock",
    "lock_file",
    type=click.Path(path_type=Path, dir_okay=False),
    default="contracts.lock",
    show_default=True,
    metavar="FILE",
    help="The lock.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if a contract is not in the lock.")
@domain_option
@click.pass_context
def lock(
    context: click.Context, files: tuple[Path, ...], lock_file: Path, domains: dict[str, str], *, check: bool
) -> None:
    """Put the contracts in FILE into the lock; one that is there with another body is refused.

    A released contract never changes: a change is a new version.
    """
    call: Call = context.obj
    before = parse_lock(read_text(lock_file)) if lock_file.exists() else ContractLock()
    after = before
    for _, one in read_contract_files(call, files, domains):
        after = add_to_lock(after, one)
    added = [entry for entry in after.released if entry not in before.released]
    if added and not check:
        write_output(lock_file, render_lock(after).encode())
    verb = "is not in the lock" if check else "added"
    call.answer(
        {"lock": str(lock_file), "added": [] if check else added, "missing": added if check else []},
        "\n".join(f"{entry.id} {verb}" for entry in added) or "the lock holds",
    )
    if added and check:
        context.exit(_HONEST_NO)


def read_contract_files(
    call: Call, files: Sequence[Path], domains: Mapping[str, str]
) -> list[tuple[ContractText, Contract]]:
    """Every contract in these files; where one has problems, all of them are told and the first file is refused."""
    texts = [read_contract_text(path) for path in files]
    linted = [_linted(text, domains) for text in texts]
    wrong = [one for one, contract in linted if contract is None]
    for one in wrong:
        call.say("\n".join(_lines(one)))
    if wrong:
        raise ContractError(wrong[0].errors)
    return [(text, contract) for text, (_, contract) in zip(texts, linted, strict=True) if contract is not None]


def read_contract_text(path: Path) -> ContractText:
    text = read_text(path)
    ref = find_schema_ref(text)
    if ref is None:
        return ContractText(path=path, text=text, schema=None, problem=None)
    try:
        return ContractText(path=path, text=text, schema=read_bytes(_beside(path, ref)), problem=None)
    except TextFileError as error:
        return ContractText(path=path, text=text, schema=None, problem=str(error))


def _domains(given: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for name, _, system in pairs:
        if not name or system not in tuple(SpatialSystem):
            raise click.BadParameter(f"expected NAME=SYSTEM with {', '.join(SpatialSystem)}, got `{name}={system}`")
    return {name: system for name, _, system in pairs}


def _beside(path: Path, ref: str) -> Path:
    """A contract may be a stranger's: it names files below its own folder, and no others."""
    folder = path.parent.resolve()
    found = (folder / ref).resolve()
    if not found.is_relative_to(folder):
        raise TextFileError(f"expected a file below `{path.parent}`, got `{ref[:200]}`")
    return found


def _linted(given: ContractText, domains: Mapping[str, str]) -> tuple[LintedContract, Contract | None]:
    finding = check_contract(given.text, schema_bytes=given.schema, domain_systems=domains)
    contract = finding.contract
    linted = LintedContract(
        file=str(given.path),
        holds=contract is not None,
        claim_type=None if contract is None else contract.id,
        claim_type_hash=None if contract is None else contract.claim_type_hash,
        errors=tuple(_explained(problem, given.problem) for problem in finding.errors),
        warnings=finding.warnings,
    )
    return linted, contract


def _explained(problem: Problem, why: str | None) -> Problem:
    """That the schema's bytes are missing is known best by who could not fetch them."""
    is_missing = (problem.path, problem.code) == ("output_schema_ref", ProblemCode.SCHEMA)
    return replace(problem, message=why) if why is not None and is_missing else problem


def _lines(one: LintedContract) -> list[str]:
    told = [("error", problem) for problem in one.errors] + [("warning", problem) for problem in one.warnings]
    lines = [
        f"{one.file}:{problem.line or 1}: {sort}: {problem.path or 'document'}: {problem.message} [{problem.code}]"
        for sort, problem in told
    ]
    return [*lines, f"{one.file}: {one.claim_type} {one.claim_type_hash}"] if one.holds else lines
