"""Where a contract says its output schema is, before anything else of it is judged: somebody has to fetch the bytes."""

from assay.truth._yaml_text import read_yaml


def find_schema_ref(text: str) -> str | None:
    """`output_schema_ref` as written; None where there is none, or the text cannot be read so far."""
    value = read_yaml(text).value
    ref = value.get("output_schema_ref") if isinstance(value, dict) else None
    return ref if isinstance(ref, str) else None
