"""`assay.truth` has the names of the specification, and loads what is asked for and nothing else."""

import subprocess
import sys
from datetime import UTC, datetime

import pytest

import assay.truth

_LIGHT = """
import sys
import assay.truth
assert not [name for name in sys.modules if name.startswith("assay.truth.")], sys.modules
assert assay.truth.format_bucket and "assay.truth.compile" not in sys.modules
"""


@pytest.mark.clause("kaori", "3.3")
def test_the_names_of_the_specification_are_there_and_do_what_it_says() -> None:
    """Canonical bytes, text and hash; buckets; validation with a deterministic error."""
    assert assay.truth.canonicalize({"b": 1, "a": " x  y "}) == b'{"a":"x y","b":1}'
    assert assay.truth.canonical_json({"a": 1.5}) == '{"a":1.5}'
    # SHA-256 of `{}`.
    expected = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert assay.truth.canonical_hash({}) == expected
    bucket = assay.truth.bucket_datetime(datetime(2026, 1, 7, 12, 34, 56, tzinfo=UTC), "PT1H")
    assert assay.truth.format_bucket(bucket) == "2026-01-07T12:00Z"
    schema = {"type": "object", "required": ["severity"]}
    assert assay.truth.validate_claim_payload({"severity": "high"}, schema) == {"severity": "high"}
    with pytest.raises(assay.truth.SchemaValidationError) as caught:
        assay.truth.validate_claim_payload({}, schema)
    assert [(one.path, one.code) for one in caught.value.violations] == [("severity", "schema.required")]


def test_every_public_name_can_be_had_and_no_other() -> None:
    """The list, the table behind it and `dir` agree."""
    assert all(getattr(assay.truth, name) is not None for name in assay.truth.__all__)
    assert dir(assay.truth) == assay.truth.__all__ == sorted(assay.truth.__all__)
    assert set(assay.truth._MODULE_OF) == set(assay.truth.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = assay.truth.no_such_name


def test_importing_the_room_loads_none_of_it() -> None:
    """Whoever needs only buckets does not load the compiler."""
    done = subprocess.run([sys.executable, "-c", _LIGHT], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
