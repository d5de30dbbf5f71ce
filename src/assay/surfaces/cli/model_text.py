"""Models for a person to read: rows of the registry, a card, figures with their confusion matrix."""

from assay.flows.model.record_training import RecordedTraining
from assay.flows.model.show_model import figure_lines
from assay.flows.model.sweep_model import Sweep
from assay.model.figures import Figures, Timing
from assay.model.form import limit_rows
from assay.operations.shown.model import figure_rows
from assay.surfaces.cli.acting import columns


def figures_text(figures: Figures, timing: Timing) -> str:
    """All figures, each on a line; then types, then the matrix of expected and got."""
    kinds: list[tuple[str, ...]] = [(kind, f"{one.right} of {one.asserted}") for kind, one in figures.types.items()]
    return "\n\n".join(
        ["\n".join([*figure_rows(figures), *_timing_rows(timing)]), columns(kinds or [("", "")]), _matrix(figures)]
    )


def sweep_text(found: Sweep) -> str:
    """The limits, then what was asked within them by family, then what is just beyond them."""
    rows: list[tuple[str, ...]] = [("FAMILY", "CASES", "WRONG", "SILENT CLEARS", "REFUSED")]
    rows += [(one.family, *map(str, (one.cases, one.wrong, one.silent_clears, one.refused))) for one in found.families]
    rows.append(("all", *map(str, (found.cases, found.wrong, found.silent_clears, found.refused))))
    limits = columns([(f"at most {most}", words) for words, most in limit_rows(found.limits)])
    examples = [f"{one.family} {example}" for one in found.families for example in one.examples]
    beyond = f"just beyond the limits: {found.beyond_refused} of {found.beyond} refused with judge.case_size"
    return "\n\n".join(part for part in (limits, columns(rows), "\n".join(examples), beyond) if part)


def training_text(done: RecordedTraining) -> str:
    lines = [f"{done.manifest.name} {done.manifest.version}: {done.manifest.weight_hash}"]
    lines += ["sealed cases, before -> after", *figure_lines(done.sealed_before, done.sealed_after)]
    lines += ["held-out pairs, before -> after", *figure_lines(done.held_out_before, done.held_out_after)]
    lines += [f"worse: {reason}" for reason in done.worse]
    ending = "it cannot be put into use" if done.worse else f"assay model activate {done.manifest.weight_hash}"
    return "\n".join([*lines, ending])


def _timing_rows(timing: Timing) -> list[str]:
    if timing.p50_ms is None:
        return []
    rows = [f"{'two obligations':20} p50 {timing.p50_ms:g} ms, p95 {timing.p95_ms:g} ms ({timing.clock} time)"]
    return rows + ([f"{'tokens/s':20} {timing.tokens_per_second:g}"] if timing.tokens_per_second else [])


def _matrix(figures: Figures) -> str:
    names = sorted({name for row in figures.confusion.values() for name in row} | set(figures.confusion))
    rows = [("expected \\ got", *names)]
    rows += [(one, *(str(row.get(name, 0)) for name in names)) for one, row in figures.confusion.items()]
    return columns(rows)
