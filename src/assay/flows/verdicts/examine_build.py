"""Whether a package on disk is the build that a statement describes (SKI 6.4, 9.3).

`_build.json` of the package, or the release statement beside it -> claim -> compared with every file found
"""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from assay.kernel.canonical import canonicalize
from assay.kernel.dsse import parse_envelope
from assay.kernel.intoto import MalformedStatementError
from assay.kernel.json_text import parse_json
from assay.verdicts.build import BuildReport, check_build, open_provenance


class _BuildFacts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    commit: str
    provenance: dict[str, object]


def examine_build(
    found: Mapping[str, str],
    *,
    builder_keys: Iterable[bytes],
    build_facts: bytes | None,
    statement: bytes | None = None,
    bytecode: Iterable[str] = (),
) -> BuildReport:
    """Every check, met or not. Refused is a statement that cannot be read, or that none of the builder keys signed.

    `build_facts` is the package's `_build.json`, None where it has none; a release statement takes the place of the
    one in it, and covers that file too.
    """
    facts = None if build_facts is None else _parse_facts(build_facts)
    text = statement if statement is not None or facts is None else canonicalize(facts.provenance)
    claim = None if text is None else open_provenance(parse_envelope(text), builder_keys)
    return check_build(claim, found, commit=None if facts is None else facts.commit, bytecode=bytecode)


def _parse_facts(text: bytes) -> _BuildFacts:
    try:
        return msgspec.convert(parse_json(text), _BuildFacts)
    except msgspec.ValidationError as error:
        raise MalformedStatementError(f"expected a commit and its provenance in `_build.json`: {error}") from error
