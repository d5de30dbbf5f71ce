"""A truth key is the one address of a claim: six parts, lower case, nothing made up."""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import Error
from assay.kernel.instant import parse_instant
from assay.truth.errors import ArtefactIdError, LocationError, TruthError
from assay.truth.key import (
    SpatialSystem,
    TruthKey,
    build_truth_key,
    parse_claim_type_id,
    parse_truth_key,
    render_truth_key,
)
from assay.truth.place import HealpixScheme, Location
from tests.raising import raises

VECTORS = Path(__file__).parents[1] / "vectors" / "kaori" / "truthkeys.json"
CASES = json.loads(VECTORS.read_text())["cases"]
EVENT = parse_instant("2026-01-07T13:37:42Z")
MALE = Location(lat=4.175, lon=73.509)
EXAMPLE = "earth:flood:h3:8928308280fffff:surface:2026-01-02T10:00Z"


def build(args: dict[str, Any]) -> str:
    given_location = args.get("location")
    location = None if given_location is None else msgspec.convert(given_location, Location)
    rest = {name: value for name, value in args.items() if name not in ("event_time", "location")}
    return render_truth_key(build_truth_key(event_time=parse_instant(args["event_time"]), location=location, **rest))


@pytest.mark.clause("kaori", "law 3")
@pytest.mark.clause("kaori", "4.3")
@pytest.mark.clause("kaori", "5.1")
@pytest.mark.clause("kaori", "5.4")
@pytest.mark.clause("kaori", "5.5")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_every_published_key_is_met(case: dict[str, Any]) -> None:
    """Earth and ocean by H3, artefacts by hash or id, the time by the event; what has no address is refused."""
    if case.get("refused"):
        with pytest.raises(Error):
            build(case["args"])
    else:
        assert build(case["args"]) == case["ref"]


@pytest.mark.clause("kaori", "5.1")
@pytest.mark.parametrize(
    "text", [EXAMPLE, "meta:research_artifact:meta:abc123def456789012345678901234:knowledge:2026-01-07T00:00Z"]
)
def test_the_specification_s_own_examples_survive_parsing(text: str) -> None:
    """Parse and render are inverse."""
    key = parse_truth_key(text)
    assert render_truth_key(key) == text
    assert key.time_bucket.endswith(":00Z")


@pytest.mark.clause("kaori", "5.2")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "earth:flood:h3:89:surface",
        EXAMPLE.replace("earth", "Earth"),
        EXAMPLE.replace("8928308280fffff", "8928308280FFFFF"),
        EXAMPLE.replace("surface", ""),
        EXAMPLE.replace("surface", "sur face"),
        EXAMPLE.replace("surface", "surfacé"),
        EXAMPLE.replace("surface", "sur:face"),
        EXAMPLE.replace("Z", "z"),
        EXAMPLE.replace("Z", "+00:00"),
        EXAMPLE.replace(":00Z", ":00:00Z"),
        EXAMPLE.replace("-01-02", "-02-30"),
        EXAMPLE.replace("T10", "T24"),
        EXAMPLE.replace("2026", "２０２６"),
        EXAMPLE + "\n",
    ],
)
def test_a_text_out_of_form_is_no_key(text: str) -> None:
    """Upper case is refused and not folded; the bucket is a real minute in UTC."""
    with raises(TruthError.key_form) as caught:
        parse_truth_key(text)
    assert caught.value.code == "truth.key_form"


SEGMENT = st.text("abcxyz0189._-", min_size=1, max_size=12)


@pytest.mark.clause("kaori", "5.2")
@given(parts=st.tuples(SEGMENT, SEGMENT, st.sampled_from(SpatialSystem), SEGMENT, SEGMENT))
def test_parts_in_form_give_a_key_that_reads_back(parts: tuple[str, str, str, str, str]) -> None:
    """No two keys share a text."""
    domain, topic, system, place, z_index = parts
    key = TruthKey(
        domain=domain, topic=topic, spatial_system=system, spatial_id=place, z_index=z_index,
        time_bucket="2026-01-02T10:00Z",
    )  # fmt: skip
    assert parse_truth_key(render_truth_key(key)) == key


@pytest.mark.clause("kaori", "6.2")
@pytest.mark.parametrize(
    "text", ["", "earth", "earth.", ".flood", "Earth.flood.v1", "earth.flood.coast.v1", "earth.flood.v"]
)
def test_a_claim_type_id_has_a_domain_a_name_and_perhaps_a_version(text: str) -> None:
    """Dropping a part silently would give two claim types one address."""
    assert parse_claim_type_id("earth.flood.v1") == parse_claim_type_id("earth.flood") == ("earth", "flood")
    with raises(TruthError.claim_type_id):
        build_truth_key(claim_type_id=text, event_time=EVENT, location=MALE)


@pytest.mark.clause("kaori", "5.4")
@pytest.mark.clause("kaori", "5.5")
@pytest.mark.parametrize(
    ("claim_type_id", "system"),
    [("earth.flood.v1", "meta"), ("ocean.reef.v1", "healpix"), ("space.debris.v1", "h3"), ("meta.data.v1", "h3")],
)
def test_a_domain_keeps_the_spatial_system_of_the_specification(claim_type_id: str, system: str) -> None:
    """Earth, ocean and space cannot be addressed as artefacts, nor an artefact as a place."""
    with raises(TruthError.spatial_system):
        build_truth_key(
            claim_type_id=claim_type_id, event_time=EVENT, location=MALE, spatial_system=system, content_hash="a" * 64
        )


@pytest.mark.clause("kaori", "5.4")
@pytest.mark.clause("kaori", "5.5")
@pytest.mark.parametrize(
    "text",
    [
        "earth:flood:meta:abc123:surface:2026-01-02T10:00Z",
        "ocean:reef:healpix:42:seabed:2026-01-02T10:00Z",
        "space:debris:h3:8928308280fffff:orbital_shell:2026-01-02T10:00Z",
        "meta:dataset:h3:8928308280fffff:knowledge:2026-01-02T10:00Z",
        "mars:dust:postcode:1010:surface:2026-01-02T10:00Z",
    ],
)
def test_a_key_with_another_domain_s_spatial_system_is_no_key(text: str) -> None:
    """A key that nobody can build is no address; one is told so where it is read, and not when nothing is found."""
    with raises(TruthError.spatial_system):
        parse_truth_key(text)


def test_a_domain_of_one_s_own_names_its_system() -> None:
    """By the table given, or in the call; without either, or with an unknown system, there is no key."""
    by_table = build_truth_key(
        claim_type_id="mars.dust.v1", event_time=EVENT, location=MALE, domain_systems={"mars": "healpix"}
    )
    in_call = build_truth_key(claim_type_id="mars.dust.v1", event_time=EVENT, location=MALE, spatial_system="healpix")
    assert by_table == in_call
    assert by_table.spatial_system == "healpix"
    for system in (None, "postcode"):
        with raises(TruthError.spatial_system):
            build_truth_key(claim_type_id="mars.dust.v1", event_time=EVENT, location=MALE, spatial_system=system)


def test_the_specification_s_domains_cannot_be_remapped() -> None:
    """A deployment's table adds, and never overrides."""
    key = build_truth_key(
        claim_type_id="earth.flood.v1", event_time=EVENT, location=MALE, domain_systems={"earth": "healpix"}
    )
    assert key.spatial_system == "h3"


@pytest.mark.clause("kaori", "5.4")
def test_space_is_addressed_by_healpix_in_the_scheme_named() -> None:
    """Order 0 at the north pole of the sky: base pixel 0 in both; elsewhere the numberings differ."""
    pole = Location(lat=90, lon=0)
    key = build_truth_key(
        claim_type_id="space.debris.v1", event_time=EVENT, location=pole, spatial_resolution=0, z_index="orbital_shell"
    )
    assert render_truth_key(key) == "space:debris:healpix:0:orbital_shell:2026-01-07T13:00Z"
    nested, ring = (
        build_truth_key(claim_type_id="space.debris.v1", event_time=EVENT, location=MALE, healpix_scheme=scheme)
        for scheme in HealpixScheme
    )
    assert nested.spatial_id != ring.spatial_id


@pytest.mark.parametrize(
    ("lat", "lon"),
    [
        (90.1, 0),
        (-91, 0),
        (0, 180.5),
        (0, -181),
        (float("nan"), 0),
        (0, float("inf")),
        (0, 1e400),
        (True, 0),
        ("4", 0),
        (None, 0),
    ],
)
def test_a_place_off_the_sphere_is_refused(lat: Any, lon: Any) -> None:  # noqa: ANN401  wrong types on purpose
    """Not wrapped, not clamped, not guessed."""
    with pytest.raises(LocationError) as caught:
        Location(lat=lat, lon=lon)
    with pytest.raises(LocationError):
        Location(lat=10**5000, lon=0)
    assert caught.value.code == "truth.location"


@pytest.mark.parametrize(("claim_type_id", "resolution"), [("earth.flood.v1", 16), ("space.debris.v1", 30)])
def test_a_resolution_outside_the_system_is_refused(claim_type_id: str, resolution: int) -> None:
    """H3 has 0 to 15, HEALPix orders 0 to 29; a bool is none."""
    for wrong in (resolution, -1, True):
        with raises(TruthError.resolution):
            build_truth_key(claim_type_id=claim_type_id, event_time=EVENT, location=MALE, spatial_resolution=wrong)


def test_a_missing_geo_library_is_said_and_no_key_is_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are no mock cells."""
    monkeypatch.setitem(sys.modules, "h3", None)
    with raises(TruthError.geo_library_missing) as caught:
        build_truth_key(claim_type_id="earth.flood.v1", event_time=EVENT, location=MALE)
    assert caught.value.code == "truth.geo_library_missing"


@pytest.mark.clause("kaori", "5.5")
@pytest.mark.parametrize(
    ("strategy", "content_hash", "artifact_id", "expected"),
    [
        ("content_hash", "AB" * 32, "Name", "ab" * 16),
        ("provided_id", "AB" * 32, "Name", "name"),
        ("hybrid", "AB" * 32, "Name", "ab" * 16),
        ("hybrid", None, "Name", "name"),
        ("hybrid", "", "Name", "name"),
        ("content_hash", None, "Name", None),
        ("provided_id", "AB" * 32, None, None),
        ("hybrid", None, None, None),
        ("provided_id", None, "has space", None),
        ("provided_id", None, "a:b", None),
    ],
)
def test_the_strategy_says_what_names_an_artefact(
    strategy: str, content_hash: str | None, artifact_id: str | None, expected: str | None
) -> None:
    """A hash is cut to 32 characters, an id is kept whole, and hybrid prefers the hash."""
    args = {"claim_type_id": "meta.data.v1", "id_strategy": strategy, "artifact_id": artifact_id}
    if expected is None:
        with pytest.raises(ArtefactIdError):
            build_truth_key(event_time=EVENT, content_hash=content_hash, **args)  # type: ignore[arg-type]  # one table
    else:
        key = build_truth_key(event_time=EVENT, content_hash=content_hash, **args)  # type: ignore[arg-type]  # one table
        assert key.spatial_id == expected
