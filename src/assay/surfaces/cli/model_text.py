"""Models for a person to read: rows of the registry, a card, figures with their confusion matrix."""

from assay.flows.model.activate_model import ActivationAsked
from assay.flows.model.measure_model import Measured
from assay.flows.model.record_training import RecordedTraining
from assay.flows.model.show_model import KnownModel, ListedModel, figure_lines
from assay.flows.model.sweep_model import Sweep
from assay.model.figures import Figures, Timing
from assay.model.form import limit_rows
from assay.surfaces.cli.acting import columns


def models_text(models: tuple[ListedModel, ...]) -> str:
    rows: list[tuple[str, ...]] = [("", "WEIGHTS", "NAME", "VERSION", "FROM")]
    rows += [
        (
            "*" if one.is_active else "",
            one.weight_hash,
            one.name,
            one.version,
            "shipped" if one.is_shipped else one.parent_hash or "outside",
        )
        for one in models
    ]
    return columns(rows)


def card_text(known: KnownModel) -> str:
    one = known.manifest
    lines = [
        f"{one.name} {one.version}{' (in use)' if known.is_active else ''}",
        f"weights: {one.weight_hash}, {one.size} bytes, {one.parameters} parameters",
        f"shape: {one.shape.layers} layers, width {one.shape.width}, {one.shape.heads} heads, inner {one.shape.inner}",
        f"prompt template: {one.prompt_template_id}",
    ]
    lines += [f"came from: {parent}" for parent in known.lineage]
    if one.training is not None:
        plan = one.training
        lines.append(f"trained: {plan.steps} steps at {plan.rate:g}, seed {plan.replay_seed}, pairs {plan.pairs_hash}")
    if known.card is not None:
        lines.append(f"its card: verdicts right {known.card.verdict_accuracy:.2%} of {known.card.cases} sealed cases")
    for found in known.evaluations:
        lines += [f"measured on {found.cases_hash} (entry {found.sequence_number})", *_figure_rows(found.figures)]
    lines += [f"in use since {used.activated_at}, by {used.by} on {used.ticket_id}" for used in known.activations]
    return "\n".join(lines)


def measured_text(measured: Measured) -> str:
    return figures_text(measured.figures, measured.timing)


def figures_text(figures: Figures, timing: Timing) -> str:
    """All figures, each on a line; then types, then the matrix of expected and got."""
    kinds: list[tuple[str, ...]] = [(kind, f"{one.right} of {one.asserted}") for kind, one in figures.types.items()]
    return "\n\n".join(
        ["\n".join([*_figure_rows(figures), *_timing_rows(timing)]), columns(kinds or [("", "")]), _matrix(figures)]
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


def activation_text(asked: ActivationAsked) -> str:
    return f"{asked.ticket.shown}\n\nasked: {asked.ticket.id}; somebody else answers with `assay review answer`"


def _figure_rows(figures: Figures) -> list[str]:
    rates = {
        "verdict accuracy": figures.verdict_accuracy,
        "assertion accuracy": figures.assertion_accuracy,
        "FLAG recall": figures.flag_recall,
        "silent CLEAR": figures.silent_clear,
        "agreement": figures.agreement,
    }
    counts = {"cases": figures.cases, "silent CLEARs": figures.silent_clears, "unparsable": figures.unparsable}
    counts |= {"refused for their size": figures.refusals} if figures.refusals else {}
    return [f"{name:20} {rate:.4%}" for name, rate in rates.items()] + [
        f"{name:20} {count}" for name, count in counts.items()
    ]


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
