"""Editing a configuration: the one value changes, and nothing else does."""

import tomllib

import pytest

from assay.adapters.toml_text import TomlEditError, set_toml_value

_TEXT = """# mine
[node]
origin = "a"   # the log's name
[keys]
ledger = "keys/ledger.key"
[trust]
anchors = []            # none yet
[http]
port = 4585
"""


def test_only_the_value_changes_and_comments_stay() -> None:
    edited = set_toml_value(_TEXT, "keys", "ledger", "keys/ledger-2.key")
    assert edited == _TEXT.replace("keys/ledger.key", "keys/ledger-2.key")


def test_a_list_may_go_over_several_lines() -> None:
    text = _TEXT.replace("[]", '[\n  "one",\n  "two",\n]')
    edited = set_toml_value(text, "trust", "anchors", ["one", "two", "three"])
    assert tomllib.loads(edited)["trust"]["anchors"] == ["one", "two", "three"]
    assert edited.endswith("# none yet\n[http]\nport = 4585\n")


def test_a_section_or_key_that_is_not_there_is_added() -> None:
    assert tomllib.loads(set_toml_value(_TEXT, "database", "url", "sqlite:x"))["database"] == {"url": "sqlite:x"}
    assert tomllib.loads(set_toml_value(_TEXT, "node", "tenant", "acme"))["node"] == {"origin": "a", "tenant": "acme"}


def test_the_same_key_of_another_section_is_left_alone() -> None:
    text = '[a]\nx = "1"\n[b]\nx = "2"\n'
    assert set_toml_value(text, "b", "x", "3") == '[a]\nx = "1"\n[b]\nx = "3"\n'


def test_quotes_and_backslashes_read_back_as_they_were() -> None:
    value = r'postgresql://u:p"\1@h/d'
    assert tomllib.loads(set_toml_value(_TEXT, "database", "url", value))["database"]["url"] == value


@pytest.mark.parametrize(
    "text", ["[keys]\n'ledger' = 'x'\n", "keys = {ledger = 'x'}\n", "[keys]\nledger = '''x'''\n", 'keys.ledger = "x"\n']
)
def test_a_text_written_in_another_way_is_refused_and_not_guessed_at(text: str) -> None:
    """Reading the result back must show exactly the change."""
    with pytest.raises(TomlEditError, match=r"keys\.ledger"):
        set_toml_value(text, "keys", "ledger", "y")
