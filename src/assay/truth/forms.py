"""The forms of texts and numbers in contracts and records, as annotations that say what is allowed."""

import re
from decimal import Decimal
from typing import Annotated

from assay.truth._read import Bound, Form, Parsed, Size
from assay.truth.bucket import parse_bucket_duration
from assay.truth.duration import parse_duration
from assay.truth.key import parse_truth_key

_NAME = r"[a-z0-9._-]{1,128}"
_TYPE = r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}"


def _form(pattern: str, expected: str) -> Form:
    return Form(re.compile(pattern, re.ASCII), expected)


# Kaori 3.2: ids are of `[a-z0-9._-]`; an agent is one such name, or one after a `prefix:`.
Segment = Annotated[str, _form(_NAME, "a name of `[a-z0-9._-]`")]
Name = Annotated[str, _form(r"[a-z][a-z0-9_]{0,62}", "a name of `[a-z0-9_]`")]
Names = Annotated[tuple[Name, ...], Size(1)]
RecordId = Segment
AgentId = Annotated[str, _form(rf"(?:{_NAME}:)?{_NAME}", "an agent: `name` or `prefix:name` of `[a-z0-9._-]`")]
ClaimTypeId = Annotated[
    str, _form(r"[a-z0-9_-]{1,64}\.[a-z0-9_-]{1,64}\.v[1-9][0-9]{0,5}", "`namespace.name.vN` in lower case")
]
VersionText = Annotated[str, _form(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}", "a version of `[A-Za-z0-9._+-]`")]
HexHash = Annotated[str, _form(r"[0-9a-f]{64}", "64 lower-case hex digits")]
MimeType = Annotated[str, _form(rf"{_TYPE}/{_TYPE}", "a type such as `image/jpeg`")]
EvidenceType = Annotated[str, _form(rf"{_TYPE}(?:/{_TYPE})?", "a type such as `image` or `image/jpeg`")]
# Names of members with dots between them: `reading.level`.
PayloadPath = Annotated[str, _form(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+){0,15}", "member names with dots between")]
# A file beside the contract: no way up, no scheme.
SchemaRef = Annotated[
    str, _form(r"(?!.*(?:^|/)\.\.?(?:/|$))[A-Za-z0-9_][A-Za-z0-9_./-]{0,199}", "a relative path without `..`")
]
Duration = Annotated[str, Parsed(parse_duration)]
BucketLength = Annotated[str, Parsed(parse_bucket_duration)]
TruthKeyText = Annotated[str, Parsed(parse_truth_key)]

Share = Annotated[Decimal, Bound(Decimal(0), Decimal(1))]
Signed = Annotated[Decimal, Bound(Decimal(-1), Decimal(1))]
Positive = Annotated[Decimal, Bound(Decimal(0), Decimal(1_000_000))]
Count = Annotated[int, Bound(Decimal(0), Decimal(1_000_000))]
