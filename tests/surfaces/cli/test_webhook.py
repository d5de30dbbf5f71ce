"""`assay webhook`: where events go is told, shown and taken back, and what was lost is asked for again."""

from pathlib import Path

from tests.surfaces.cli.running import ask


def test_a_webhook_is_added_shown_and_removed(tmp_path: Path) -> None:
    home = tmp_path / "node"
    assert ask("init", str(home)).code == 0
    url = "https://example.org/hook"
    added = ask("--home", str(home), "webhook", "add", url, "--type", "rca.triggered", "--json")
    assert added.code == 0
    name = added.json["webhook"]["webhook_id"]
    assert added.json["public_key"].startswith("whpk_")
    [shown] = ask("--home", str(home), "webhook", "list", "--json").json["items"]
    assert (shown["webhook"]["url"], shown["webhook"]["types"], shown["dead"]) == (url, ["rca.triggered"], 0)
    assert url in ask("--home", str(home), "webhook", "list").out
    assert ask("--home", str(home), "webhook", "dead", name, "--json").json["items"] == []
    replayed = ask("--home", str(home), "webhook", "replay", name, "--after", "0", "--json")
    assert replayed.json == {"webhook_id": name, "due": 0}
    assert ask("--home", str(home), "webhook", "remove", name).code == 0
    assert ask("--home", str(home), "webhook", "list", "--json").json["items"] == []


def test_what_cannot_be_is_refused_with_its_code(tmp_path: Path) -> None:
    """An address that nobody can post to is untrusted input; a webhook that is not there is an honest no."""
    home = tmp_path / "node"
    assert ask("init", str(home)).code == 0
    wrong = ask("--home", str(home), "webhook", "add", "ftp://example.org/", "--json")
    assert (wrong.code, wrong.json["error"]["code"]) == (3, "delivery.webhook")
    absent = ask("--home", str(home), "webhook", "remove", "whk_none", "--json")
    assert (absent.code, absent.json["error"]["code"]) == (1, "flow.not_found")
