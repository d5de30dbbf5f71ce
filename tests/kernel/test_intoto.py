"""in-toto statements with SLSA provenance: written, read back, and refused where they say too little."""

import json
from typing import Any

import pytest

from assay.kernel.intoto import (
    PROVENANCE_TYPE,
    STATEMENT_TYPE,
    BuildDefinition,
    Builder,
    BuildMetadata,
    MalformedStatementError,
    Provenance,
    ResourceDescriptor,
    RunDetails,
    digests_of,
    make_statement,
    parse_provenance,
    parse_statement,
    render_statement,
)

PROVENANCE = Provenance(
    build_definition=BuildDefinition(
        build_type="https://example.org/build/v1",
        external_parameters={"ref": "main"},
        resolved_dependencies=(ResourceDescriptor(uri="git+https://example.org/x", digest={"gitCommit": "ab"}),),
    ),
    run_details=RunDetails(builder=Builder(id="https://example.org/builder"), metadata=BuildMetadata(started_on="now")),
)
STATEMENT = make_statement({"b.py": "1" * 64, "a.py": "0" * 64}, PROVENANCE)


def _changed(**changes: Any) -> str:  # noqa: ANN401 - any field
    return json.dumps(json.loads(render_statement(STATEMENT)) | changes)


def test_a_statement_has_the_fields_of_the_two_specifications() -> None:
    """Names and nesting as in-toto Statement v1 and SLSA provenance v1 write them; what is empty is left out."""
    assert json.loads(render_statement(STATEMENT)) == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": "a.py", "digest": {"sha256": "0" * 64}},
            {"name": "b.py", "digest": {"sha256": "1" * 64}},
        ],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "https://example.org/build/v1",
                "externalParameters": {"ref": "main"},
                "internalParameters": {},
                "resolvedDependencies": [{"uri": "git+https://example.org/x", "digest": {"gitCommit": "ab"}}],
            },
            "runDetails": {
                "builder": {"id": "https://example.org/builder", "version": {}},
                "metadata": {"startedOn": "now"},
            },
        },
    }


def test_a_statement_is_read_back_as_it_was() -> None:
    read = parse_statement(render_statement(STATEMENT))
    assert read == STATEMENT
    assert parse_provenance(read) == PROVENANCE
    assert digests_of(read.subject) == {"a.py": "0" * 64, "b.py": "1" * 64}


def test_fields_of_a_later_version_are_passed_over() -> None:
    assert parse_statement(_changed(later=1)) == STATEMENT


@pytest.mark.parametrize(
    "text",
    ["[]", _changed(_type="https://in-toto.io/Statement/v0.1"), _changed(subject=3), _changed(predicate=[])],
    ids=["no object", "another type", "no subjects", "no predicate"],
)
def test_what_is_no_statement_is_refused(text: str) -> None:
    with pytest.raises(MalformedStatementError):
        parse_statement(text)


@pytest.mark.parametrize("change", [{"predicateType": "https://slsa.dev/vsa/v1"}, {"predicate": {}}], ids=str)
def test_what_is_no_provenance_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(MalformedStatementError):
        parse_provenance(parse_statement(_changed(**change)))


@pytest.mark.parametrize(
    "digests",
    [[{}], [{"sha512": "0" * 128}], [{"sha256": "0" * 63}], [{"sha256": "A" * 64}], [{"sha256": "0" * 64}] * 2],
)
def test_a_subject_that_nothing_can_be_compared_with_is_refused(digests: list[dict[str, str]]) -> None:
    with pytest.raises(MalformedStatementError):
        digests_of([ResourceDescriptor(name="a", digest=digest) for digest in digests])


def test_the_types_are_the_published_ones() -> None:
    assert (STATEMENT.type, STATEMENT.predicate_type) == (STATEMENT_TYPE, PROVENANCE_TYPE)
