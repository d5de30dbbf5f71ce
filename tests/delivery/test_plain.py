"""What delivery writes quickly is what it would have written slowly."""

from hypothesis import given
from hypothesis import strategies as st

from assay.delivery.outcome import Outcome
from assay.delivery.plain import plain_bytes
from assay.kernel.canonical import canonicalize

_TEXTS = st.one_of(
    st.text(max_size=12), st.sampled_from(["", "e\u0301", '"', "\\", "\x7f", "/", "</script>", "\u2028", "ﬁ"])
)
_PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53) + 1, 2**53 - 1), _TEXTS, st.sampled_from(Outcome)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_TEXTS, inner, max_size=4)),
    max_leaves=12,
)


def _slow(value: object) -> bytes | None:
    """None where a value has no canonical bytes, as two keys that are one in NFC have none."""
    try:
        return canonicalize(value)
    except Exception:  # noqa: BLE001 - refused is refused
        return None


@given(st.dictionaries(_TEXTS, _PLAIN, max_size=6))
def test_plain_bytes_are_the_canonical_ones(value: dict[str, object]) -> None:
    expected = _slow(value)
    if expected is not None:
        assert plain_bytes(value) == expected
