"""A package is the build that a statement describes, or every way in which it is not is told."""

import pytest
from msgspec.structs import replace

from assay.kernel.dsse import DsseEnvelope, UntrustedEnvelopeError, seal_envelope
from assay.kernel.intoto import (
    PAYLOAD_TYPE,
    BuildDefinition,
    Builder,
    MalformedStatementError,
    Provenance,
    ResourceDescriptor,
    RunDetails,
    make_statement,
    render_statement,
)
from assay.verdicts.build import (
    BUILD_FILE,
    BUILD_TYPE,
    BuildCheck,
    BuildReport,
    DifferenceKind,
    check_build,
    open_provenance,
)
from tests.kernel._signing import LOG, OTHER

COMMIT = "c0ffee" + "0" * 34
FILES = {"assay/a.py": "a" * 64, "assay/b.py": "b" * 64, "assay_examples/c.yaml": "c" * 64}
SOURCE = ResourceDescriptor(name="source", digest={"gitCommit": COMMIT})


def _provenance(*dependencies: ResourceDescriptor) -> Provenance:
    return Provenance(
        build_definition=BuildDefinition(
            build_type=BUILD_TYPE, external_parameters={}, resolved_dependencies=dependencies
        ),
        run_details=RunDetails(builder=Builder(id="urn:example:builder")),
    )


def _sealed(*, is_signed: bool = True, dependencies: tuple[ResourceDescriptor, ...] = (SOURCE,)) -> DsseEnvelope:
    statement = make_statement({**FILES, "assay-1.whl": "d" * 64}, _provenance(*dependencies))
    signers = [(LOG.key_id, LOG.sign)] if is_signed else []
    return seal_envelope(PAYLOAD_TYPE, render_statement(statement), signers)


def _report(found: dict[str, str], *, commit: str | None = COMMIT, bytecode: tuple[str, ...] = ()) -> BuildReport:
    return check_build(open_provenance(_sealed(), [LOG.public]), found, commit=commit, bytecode=bytecode)


def _unmet(report: BuildReport) -> list[BuildCheck]:
    return [finding.check for finding in report.findings if not finding.is_met]


@pytest.mark.clause("ski", "9.3")
def test_a_package_as_it_was_built_is_proven() -> None:
    """The file that carries the statement may be there: no statement can name the file that it is in."""
    report = _report({**FILES, BUILD_FILE: "e" * 64})
    assert (report.is_proven, report.differences, report.commit) == (True, (), COMMIT)
    assert report.builder_id == "urn:example:builder"


@pytest.mark.parametrize(
    ("found", "name", "kind"),
    [
        ({**FILES, "assay/a.py": "f" * 64}, "assay/a.py", DifferenceKind.ALTERED),
        ({name: FILES[name] for name in ("assay/a.py", "assay/b.py")}, "assay_examples/c.yaml", DifferenceKind.MISSING),
        ({**FILES, "assay/sitecustomize.so": "f" * 64}, "assay/sitecustomize.so", DifferenceKind.UNEXPECTED),
    ],
    ids=["altered", "missing", "unexpected"],
)
def test_every_difference_is_told_by_name(found: dict[str, str], name: str, kind: DifferenceKind) -> None:
    report = _report(found)
    assert [(one.name, one.kind) for one in report.differences] == [(name, kind)]
    assert _unmet(report) == [BuildCheck.FILES]
    assert name in report.findings[-1].detail


def test_bytecode_that_is_not_its_sources_is_a_difference() -> None:
    report = _report(FILES, bytecode=("assay/__pycache__/a.pyc",))
    assert [(one.name, one.kind) for one in report.differences] == [("assay/__pycache__/a.pyc", "bytecode")]


def test_a_statement_that_names_the_build_file_binds_it_too() -> None:
    claim = replace(open_provenance(_sealed(), [LOG.public]), files={**FILES, BUILD_FILE: "e" * 64})
    assert check_build(claim, {**FILES, BUILD_FILE: "e" * 64}, commit=COMMIT).is_proven
    for found in ({**FILES, BUILD_FILE: "f" * 64}, FILES):
        assert _unmet(check_build(claim, found, commit=COMMIT)) == [BuildCheck.FILES]


def test_only_the_operators_builder_key_counts() -> None:
    with pytest.raises(UntrustedEnvelopeError):
        open_provenance(_sealed(), [OTHER.public])


def test_without_a_key_or_a_signature_nobody_vouches_and_that_is_said() -> None:
    unsigned = check_build(open_provenance(_sealed(is_signed=False), [LOG.public]), FILES, commit=COMMIT)
    unjudged = check_build(open_provenance(_sealed(), []), FILES, commit=COMMIT)
    assert _unmet(unsigned) == _unmet(unjudged) == [BuildCheck.SIGNATURE]
    assert "unsigned" in unsigned.findings[1].detail
    assert "no builder key" in unjudged.findings[1].detail


def test_a_checkout_that_runs_in_place_is_no_build() -> None:
    """Also when its files are exactly those of a build that somebody hands in."""
    assert _unmet(check_build(None, FILES, commit=None)) == [BuildCheck.BUILD]
    assert _unmet(_report(FILES, commit=None)) == [BuildCheck.BUILD, BuildCheck.COMMIT]


def test_a_package_that_names_another_commit_is_not_that_build() -> None:
    assert _unmet(_report(FILES, commit="0" * 40)) == [BuildCheck.COMMIT]


@pytest.mark.parametrize("dependencies", [(), (SOURCE, SOURCE), (ResourceDescriptor(name="source"),)], ids=len)
def test_a_statement_must_name_one_commit(dependencies: tuple[ResourceDescriptor, ...]) -> None:
    with pytest.raises(MalformedStatementError, match="one commit"):
        open_provenance(_sealed(dependencies=dependencies), [LOG.public])


def test_a_statement_about_nothing_proves_nothing() -> None:
    statement = render_statement(make_statement({}, _provenance(SOURCE)))
    claim = open_provenance(seal_envelope(PAYLOAD_TYPE, statement, [(LOG.key_id, LOG.sign)]), [LOG.public])
    assert _unmet(check_build(claim, {}, commit=COMMIT)) == [BuildCheck.FILES]
