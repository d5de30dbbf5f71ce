"""`assay principal`: what people type, what they see, and the exit code they get."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flows._people import PASSWORD
from tests.surfaces.cli._desk import Shell, opened_shell

_SOURCE = Path(__file__).resolve().parents[3] / "src"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return opened_shell(tmp_path, monkeypatch, capsys)


def _add(shell: Shell, name: str = "ai:planner", *more: str, kind: str = "agent") -> None:
    done = shell("principal", "add", name, "--kind", kind, "--name", "Planner", *more)
    assert done.code == 0, done.err


def test_a_principal_is_added_with_what_the_options_grant(shell: Shell) -> None:
    """Without a session it was the operator of this folder who did it."""
    done = shell(
        "principal", "add", "ai:planner", "--kind", "agent", "--name", "Planner",
        "--role", "ops_team", "--role", "auditor",
        "--trust-mask", "0x5", "--action-tier", "2", "--risk-ceiling", "MODIFY", "--level-floor", "1", "--json",
    )  # fmt: skip
    assert done.code == 0
    said = done.json
    assert (said["roles"], said["trust_mask"], said["action_tier"]) == (["auditor", "ops_team"], 5, 2)
    assert (said["risk_ceiling"], said["authenticity_level_floor"]) == ("MODIFY", 1)
    assert said["recorded_by"] == "operator:local"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["add", "Amira", "--kind", "person", "--name", "A"], (3, "http.fields")),
        (["add", "user:a", "--kind", "robot", "--name", "A"], (2, "cli.usage")),
        (["add", "user:a", "--name", "A"], (2, "cli.usage")),
        (["add", "user:a", "--kind", "person", "--role", "boss"], (3, "identity.unknown_role")),
        (["add", "user:a", "--kind", "person", "--name", "A", "--trust-mask", "five"], (2, "cli.usage")),
        (
            ["add", "user:a", "--kind", "person", "--trust-mask", "0x100000000"],
            (3, "identity.principal"),
        ),
        (["add", "user:a", "--kind", "person", "--name", "A", "--role", "Big Boss"], (3, "identity.principal")),
        (["add", "user:a", "--kind", "person", "--name", "A", "--public-key", "abc"], (3, "key.malformed")),
        (["add", "ai:planner", "--kind", "agent", "--name", "A"], (1, "identity.exists")),
        (["show", "user:nobody"], (1, "flow.not_found")),
        (["amend", "user:nobody", "--name", "A"], (1, "flow.not_found")),
        (["amend", "ai:planner"], (3, "http.fields")),
        (["amend", "ai:planner", "--role", "a", "--no-roles"], (2, "cli.usage")),
        (["key", "issue", "ai:planner", "--expires-in", "soon"], (2, "cli.usage")),
        (["key", "issue", "ai:planner", "--scope", "Everything!"], (3, "identity.credential")),
        (["key", "rotate", "ak_aaaaaaaaaaaa"], (1, "flow.not_found")),
        (["key", "revoke", "nonsense", "--reason", "x"], (1, "flow.not_found")),
        (["key", "revoke", "ak_aaaaaaaaaaaa"], (2, "cli.usage")),
        (["login", "ai:planner"], (2, "cli.usage")),
        (["logout"], (1, "identity.session_required")),
        (["list", "--tenant", "No Such"], (3, "form.id")),
    ],
)
def test_every_refusal_has_its_exit_code(shell: Shell, arguments: list[str], expected: tuple[int, str]) -> None:
    """1 an honest no, 2 asked wrongly, 3 not to be trusted; the code says which."""
    _add(shell)
    assert shell("principal", *arguments, "--json").refusal == expected


def test_a_refusal_is_one_line_on_standard_error(shell: Shell) -> None:
    done = shell("principal", "show", "user:nobody")
    assert (done.code, done.out) == (1, "")
    assert done.err == "error: tenant `default` has no principal `user:nobody` [flow.not_found]\n"


def test_what_was_added_is_listed_and_shown_with_its_history(shell: Shell) -> None:
    """The text is for people, `--json` for programs; both say the same."""
    _add(shell)
    assert shell("principal", "amend", "ai:planner", "--role", "auditor", "--name", "Other").code == 0
    assert shell("principal", "disable", "ai:planner").out == "disabled ai:planner\n"
    listed = shell("principal", "list")
    assert listed.out.splitlines()[1].split()[:4] == ["ai:planner", "agent", "auditor", "Other"]
    assert [one["id"] for one in shell("principal", "list", "--json").json["items"]] == ["ai:planner"]
    view = shell("principal", "show", "ai:planner", "--json").json
    assert [one["version"] for one in view["history"]] == [1, 2, 3]
    assert view["active"] is False
    text = shell("principal", "show", "ai:planner").out
    assert "disabled" in text
    assert "v3" in text
    assert shell("principal", "amend", "ai:planner", "--enable", "--no-roles", "--json").json["roles"] == []
    assert shell("principal", "show", "ai:planner", "--json").json["active"] is True


def test_a_name_cannot_reach_the_terminal_with_control_characters(shell: Shell) -> None:
    """Nor can it be stored with them."""
    done = shell("principal", "add", "ai:x", "--kind", "agent", "--name", "a\x1b[2Jb", "--json")
    assert done.refusal == (3, "identity.principal")


def test_an_erased_name_is_shown_as_erased(shell: Shell) -> None:
    """The reason is asked for, and a second time there is nothing left."""
    _add(shell)
    assert shell("principal", "erase", "ai:planner").code == 2
    assert shell("principal", "erase", "ai:planner", "--reason", "asked to").code == 0
    assert "(erased)" in shell("principal", "show", "ai:planner").out
    assert shell("principal", "show", "ai:planner", "--json").json["principal"]["name"] is None
    again = shell("principal", "erase", "ai:planner", "--reason", "asked to")
    assert again.code == 1
    assert "ledger.nothing_to_erase" in again.err


def test_a_public_key_can_be_registered_and_taken_away(shell: Shell) -> None:
    key = (shell.home / "keys" / "review.key.pub").read_text()
    _add(shell, "user:amira", "--public-key", key, kind="person")
    assert len(shell("principal", "show", "user:amira", "--json").json["principal"]["public_key"]) == 64
    assert shell("principal", "amend", "user:amira", "--public-key", "none", "--json").json["public_key"] is None


def test_a_key_is_shown_once_and_never_again(shell: Shell) -> None:
    """The text alone on standard output, so that a shell can catch it; nothing else ever prints it or its hash."""
    _add(shell)
    issued = shell("principal", "key", "issue", "ai:planner", "--scope", "ledger:append", "--expires-in", "90d")
    text = issued.out.strip()
    prefix, _, secret = text.partition(".")
    assert "shown once" in issued.err
    rotated = shell("principal", "key", "rotate", prefix, "--overlap", "1h", "--json").json
    assert rotated["scopes"] == ["ledger:append"]
    revoked = shell("principal", "key", "revoke", rotated["prefix"], "--reason", "lost", "--json").json
    assert revoked["revoked_by"] == "operator:local"
    assert shell("principal", "key", "revoke", rotated["prefix"], "--reason", "x", "--json").refusal == (
        1,
        "identity.credential_ended",
    )
    listed = shell("principal", "key", "list", "ai:planner", "--json")
    told = {one["prefix"]: one["live"] for one in listed.json["items"]}
    assert told == {prefix: True, rotated["prefix"]: False}
    shown = shell("principal", "show", "ai:planner", "--json").out + shell("principal", "key", "list", "ai:planner").out
    assert "secret" not in shown + listed.out
    assert secret not in shown + listed.out


def test_a_password_opens_a_session_and_logout_ends_it(shell: Shell) -> None:
    """The token alone on standard output, the words on standard error."""
    shell.person("user:amira", "reviewer")
    done = shell("principal", "login", "user:amira", "--password-stdin", stdin=PASSWORD + "\n")
    assert done.code == 0
    token = done.out.strip()
    assert token.startswith("st_")
    assert token not in done.err
    assert "ASSAY_SESSION" in done.err
    assert shell("principal", "logout", session=token).out == f"ended {token.partition('.')[0]}\n"
    assert shell("principal", "logout", "--json", session=token).refusal == (1, "identity.not_signed_in")


def test_a_login_says_one_thing_for_every_mistake(shell: Shell) -> None:
    """A wrong password and an unknown person look the same."""
    shell.person("user:amira")
    wrong = shell("principal", "login", "user:amira", "--password-stdin", stdin="something else\n")
    unknown = shell("principal", "login", "user:nobody", "--password-stdin", stdin=PASSWORD + "\n")
    assert (wrong.code, wrong.err) == (unknown.code, unknown.err)
    assert wrong.code == 1


def test_a_session_lives_as_long_as_asked_and_no_longer_than_allowed(shell: Shell) -> None:
    shell.person("user:amira")
    login = ("principal", "login", "user:amira", "--password-stdin", "--json")
    assert shell(*login, "--lifetime", "1h", stdin=PASSWORD).json["session_token"].startswith("st_")
    assert shell(*login, "--lifetime", "13h", stdin=PASSWORD).refusal == (3, "http.fields")


def test_a_password_can_be_set_anew(shell: Shell) -> None:
    """The old one opens nothing any more, and the answer holds neither."""
    shell.person("user:amira")
    done = shell("principal", "password", "user:amira", "--password-stdin", "--json", stdin="another long one\n")
    assert (done.code, done.json["principal_id"]) == (0, "user:amira")
    assert "argon2" not in done.out
    old = shell("principal", "login", "user:amira", "--password-stdin", "--json", stdin=PASSWORD)
    assert old.refusal == (1, "identity.not_signed_in")
    short = shell("principal", "password", "user:amira", "--password-stdin", "--json", stdin="short\n")
    assert short.refusal == (2, "identity.password_form")


def test_at_a_terminal_the_password_is_asked_for_unseen(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it on the command line, where everybody could see it."""
    shell.person("user:amira")
    asked: list[str] = []

    def prompt(words: str) -> str:
        asked.append(words)
        return PASSWORD

    monkeypatch.setattr("click.termui.hidden_prompt_func", prompt)
    monkeypatch.setattr("assay.surfaces.cli.acting._is_terminal", lambda: True)
    token = shell("principal", "login", "user:amira").out.strip().splitlines()[-1]
    assert token.startswith("st_")
    assert len(asked) == 1
    assert shell("principal", "password", "user:amira").code == 0
    assert len(asked) == 3


def test_with_a_session_only_an_admin_changes_people(shell: Shell) -> None:
    """And the ledger says which admin it was."""
    shell.person("user:boss", "admin")
    shell.person("user:amira", "reviewer")
    boss, amira = shell.login("user:boss"), shell.login("user:amira")
    add = ("principal", "add", "ai:planner", "--kind", "agent", "--name", "P", "--json")
    assert shell(*add, session=amira).refusal == (1, "identity.role")
    assert shell(*add, session="st_stale").refusal == (1, "identity.not_signed_in")
    assert shell(*add, session=boss).json["recorded_by"] == "user:boss"
    elsewhere = shell(
        "principal", "add", "ai:x", "--kind", "agent", "--name", "X", "--tenant", "globex", "--json", session=boss
    )
    assert elsewhere.refusal == (1, "identity.other_tenant")
    key = shell("principal", "key", "issue", "user:boss").out.strip()
    assert shell(*add, session=key).refusal == (1, "identity.session_required")


def test_tenants_do_not_see_each_other(shell: Shell) -> None:
    _add(shell, "ai:planner", "--tenant", "globex")
    assert shell("principal", "list", "--json").json["items"] == []
    assert [one["id"] for one in shell("principal", "list", "--tenant", "globex", "--json").json["items"]] == [
        "ai:planner"
    ]


def test_the_real_program_adds_a_person_and_logs_in(shell: Shell) -> None:
    """As a shell runs it: real password costs, both outputs apart, the exit code as the answer."""
    environment = {**os.environ, "ASSAY_HOME": str(shell.home), "PYTHONPATH": str(_SOURCE)}
    program = [sys.executable, "-m", "assay.surfaces.cli", "principal"]

    def call(*arguments: str, stdin: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*program, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            timeout=120,
        )

    added = call("add", "user:amira", "--kind", "person", "--name", "Amira", "--password-stdin", stdin=PASSWORD + "\n")
    assert (added.returncode, added.stderr) == (0, "")
    login = call("login", "user:amira", "--password-stdin", stdin=PASSWORD + "\n")
    assert login.returncode == 0
    assert login.stdout.startswith("st_")
    assert len(login.stdout.splitlines()) == 1
    assert call("login", "user:amira", "--password-stdin", stdin="wrong\n").returncode == 1


@pytest.mark.clause("forja", "FRJ-015")
def test_a_tier_is_asked_for_by_one_person_authorised_by_another_and_told_afterwards(shell: Shell) -> None:
    _add(shell, "ai:planner", "--action-tier", "1")
    shell.person("user:olga", "operator")
    shell.person("user:anna", "admin")
    olga, anna = shell.login("user:olga"), shell.login("user:anna")
    assert shell("principal", "tier", "list", "ai:planner").err == "nothing found\n"
    assert shell("principal", "tier", "request", "ai:planner", "2", session=olga).code == 2
    ask = ("principal", "tier", "request", "ai:planner", "2", "--reason", "it may book", "--json")
    ticket = shell(*ask, session=olga).json
    answer = ("review", "answer", ticket["id"], "authorise", "--seen", ticket["shown_hash"])
    assert shell(*answer, "--json", session=olga).refusal[1] in {"review.own_request", "review.not_eligible"}
    assert shell(*answer, session=anna).code == 0
    (change,) = shell("principal", "tier", "list", "ai:planner", "--json").json["items"]
    assert (change["from_tier"], change["to_tier"], change["changed_by"]) == (1, 2, "user:anna")
    assert "it may book" in shell("principal", "tier", "list", "ai:planner").out
    assert shell("principal", "show", "ai:planner", "--json").json["principal"]["action_tier"] == 2


_PUBLIC_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"


def test_a_public_key_is_registered_shown_and_ended(shell: Shell) -> None:
    """Its id is printed; a key that is known already is refused, and one that ended cannot end again."""
    _add(shell)
    added = shell("principal", "key", "add-public", "ai:planner", _PUBLIC_KEY, "--scope", "truth:read", "--json")
    assert (added.code, added.json["scopes"], added.json["added_by"]) == (0, ["truth:read"], "operator:local")
    key_id = added.json["key_id"]
    assert shell("principal", "key", "add-public", "ai:planner", _PUBLIC_KEY, "--json").refusal == (
        1,
        "identity.credential_exists",
    )
    (shown,) = shell("principal", "show", "ai:planner", "--json").json["signing_keys"]
    assert (shown["key_id"], shown["live"]) == (key_id, True)
    assert key_id in shell("principal", "show", "ai:planner").out
    assert shell("principal", "key", "end-public", key_id, "--reason", "lost").code == 0
    again = shell("principal", "key", "end-public", key_id, "--reason", "lost", "--json")
    assert again.refusal == (1, "identity.credential_ended")
    (shown,) = shell("principal", "show", "ai:planner", "--json").json["signing_keys"]
    assert shown["live"] is False


def test_why_lists_every_requirement_and_its_exit_code_is_the_answer(shell: Shell) -> None:
    """0 for yes, 1 for an honest no; in words, what would change it comes last."""
    _add(shell, "ai:planner", "--role", "operator", "--risk-ceiling", "MODIFY")
    yes = shell("principal", "why", "POST /api/v1/entries", "--json", "--who", "ai:planner")
    assert (yes.code, yes.json["allowed"]) == (0, True)
    no = shell("principal", "why", "POST /api/v1/entries", "--on", "DELETE", "--who", "ai:planner")
    assert no.code == 1
    assert "risk_ceiling: an admin raises the risk ceiling to DELETE" in no.out
    unknown = shell("principal", "why", "GET /nothing", "--json", "--who", "ai:planner")
    assert unknown.refusal == (1, "flow.not_found")
