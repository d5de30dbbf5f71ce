"""`assay completion`: the script by which a shell completes commands and options."""

import click

from assay.surfaces.cli.output import Call, Command

_SHELLS = ("bash", "zsh", "fish")


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    For bash add `eval "$(assay completion bash)"` to ~/.bashrc, for zsh the same with zsh to ~/.zshrc; for fish write
    it to ~/.config/fish/completions/assay.fish.
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - click knows the three shells
    script = kind(context.find_root().command, {}, "assay", "_ASSAY_COMPLETE").source()
    call: Call = context.obj
    call.answer({"shell": shell, "script": script}, script)
