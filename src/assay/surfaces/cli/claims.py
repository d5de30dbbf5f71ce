"""`assay claims`: bundles through the gates, evidence, uncertainty, oversight and the policy of it all."""

from decimal import Decimal
from pathlib import Path

import click

from assay.claims.bundle import Recommendation, UncertaintyMethod
from assay.claims.parse_policy import parse_policy
from assay.claims.policy import DEFAULT_POLICY, policy_hash
from assay.claims.render_policy import render_policy
from assay.claims.signed_policy import policy_message, render_signed_policy, split_signed_policy
from assay.operations.claims import OPERATIONS
from assay.operations.shown.claims import estimate_text
from assay.surfaces.cli.derive import add_operations
from assay.surfaces.cli.output import Call, Command, Group, NodeCommand, tenant_option
from assay.surfaces.cli.text_file import read_text

_HONEST_NO = 1
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group(cls=Group)
def claims() -> None:
    """Claims: bundles of what an agent says, gated before anybody acts on them."""


@claims.group(cls=Group)
def export() -> None:
    """What the node itself said, as a bundle that any gate reads; an answer: `assay answers claims`."""


@claims.group(cls=Group)
def policy() -> None:
    """The policy of the gates: thresholds, sources, rates, and who approves what."""


@policy.command(cls=Command)
@click.pass_obj
def new(call: Call) -> None:
    """Print the policy of the specification with every setting, as a beginning of your own."""
    text = render_policy(DEFAULT_POLICY)
    call.answer({"policy_hash": policy_hash(DEFAULT_POLICY), "text": text}, text.removesuffix("\n"))


@policy.command(cls=Command)
@click.argument("file", type=_FILE)
@click.option("--key", "key_file", metavar="KEYFILE", required=True, type=_FILE, help="The private key that vouches.")
@click.option("--key-passphrase", envvar="ASSAY_REVIEWER_PASSPHRASE", hidden=True)
@click.pass_obj
def sign(call: Call, file: Path, key_file: Path, key_passphrase: str | None) -> None:
    """Print the policy in FILE with a signature as its last two lines; a node releases it if it trusts the key."""
    from assay.adapters.keyfile import load_key_file

    document = split_signed_policy(read_text(file)).document
    parse_policy(document)
    whole = document if document.endswith("\n") else f"{document}\n"
    signer = load_key_file(key_file, passphrase=key_passphrase)
    text = render_signed_policy(whole, public_key=signer.public_key, signature=signer.sign(policy_message(whole)))
    call.answer({"key_id": signer.key_id, "text": text}, text.removesuffix("\n"))


@claims.command(name="estimate-verdict", cls=NodeCommand)
@click.argument("telemetry_id", metavar="TELEMETRY")
@click.option("--rule", "rule_id", metavar="ID", help="Of this rule, where several judged the record.")
@click.option(
    "--method",
    type=click.Choice(
        [one.value for one in (UncertaintyMethod.SEMANTIC_ENTROPY, UncertaintyMethod.MODEL_DISAGREEMENT)]
    ),
    default=UncertaintyMethod.SEMANTIC_ENTROPY.value,
    show_default=True,
    help="How it is estimated.",
)
@click.option(
    "--answers", type=click.IntRange(2, 100), default=5, show_default=True, help="How many replies are drawn."
)
@click.option(
    "--temperature",
    type=click.FloatRange(0.0, 10.0, min_open=True),
    default=1.0,
    show_default=True,
    help="At which the replies are drawn; model disagreement has its own.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Another seed is another sample.")
@tenant_option
@click.pass_context
def estimate_verdict(
    context: click.Context,
    /,
    *,
    telemetry_id: str,
    rule_id: str | None,
    method: str,
    answers: int,
    temperature: float,
    seed: int,
    tenant: str | None,
) -> None:
    """Draw the judge's reply about a record again, by the weights that judged; the same seed gives the same.

    Exit 1 where the scatter calls for DEFER.
    """
    from assay.flows.verdicts import estimate_verdict as flow
    from assay.wiring import open_scorer

    call: Call = context.obj
    sampling = flow.JudgeSampling(
        method=UncertaintyMethod(method), answers=answers, temperature=Decimal(str(temperature)), seed=seed
    )
    with call.open_node() as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        weights = flow.weights_of_verdict(tools, tenant_id, telemetry_id, rule_id)
        judge = open_scorer(folder=call.home, named=weights)
        found = flow.estimate_verdict(tools, tenant_id, telemetry_id, judge, rule_id=rule_id, sampling=sampling)
    drawn = ", ".join(f"{one.verdict} (seed {one.drawing.seed} at {one.drawing.temperature})" for one in found.drawn)
    head = f"entry {found.sequence_number}, rule {found.rule_id}: {found.verdict} is recorded"
    call.answer(found, f"{head}\ndrawn: {drawn}\n{estimate_text(found.estimate)}")
    is_no = found.estimate.recommendation in (Recommendation.DEFER, Recommendation.REFUSE)
    context.exit(_HONEST_NO if is_no else 0)


add_operations(claims, "claims", OPERATIONS)
add_operations(export, "claims export", OPERATIONS)
add_operations(policy, "claims policy", OPERATIONS)
