"""The picture of a simulation is one SVG text that a person can look at, by day and by night."""

from xml.etree import ElementTree as ET

from assay.trust.plot import render_plot
from assay.trust.simulate import Behaviour, Crowd, simulate
from tests.trust.signals import policy

_SVG = "{http://www.w3.org/2000/svg}"


def drawn(crowd: Crowd | None = None) -> ET.Element:
    simulation = simulate(policy(), rounds=12, crowd=crowd)
    return ET.fromstring(render_plot(simulation, policy()))  # noqa: S314 - our own text


def test_there_is_a_thin_line_for_each_agent_and_a_thick_one_for_each_kind() -> None:
    lines = [line.attrib for line in drawn().iter(f"{_SVG}polyline")]
    thick = [line["class"] for line in lines if line["class"].startswith("m ")]
    assert thick == [f"m {kind}" for kind in Behaviour]
    assert len(lines) == 30 + len(thick)
    assert [len(line["points"].split()) for line in lines if line["class"] == "m sybil"] == [8]


def test_the_legend_names_the_kinds_from_the_highest_down() -> None:
    texts = [text.text or "" for text in drawn().iter(f"{_SVG}text")]
    medians = [int(text.removeprefix("median ")) for text in texts if text.startswith("median ")]
    assert medians == sorted(medians, reverse=True)
    assert "12 honest" in texts
    assert {"bronze", "silver", "expert", "authority", "days", "0", "12", "1000"} <= set(texts)


def test_every_point_lies_within_the_axes() -> None:
    points = [
        tuple(float(part) for part in point.split(","))
        for line in drawn().iter(f"{_SVG}polyline")
        for point in line.attrib["points"].split()
    ]
    assert all(70 <= x <= 700 and 64 <= y <= 480 for x, y in points)


def test_the_picture_is_readable_on_light_and_on_dark_paper() -> None:
    """Each kind has a colour of its own for either, and without styles the light ones remain as attributes."""
    style = drawn().find(f"{_SVG}style")
    assert style is not None
    light, _, dark = (style.text or "").partition("@media (prefers-color-scheme:dark)")
    for kind in Behaviour:
        assert f".{kind}{{stroke:#" in light
        assert f".{kind}{{stroke:#" in dark
    assert all("stroke" in line.attrib for line in drawn().iter(f"{_SVG}polyline"))
    assert drawn().attrib["role"] == "img"


def test_a_kind_that_is_not_there_is_not_drawn() -> None:
    alone = drawn(Crowd(honest=2, lazy=0, spammer=0, colluder=0, sybil=0))
    assert {line.attrib["class"] for line in alone.iter(f"{_SVG}polyline")} == {"a honest", "m honest"}


def test_the_same_simulation_gives_the_same_text() -> None:
    simulation = simulate(policy(), rounds=5)
    assert render_plot(simulation, policy()) == render_plot(simulate(policy(), rounds=5), policy())
