"""Models as text for people: rows of the registry, a card, figures."""

from collections.abc import Mapping

from assay.flows.model.activate_model import ActivationAsked
from assay.flows.model.add_model import AddedModel
from assay.flows.model.show_model import KnownModel, ListedModel
from assay.model.figures import Figures

MODEL_COLUMNS = ("judges", "weights", "name", "version", "from")


def model_row(one: ListedModel) -> Mapping[str, str]:
    return {
        "judges": "*" if one.is_active else "",
        "weights": one.weight_hash,
        "name": one.name,
        "version": one.version,
        "from": "shipped" if one.is_shipped else one.parent_hash or "outside",
    }


def added_text(done: AddedModel) -> str:
    return f"{'added' if done.is_new else 'was there'}: {done.manifest.weight_hash}"


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
        lines += [f"measured on {found.cases_hash} (entry {found.sequence_number})", *figure_rows(found.figures)]
    lines += [f"in use since {used.activated_at}, by {used.by} on {used.ticket_id}" for used in known.activations]
    return "\n".join(lines)


def activation_text(asked: ActivationAsked) -> str:
    return f"{asked.ticket.shown}\n\nasked: {asked.ticket.id}; somebody else answers with `assay review answer`"


def figure_rows(figures: Figures) -> list[str]:
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
