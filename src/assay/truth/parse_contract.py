"""A contract from its YAML text: everything wrong with it is told at once, line by line.

text + schema bytes -> values with lines -> blocks -> what must fit together -> Contract
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from assay.kernel.canonical import Profile, canonical_json
from assay.kernel.errors import Error, JsonError
from assay.kernel.json_text import parse_json
from assay.truth._check_contract import cross_problems, warnings_about
from assay.truth._read import Found, located, read_fields
from assay.truth._yaml_text import read_yaml
from assay.truth.contract import Contract, ContractFields, contract_hash
from assay.truth.errors import ContractError, TruthError
from assay.truth.number import plain_value
from assay.truth.problem import Path, Problem, ProblemCode
from assay.truth.validation import require_schema


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractFinding:
    """The contract is there exactly when there are no errors; warnings never refuse."""

    contract: Contract | None
    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


def parse_contract(
    text: str, *, schema_bytes: bytes | None = None, domain_systems: Mapping[str, str] | None = None
) -> Contract:
    """The contract, or a `ContractError` with every problem in it.

    `schema_bytes` is the content of `output_schema_ref`; `domain_systems` adds domains to Kaori's four.
    """
    finding = check_contract(text, schema_bytes=schema_bytes, domain_systems=domain_systems)
    if finding.contract is None:
        raise ContractError(finding.errors)
    return finding.contract


@lru_cache(maxsize=1 << 7)
def contract_from_document(
    document: str, schema_text: str | None = None, domain_systems: tuple[tuple[str, str], ...] = ()
) -> Contract:
    """The contract whose canonical document and schema text these are, as a store keeps them; read once and kept.

    Two calls give one and the same value, and with it everything that was worked out from it.
    """
    schema_bytes = None if schema_text is None else schema_text.encode()
    return parse_contract(document, schema_bytes=schema_bytes, domain_systems=dict(domain_systems))


def check_contract(
    text: str, *, schema_bytes: bytes | None = None, domain_systems: Mapping[str, str] | None = None
) -> ContractFinding:
    """As `parse_contract`, but for an editor: errors and warnings as values."""
    document = read_yaml(text)
    problems = document.problems
    if any(problem.code is ProblemCode.SYNTAX for problem in problems):
        return _finding(None, problems, [], document.lines)
    values = read_fields(_with_text_version(document.value), ContractFields, problems)
    schema = _read_schema(values, schema_bytes, problems)
    problems.extend(cross_problems(values, schema, domain_systems or {}))
    if problems or schema is None:
        return _finding(None, problems, [], document.lines)
    contract = _built(values, document.value, schema, schema_bytes)
    return _finding(contract, problems, warnings_about(contract), document.lines)


def _finding(
    contract: Contract | None, problems: list[Found], warnings: list[Found], lines: Mapping[Path, int]
) -> ContractFinding:
    return ContractFinding(contract=contract, errors=located(problems, lines), warnings=located(warnings, lines))


def _with_text_version(value: object) -> object:
    """`version: 1` is how most people write it."""
    if isinstance(value, dict) and type(value.get("version")) is int:
        return {**value, "version": str(value["version"])}
    return value


def _built(values: dict[str, Any], written: object, schema: dict[str, object], content: bytes | None) -> Contract:
    body: Any = plain_value(written)
    if content is not None:
        # By the hash of the bytes and not by the parsed schema: what was reviewed is what is bound.
        body["output_schema_sha256"] = values["output_schema_sha256"] = sha256(content).hexdigest()
    document = canonical_json(body, Profile.KAORI)
    return Contract(**values, schema=schema, document=document, claim_type_hash=contract_hash(document))


def _read_schema(values: Mapping[str, Any], content: bytes | None, problems: list[Found]) -> dict[str, object] | None:
    """The schema that applies, inline or referenced; exactly one of the two is there, with the bytes of the second."""
    inline, ref = values.get("output_schema"), values.get("output_schema_ref")
    named = "output_schema_ref" if ref is not None else "output_schema"
    before = len(problems)
    if (inline is None) is (ref is None):
        if not any(problem.path[:1] in (("output_schema",), ("output_schema_ref",)) for problem in problems):
            message = "expected exactly one of `output_schema` and `output_schema_ref`, got both or neither"
            problems.append(Found((named,), ProblemCode.REQUIRED, message))
        return None
    if (ref is None) is (content is not None):
        message = "expected the referenced schema's bytes exactly with `output_schema_ref`, got the other"
        problems.append(Found((named,), ProblemCode.SCHEMA, message))
        return None
    _require_pin(values.get("output_schema_sha256"), content, problems)
    schema = inline if content is None else _parsed_schema(content, problems)
    if len(problems) == before:
        _check_schema(schema, named, problems)
    return schema if len(problems) == before else None


def _require_pin(pin: str | None, content: bytes | None, problems: list[Found]) -> None:
    got = None if content is None else sha256(content).hexdigest()
    if pin is not None and pin != got:
        message = f"expected the hash of the referenced schema, {got or 'which there is none of'}, got `{pin}`"
        problems.append(Found(("output_schema_sha256",), ProblemCode.SCHEMA, message))


def _parsed_schema(content: bytes, problems: list[Found]) -> Any:  # noqa: ANN401  judged next
    try:
        return parse_json(content)
    except JsonError as error:
        problems.append(Found(("output_schema_ref",), ProblemCode.SCHEMA, str(error)))
        return None


def _check_schema(schema: object, named: str, problems: list[Found]) -> None:
    try:
        if not isinstance(schema, dict):
            raise TruthError.schema_form(f"expected an object, got {type(schema).__name__}")
        require_schema(schema)
    except Error as error:
        problems.append(Found((named,), ProblemCode.SCHEMA, str(error)))
