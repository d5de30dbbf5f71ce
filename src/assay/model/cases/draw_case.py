"""One case, drawn: obligations, exemptions, a record and earlier ones, as plain JSON.

source of draws + extent -> draw_case -> case; its split follows from the hash of its rendered lines
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from assay.model.cases.draw import Draw
from assay.model.cases.exemption import draw_exemption
from assay.model.cases.extent import ORDERED, USUAL, Extent
from assay.model.cases.measurement import HOSTILE, UNITS, draw_ends, draw_scalar, draw_text, store_value
from assay.model.cases.number import draw_beside, draw_number
from assay.model.cases.windowed import FLAT, draw_flat, draw_windowed

_SEALED_SHARE = 64


def draw_case(rng: Draw, extent: Extent = USUAL) -> dict[str, Any]:
    """One case as plain JSON: obligations, exemptions, the record, earlier records, and what was dropped of them."""
    case: dict[str, Any] = {"obligations": [], "exemptions": {}, "measurement": {}, "earlier": [], "dropped": None}
    for place in range(rng.choice(extent.obligations)):
        _draw_obligation(rng, case, f"ob-{place}", rng.choice(extent.kinds), extent)
        if rng.random() < extent.exempted:
            count = rng.choice(extent.exemptions)
            case["exemptions"][f"ob-{place}"] = [
                draw_exemption(rng, case, f"x{place}-{n}", extent) for n in range(count)
            ]
    if rng.random() < 0.2:
        case["measurement"]["note"] = rng.choice(HOSTILE)
    if rng.random() < 0.15:
        case["dropped"] = rng.choice((1, 60, 3600, 86400))
    return case


def case_lines(prompt: str) -> tuple[str, ...]:
    """The lines of the case at the end of a prompt."""
    return tuple(prompt[prompt.rindex("\ncase\n") + 6 : prompt.rindex("answer\n")].splitlines())


def is_sealed(lines: Sequence[str]) -> bool:
    """Whether a case is kept away from training: one in 64, by the hash of its lines without their order."""
    text = "\n".join(sorted(line.partition(" ")[2] for line in lines))
    return sha256(text.encode()).digest()[0] % _SEALED_SHARE == 0


def _draw_set(rng: Draw, extent: Extent) -> list[Any]:
    draw = rng.choice((draw_text, draw_text, draw_number, draw_scalar))
    draw = draw_scalar if extent.is_mixed else draw
    members: list[Any] = []
    size = rng.choice((1, 2, 2, 3, 3, 4, 5, 8, 12, rng.randint(13, 40)))
    for _ in range(rng.choice(extent.set_sizes) if extent.set_sizes else size):
        value = draw(rng)
        if extent.set_sizes and isinstance(value, str):
            value = f"{value}{rng.randint(0, 999)}"
        if not any(type(value) is type(other) and value == other for other in members):
            members.append(value)
    return members


def _draw_obligation(rng: Draw, case: dict[str, Any], name: str, kind: str, extent: Extent) -> None:
    one: dict[str, Any] = {"id": name, "type": kind, "metric": f"m.{name}"}
    case["obligations"].append(one)
    if kind in {"unknown", "discretionary", "not_formal"}:
        one["type"] = {"unknown": rng.choice(("must_levitate", "ought", "MUST")), "not_formal": "must_not_exceed"}.get(
            kind, kind
        )
        if kind == "not_formal":
            one["value"] = rng.choice((None, "many", True))
        case["measurement"][one["metric"]] = draw_scalar(rng)
    elif kind in FLAT:
        draw_flat(rng, case, one, kind)
    elif kind in {"must_be_recorded_within", "must_average_within", "must_not_exceed_in_window"}:
        draw_windowed(rng, case, one)
    else:
        _draw_plain(rng, case, one, extent)


def _draw_plain(rng: Draw, case: dict[str, Any], one: dict[str, Any], extent: Extent) -> None:
    kind, observed = one["type"], draw_number(rng)
    if rng.random() < 0.4:
        one["unit"] = rng.choice(UNITS)
    if kind in ORDERED:
        one["value"] = draw_beside(rng, observed)
    elif kind == "must_be_within":
        one["value"] = draw_ends(rng, observed)
    elif kind in {"must_be_one_of", "must_not_be_one_of"} or (kind in {"must", "should"} and rng.random() < 0.2):
        one["value"] = _draw_set(rng, extent)
        observed = rng.choice(one["value"]) if rng.random() < 0.5 else draw_scalar(rng)
    elif kind in {"must", "must_not", "should"} and rng.random() < 0.3:
        observed = rng.choice((True, False, False, draw_scalar(rng)))
    else:
        one["value"] = draw_scalar(rng)
        observed = one["value"] if rng.random() < 0.5 else _other(rng, one["value"])
    store_value(rng, case, one, observed)


def _other(rng: Draw, value: Any) -> Any:  # noqa: ANN401  a plain JSON value
    if isinstance(value, bool):
        return not value
    return draw_text(rng) if isinstance(value, str) else draw_beside(rng, value)
