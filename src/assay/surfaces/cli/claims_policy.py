"""`assay claims policy`: every number by which bundles are judged, in one signed YAML file."""

from pathlib import Path

import click

from assay.claims.parse_policy import check_policy, parse_policy
from assay.claims.policy import DEFAULT_POLICY, policy_hash
from assay.claims.render_policy import render_policy
from assay.claims.signed_policy import policy_message, render_signed_policy, split_signed_policy
from assay.kernel.instant import render_instant
from assay.ports.claims_store import ReleasedClaimsPolicy
from assay.surfaces.cli.acting import columns, read_session, session_option
from assay.surfaces.cli.output import Call, Command, Group, tenant_option
from assay.surfaces.cli.text_file import read_text

_HONEST_NO = 1
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group(cls=Group)
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
@click.pass_context
def lint(context: click.Context, file: Path) -> None:
    """Tell everything that is wrong with the policy in FILE; exit 1 if anything is."""
    call: Call = context.obj
    found = check_policy(split_signed_policy(read_text(file)).document)
    lines = [f"{file}: {one.pointer or '/'}: {one.message} [{one.code}]" for one in found.problems]
    hashed = None if found.policy is None else policy_hash(found.policy)
    told = {"file": str(file), "holds": not lines, "problems": found.problems, "policy_hash": hashed}
    call.answer(told, "\n".join(lines) or f"no problems: {hashed}")
    if lines:
        context.exit(_HONEST_NO)


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


@policy.command()
@click.argument("file", type=_FILE)
@session_option
@click.pass_obj
def release(call: Call, file: Path, session: str | None) -> None:
    """Bring the policy in FILE into force, as an operator with a session; it is signed by the node unless it is signed.

    Another document under a released id and version is refused: a change needs a new version.
    """
    from assay.flows.claims.release_claims_policy import release_claims_policy

    text, token = read_text(file), read_session(session)
    with call.open_node(writable=True) as (tools, _):
        done = release_claims_policy(tools, text, credential=token, at=tools.clock.now())
    one = done.policy
    words = "in force" if done.is_new else "was released before"
    for need in done.unheld:
        call.say(f"warning: {need.people} more must hold `{need.role}`: until then nobody can approve as that")
    call.answer(done, f"{words}: {one.policy_id} {one.version}, {one.policy_hash}, entry {one.sequence_number}")


@policy.command()
@tenant_option
@click.pass_obj
def show(call: Call, tenant: str | None) -> None:
    """Show the policy in force with every setting, and all that were released; the last one is in force."""
    from assay.flows.claims.show_claims import list_claims_policies

    with call.open_node() as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        view = tools.database.read(lambda unit: list_claims_policies(unit, tenant_id))
    rows = [_row(one) for one in view.released]
    table = columns([("POLICY", "VERSION", "HASH", "RELEASED", "BY", "SIGNED BY"), *rows])
    head = f"in force: {view.active_id} {view.active_version}, {view.active_hash}"
    call.answer(view, "\n".join([head, "", view.active_document, *([table] if rows else ["none was released"])]))


def _row(one: ReleasedClaimsPolicy) -> tuple[str, ...]:
    when = render_instant(one.released_at)
    return one.policy_id, one.version, one.policy_hash, when, one.released_by, one.key_id
