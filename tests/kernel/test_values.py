"""Digests, ids and instants: values with one spelling, and coded refusals of every other."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.digest import (
    EMPTY_DIGEST,
    ZERO_DIGEST,
    MalformedDigestError,
    digest_from_raw,
    digest_of,
    parse_digest,
    raw_digest,
)
from assay.kernel.errors import Blame, Error, TypeFormError
from assay.kernel.ids import (
    MalformedIdError,
    parse_key_id,
    parse_principal_id,
    parse_tenant_id,
    parse_ticket_id,
)
from assay.kernel.instant import (
    Instant,
    MalformedInstantError,
    NaiveDatetimeError,
    instant_before,
    instant_of,
    parse_foreign_instant,
    parse_instant,
    render_instant,
)


@pytest.mark.clause("ski", "4.6")
def test_a_digest_is_lower_case_hex_after_its_algorithm() -> None:
    assert digest_of(b"abc") == "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert parse_digest(digest_of(b"abc")) == digest_of(b"abc")


@pytest.mark.clause("ski", "3.5")
def test_the_empty_digest_is_the_hash_of_no_bytes() -> None:
    assert EMPTY_DIGEST == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert ZERO_DIGEST == "sha256:" + "0" * 64


def test_a_digest_and_its_raw_bytes_are_one_thing() -> None:
    assert digest_from_raw(raw_digest(digest_of(b"abc"))) == digest_of(b"abc")
    with pytest.raises(MalformedDigestError, match="expected 32 bytes"):
        digest_from_raw(b"short")


@pytest.mark.parametrize(
    "text", ["", "sha256:", "SHA256:" + "0" * 64, "sha256:" + "A" * 64, "0" * 64, ZERO_DIGEST + "\n"]
)
def test_another_spelling_of_a_digest_is_refused(text: str) -> None:
    with pytest.raises(MalformedDigestError, match="expected `sha256:`"):
        parse_digest(text)


@pytest.mark.parametrize(
    ("parse", "good", "bad"),
    [
        (parse_tenant_id, "acme-2.eu_1", ["", "Acme", "-a", "a" * 64, "a b", "a\n", "../x", "é"]),
        (parse_principal_id, "user:amira", ["", "amira", "user:", ":amira", "user:a:b", "User:a", "user:a "]),
        (parse_key_id, "sha256:" + "ab" * 32, ["sha256:ab", "ab" * 32, "sha256:" + "AB" * 32]),
        (parse_ticket_id, "tkt_" + "0a" * 13, ["tkt_", "0a" * 13, "tkt_" + "0A" * 13]),
    ],
)
def test_an_id_has_its_form_or_is_refused(parse: object, good: str, bad: list[str]) -> None:
    assert callable(parse)
    assert parse(good) == good
    for text in bad:
        with pytest.raises(MalformedIdError, match="expected"):
            parse(text)


@pytest.mark.clause("kaori", "4.1")
@pytest.mark.clause("kaori", "4.2")
def test_a_naive_datetime_names_no_instant() -> None:
    with pytest.raises(NaiveDatetimeError, match="expected an aware datetime"):
        instant_of(datetime(2026, 1, 7, 12))  # noqa: DTZ001 - what is refused
    with pytest.raises(NaiveDatetimeError, match="expected an offset"):
        parse_instant("2026-01-07T12:00:00")


@pytest.mark.clause("kaori", "4.2")
def test_every_offset_becomes_utc_at_once() -> None:
    east = datetime(2026, 1, 7, 20, 0, tzinfo=timezone(timedelta(hours=8)))
    assert instant_of(east).utcoffset() == timedelta(0)
    assert render_instant(east) == "2026-01-07T12:00:00Z"
    assert parse_instant("2026-01-07t20:00:00+08:00") == parse_instant("2026-01-07T12:00:00z")


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("2026-01-07T12:00:00.120000Z", "2026-01-07T12:00:00.12Z"),
        ("2026-01-07T12:00:00.000001Z", "2026-01-07T12:00:00.000001Z"),
        ("2026-01-07T12:00:00.000Z", "2026-01-07T12:00:00Z"),
        ("2026-01-07T12:00:00.123456000Z", "2026-01-07T12:00:00.123456Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ],
)
@pytest.mark.clause("kaori", "3.2")
def test_fractions_are_kept_only_when_non_zero_and_trimmed(text: str, rendered: str) -> None:
    assert render_instant(parse_instant(text)) == rendered


def test_an_offset_with_a_fraction_of_a_second_is_converted_before_it_is_written() -> None:
    odd = timezone(timedelta(seconds=1, microseconds=500_000))
    assert render_instant(datetime(2026, 1, 1, 0, 0, 10, tzinfo=odd)) == "2026-01-01T00:00:08.5Z"


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-07",
        "2026-01-07T12:00Z",
        "2026-13-07T12:00:00Z",
        "2026-01-07T24:00:00Z",
        "2026-01-07T24:00:01Z",
        "2026-01-07T12:60:00Z",
        "2026-01-07T12:00:60Z",
        "2026-01-07T12:00:00.1234567Z",
        "2026-01-07 12:00:00Z",
        "2026-01-07T12:00:00+8:00",
        "2026-01-07T12:00:00+05:60",
        "2026-01-07T12:00:00-00:99",
        "2026-01-07T12:00:00+24:00",
        "0001-01-01T00:00:00+01:00",
        "２０２６-01-07T12:00:00Z",
    ],
)
def test_another_text_is_not_an_instant(text: str) -> None:
    with pytest.raises(MalformedInstantError, match="`"):
        parse_instant(text)


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("2026-01-07T12:00:00.1234567Z", "2026-01-07T12:00:00.123456Z"),
        ("2026-01-07T12:00:00.999999999+00:00", "2026-01-07T12:00:00.999999Z"),
        ("2026-01-07t12:00:00.0000009999999z", "2026-01-07T12:00:00Z"),
        ("2026-01-07T20:00:00.5+08:00", "2026-01-07T12:00:00.5Z"),
    ],
)
def test_what_others_write_finer_than_a_microsecond_is_cut(text: str, rendered: str) -> None:
    """RFC 3339 5.6 limits no fraction, and Kaori 4.2 truncates; nothing is rounded into the next second."""
    assert render_instant(parse_foreign_instant(text)) == rendered


@pytest.mark.parametrize("text", ["2026-01-07T12:00:00.1234567", "2026-01-07T12:00:60.1234567Z", "now.1234567Z"])
def test_a_finer_text_that_is_no_instant_is_none_for_others_either(text: str) -> None:
    with pytest.raises(TypeFormError):
        parse_foreign_instant(text)


@given(st.datetimes(timezones=st.just(UTC)).map(Instant))
def test_an_instant_reads_back_from_its_text(instant: Instant) -> None:
    assert parse_instant(render_instant(instant)) == instant


def test_the_root_error_blames_us_until_a_family_says_otherwise() -> None:
    """An error nobody thought about must not be shown to a caller as the caller's fault."""
    assert Error.blame is Blame.OURS
    assert {blame.value for blame in Blame} == {"answer", "usage", "input", "ours"}


def test_before_the_first_instant_there_is_none() -> None:
    """A window that reaches further back than the calendar begins with it, and nothing overflows."""
    first = parse_instant("0001-01-01T00:00:00Z")
    assert instant_before(parse_instant("2026-01-07T12:00:00Z"), 60) == parse_instant("2026-01-07T11:59:00Z")
    assert instant_before(first, 1) == instant_before(first, 1e300) == first
