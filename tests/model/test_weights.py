"""A weight file is read whole or refused."""

import pytest

from assay.kernel.digest import digest_of
from assay.model.errors import WeightFormError
from assay.model.weights import Shape, parse_weights, render_weights, tensors_of
from tests.model.networks import SMALL, untrained


def test_a_file_gives_back_the_integers_it_was_made_of() -> None:
    content = untrained()
    weights = parse_weights(content)
    assert weights.shape == SMALL
    assert weights.hash == digest_of(content)
    assert render_weights(weights.shape, weights.tensors) == content


@pytest.mark.clause("ski", "2.1.3")
def test_substituted_weights_are_refused_before_they_are_read() -> None:
    """One bit is enough, and so is another honest file."""
    content = untrained()
    expected = digest_of(content)
    parse_weights(content, expected=expected)
    for other in (content[:-1] + bytes([content[-1] ^ 1]), untrained(seed=2), b""):
        with pytest.raises(WeightFormError, match="expected weights"):
            parse_weights(other, expected=expected)


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda content: b"X" + content[1:],
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: content[:8] + b"\0\0\0\2{}" + content[14:],
        lambda content: content.replace(b'"heads":4', b'"heads":5'),
        lambda content: content.replace(b'"width":32', b'"width":31'),
        lambda content: content.replace(b"vocabulary_hash", b"vocabulary_hasg"),
    ],
)
def test_a_damaged_file_is_refused(damage: object) -> None:
    with pytest.raises(WeightFormError):
        parse_weights(damage(untrained()))  # type: ignore[operator]  # one of the functions above


def test_a_network_too_wide_to_add_exactly_is_refused() -> None:
    """1,041 products of 7-bit values may pass 2^24."""
    wide = Shape(vocabulary=SMALL.vocabulary, width=4, layers=1, heads=1, inner=1041)
    with pytest.raises(WeightFormError):
        parse_weights(untrained(wide))


def test_every_array_is_listed_once() -> None:
    names = [one.name for one in tensors_of(SMALL)]
    assert len(names) == len(set(names)) == 3 + 2 * (4 * SMALL.layers + 1)
