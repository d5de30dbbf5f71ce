"""in-toto Statement v1, and the SLSA provenance v1 that one may carry: which bytes came out of which build.

subjects (name, sha256) + predicate -> Statement -> render_statement -> the payload of a DSSE envelope
bytes -> parse_statement -> Statement -> parse_provenance

As in-toto demands of readers, fields that we do not know are passed over; a subject that names no sha256 is refused,
since nothing could be compared with it.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct, field

from assay.kernel.canonical import canonicalize
from assay.kernel.errors import Blame, Error
from assay.kernel.json_text import Limits, parse_json

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PROVENANCE_TYPE = "https://slsa.dev/provenance/v1"
_LIMITS = Limits(max_bytes=32 * 1024 * 1024, max_depth=16)
# What a builder writes there is its own affair; it came out of strict JSON, or goes into canonical bytes.
_Json = dict[str, Any]
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


class MalformedStatementError(Error):
    """A text is not the in-toto statement or SLSA provenance that was asked for."""

    code = "statement.malformed"
    blame = Blame.INPUT


class ResourceDescriptor(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something by name or address, and by its digests: algorithm -> lower-case hex."""

    name: str = ""
    uri: str = ""
    digest: dict[str, str] = field(default_factory=dict)


class Statement(Struct, frozen=True, kw_only=True):
    """What `predicate` says is about every one of `subject`."""

    type: str = field(name="_type")
    subject: tuple[ResourceDescriptor, ...]
    predicate_type: str = field(name="predicateType")
    predicate: _Json


class BuildDefinition(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was built, from what; `external_parameters` are all that whoever asked for the build could choose."""

    build_type: str
    external_parameters: _Json
    internal_parameters: _Json = field(default_factory=dict)
    resolved_dependencies: tuple[ResourceDescriptor, ...] = ()


class Builder(Struct, frozen=True, kw_only=True):
    id: str
    version: dict[str, str] = field(default_factory=dict)


class BuildMetadata(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    invocation_id: str = ""
    started_on: str = ""
    finished_on: str = ""


class RunDetails(Struct, frozen=True, kw_only=True):
    builder: Builder
    metadata: BuildMetadata = BuildMetadata()


class Provenance(Struct, frozen=True, kw_only=True, rename="camel"):
    """The SLSA provenance v1 predicate."""

    build_definition: BuildDefinition
    run_details: RunDetails


def make_statement(digests: Mapping[str, str], provenance: Provenance) -> Statement:
    """A statement about these files (name -> sha256 in hex), in the order of their names."""
    return Statement(
        type=STATEMENT_TYPE,
        subject=tuple(ResourceDescriptor(name=name, digest={"sha256": digests[name]}) for name in sorted(digests)),
        predicate_type=PROVENANCE_TYPE,
        # Through JSON, so that a statement made and one read are equal.
        predicate=msgspec.json.decode(msgspec.json.encode(provenance)),
    )


def render_statement(statement: Statement) -> bytes:
    return canonicalize(msgspec.to_builtins(statement))


def parse_statement(text: bytes | str) -> Statement:
    """Strict JSON of the shape of a Statement v1; who vouches for it is another question."""
    value = parse_json(text, limits=_LIMITS)
    try:
        statement = msgspec.convert(value, Statement)
    except msgspec.ValidationError as error:
        raise MalformedStatementError(f"expected an in-toto statement: {error}") from error
    if statement.type != STATEMENT_TYPE:
        raise MalformedStatementError(f"expected `{STATEMENT_TYPE}`, got `{ascii(statement.type)[1:-1][:80]}`")
    return statement


def parse_provenance(statement: Statement) -> Provenance:
    if statement.predicate_type != PROVENANCE_TYPE:
        got = ascii(statement.predicate_type)[1:-1][:80]
        raise MalformedStatementError(f"expected a predicate of type `{PROVENANCE_TYPE}`, got `{got}`")
    try:
        return msgspec.convert(statement.predicate, Provenance)
    except msgspec.ValidationError as error:
        raise MalformedStatementError(f"expected an SLSA provenance v1: {error}") from error


def digests_of(subjects: Iterable[ResourceDescriptor]) -> dict[str, str]:
    """Name -> sha256 of every subject; one without a sha256, or a name twice, is refused."""
    digests: dict[str, str] = {}
    for subject in subjects:
        name, digest = ascii(subject.name)[1:-1][:80], subject.digest.get("sha256", "")
        if _SHA256.fullmatch(digest) is None:
            raise MalformedStatementError(f"expected a sha256 of the subject `{name}`, got none")
        if subject.name in digests:
            raise MalformedStatementError(f"expected each subject once, got `{name}` twice")
        digests[subject.name] = digest
    return digests
