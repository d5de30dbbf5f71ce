"""Whether the code that runs is the code that was built (SKI 6.4, 9.3): a statement against the files found.

envelope + the operator's builder keys -> open_provenance -> BuildClaim; claim + files found -> check_build -> report
Adapters say what is on disk; nothing here looks anything up.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from msgspec import Struct

from assay.kernel.dsse import DsseEnvelope, payload_of, verify_envelope
from assay.kernel.ids import KeyId
from assay.kernel.intoto import (
    PAYLOAD_TYPE,
    MalformedStatementError,
    Provenance,
    digests_of,
    parse_provenance,
    parse_statement,
)

BUILD_TYPE = "urn:assay:build:make:v1"
# The file of the package that carries the statement about all others.
BUILD_FILE = "assay/_build.json"
SOURCE_NAME = "source"
_PACKAGES = ("assay/", "assay_examples/")
_SHOWN = 5


class BuildCheck(StrEnum):
    """What must all hold before a running package is known to be a build."""

    BUILD = "1 build"
    SIGNATURE = "2 signature"
    COMMIT = "3 commit"
    FILES = "4 files"


class DifferenceKind(StrEnum):
    ALTERED = "altered"
    MISSING = "missing"
    UNEXPECTED = "unexpected"
    # Compiled code that is not what its source says; the interpreter would run it instead of the source.
    BYTECODE = "bytecode"


class Difference(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file that is not as stated; the hashes are sha256 in hex, empty where there is none."""

    name: str
    kind: DifferenceKind
    expected: str = ""
    got: str = ""


class BuildClaim(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a statement says, and which of the operator's keys vouch for it; none where nobody signed."""

    commit: str
    builder_id: str
    files: dict[str, str]
    signed_by: tuple[KeyId, ...]
    is_signed: bool


class BuildFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    check: BuildCheck
    is_met: bool
    detail: str


class BuildReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every check, met or not, and every difference by name."""

    findings: tuple[BuildFinding, ...]
    differences: tuple[Difference, ...] = ()
    commit: str = ""
    builder_id: str = ""

    @property
    def is_proven(self) -> bool:
        return all(finding.is_met for finding in self.findings)


def is_package_file(name: str) -> bool:
    """Whether a name in a wheel or a statement is a file of the package, and not of the release around it."""
    return name.startswith(_PACKAGES)


def open_provenance(envelope: DsseEnvelope, builder_keys: Iterable[bytes]) -> BuildClaim:
    """What a statement claims. One signed by none of the given keys is refused; an unsigned one, or one that there is
    no key to judge by, is opened with nobody vouching for it.
    """
    keys = tuple(builder_keys)
    statement = parse_statement(payload_of(envelope, payload_type=PAYLOAD_TYPE))
    provenance = parse_provenance(statement)
    is_signed = bool(envelope.signatures)
    signed_by = verify_envelope(envelope, keys) if keys and is_signed else frozenset()
    return BuildClaim(
        commit=_commit_of(provenance),
        builder_id=provenance.run_details.builder.id,
        files={name: digest for name, digest in digests_of(statement.subject).items() if is_package_file(name)},
        signed_by=tuple(sorted(signed_by)),
        is_signed=is_signed,
    )


def check_build(
    claim: BuildClaim | None, found: Mapping[str, str], *, commit: str | None, bytecode: Iterable[str] = ()
) -> BuildReport:
    """Compare what a statement claims with the files that were found, and with the commit that the package names.

    `claim` is None where the package carries no statement: then it is no build, and nothing else can be said.
    `bytecode` are compiled files that are not their source's.
    """
    if claim is None:
        detail = "no statement is with this code: it runs in place, from a checkout, and was not built"
        return BuildReport(findings=(_finding(BuildCheck.BUILD, detail),))
    differences = (*_differences(claim.files, found), *_bytecode(bytecode))
    return BuildReport(
        findings=(_built(claim, commit), _signature(claim), _commit(claim, commit), _files(claim, differences)),
        differences=differences,
        commit=claim.commit,
        builder_id=claim.builder_id,
    )


def check_vouched(claim: BuildClaim, commit: str) -> tuple[BuildFinding, ...]:
    """What can be said of a build from afar: who vouches for it, and whether it is of the commit that was named."""
    return (_signature(claim), _commit(claim, commit))


def _commit_of(provenance: Provenance) -> str:
    dependencies = provenance.build_definition.resolved_dependencies
    commits = [one.digest.get("gitCommit", "") for one in dependencies if one.name == SOURCE_NAME]
    if len(commits) != 1 or not commits[0]:
        raise MalformedStatementError(f"expected one commit as the `{SOURCE_NAME}` of the build, got {len(commits)}")
    return commits[0]


def _differences(expected: Mapping[str, str], found: Mapping[str, str]) -> Iterator[Difference]:
    for name in sorted(expected.keys() | found.keys()):
        stated, got = expected.get(name, ""), found.get(name, "")
        # The code statement travels in this file, and so cannot name it; the release statement does.
        if stated == got or (name == BUILD_FILE and not stated):
            continue
        yield Difference(name=name, kind=_kind(stated, got), expected=stated, got=got)


def _kind(stated: str, got: str) -> DifferenceKind:
    if not stated:
        return DifferenceKind.UNEXPECTED
    return DifferenceKind.ALTERED if got else DifferenceKind.MISSING


def _bytecode(names: Iterable[str]) -> Iterator[Difference]:
    return (Difference(name=name, kind=DifferenceKind.BYTECODE) for name in sorted(names))


def _built(claim: BuildClaim, commit: str | None) -> BuildFinding:
    if commit is None:
        return _finding(BuildCheck.BUILD, "this code runs in place, from a checkout, and was not built")
    return _finding(BuildCheck.BUILD, f"a build by `{claim.builder_id}`", is_met=True)


def _signature(claim: BuildClaim) -> BuildFinding:
    if not claim.is_signed:
        return _finding(BuildCheck.SIGNATURE, "the statement is unsigned: nobody vouches for this build")
    if not claim.signed_by:
        return _finding(BuildCheck.SIGNATURE, "no builder key was given, so nobody is known to vouch for this build")
    return _finding(BuildCheck.SIGNATURE, f"signed by {', '.join(claim.signed_by)}", is_met=True)


def _commit(claim: BuildClaim, commit: str | None) -> BuildFinding:
    if claim.commit != commit:
        return _finding(BuildCheck.COMMIT, f"expected the commit `{claim.commit}`, got `{commit or 'none'}`")
    return _finding(BuildCheck.COMMIT, claim.commit, is_met=True)


def _files(claim: BuildClaim, differences: tuple[Difference, ...]) -> BuildFinding:
    if differences:
        named = ", ".join(f"{one.name} {one.kind}" for one in differences[:_SHOWN])
        return _finding(BuildCheck.FILES, f"{len(differences)} differ: {named}")
    return _finding(BuildCheck.FILES, f"all {len(claim.files)} are as stated", is_met=bool(claim.files))


def _finding(check: BuildCheck, detail: str, *, is_met: bool = False) -> BuildFinding:
    return BuildFinding(check=check, is_met=is_met, detail=detail)
