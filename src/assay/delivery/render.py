"""An annotation as people see it: plain text and HTML; PRAMANA-0 cannot be mistaken for anything else (PRAMANA 8.1)."""

from html import escape
from textwrap import wrap

from assay.delivery.annotate import Annotation
from assay.delivery.level import Level
from assay.delivery.rule import render_ref

_WIDTH = 100
_TITLES = {
    Level.UNVERIFIED: "UNVERIFIED",
    Level.SINGLE_SOURCE: "SINGLE SOURCE",
    Level.PARTIAL: "PARTIAL AUTHENTIC",
    Level.AUTHENTIC: "AUTHENTIC",
    Level.INFERRED: "AUTHENTICATED AND INFERRED",
}
_CLASSES = {
    Level.UNVERIFIED: "pramana-0",
    Level.SINGLE_SOURCE: "pramana-1",
    Level.PARTIAL: "pramana-2",
    Level.AUTHENTIC: "pramana-3",
    Level.INFERRED: "pramana-3-plus",
}
# In the element itself, so that the warning shows where no style sheet of ours is loaded.
_WARNING = "border:3px solid #b00020;background:#fdecea;color:#5f0010;padding:.75em"
_REVIEW = "HUMAN REVIEW REQUIRED"


def render_text(annotation: Annotation) -> str:
    """Lines for a terminal; PRAMANA-0 stands in a frame of exclamation marks."""
    level = annotation.authenticity_level
    lines = [f"{level} {_TITLES[level]}", *wrap(annotation.disclosure, _WIDTH)]
    lines += [line for caveat in _caveats(annotation) for line in wrap(f"caveat: {caveat}", _WIDTH)]
    lines.append(f"rules: {', '.join(map(render_ref, annotation.rules))}")
    if not annotation.human_review_required:
        return "\n".join(lines)
    frame = "!" * _WIDTH
    return "\n".join([frame, f"!! {_REVIEW}", *(f"!! {line}" for line in lines), frame])


def render_html(annotation: Annotation) -> str:
    """One element, everything escaped; PRAMANA-0 is an alert in a warning colour that needs no style sheet."""
    level = annotation.authenticity_level
    warns = annotation.human_review_required
    attributes = f' role="alert" style="{_WARNING}"' if warns else ' role="note"'
    review = f"<p><strong>{_REVIEW}</strong></p>" if warns else ""
    rules = escape(", ".join(map(render_ref, annotation.rules)))
    caveats = "".join(f"<p>Caveat: {escape(one)}</p>" for one in _caveats(annotation))
    return (
        f'<aside class="pramana {_CLASSES[level]}" data-authenticity-level="{level}"{attributes}>'
        f"<p><strong>{level}</strong> {_TITLES[level]}</p>{review}"
        f"<p>{escape(annotation.disclosure)}</p>{caveats}<p>Rules: {rules}</p></aside>"
    )


def _caveats(annotation: Annotation) -> tuple[str, ...]:
    """What the gates found doubtful belongs beside the output that they published."""
    return annotation.gate.caveats if annotation.gate else ()
