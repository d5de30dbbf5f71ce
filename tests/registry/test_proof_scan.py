"""PROOF counts which certified rules some code says it implements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.registry.errors import RegistryError
from assay.registry.proof_scan import (
    Annotation,
    RuleFact,
    prove,
    scan_text,
    scan_texts,
)
from tests.raising import raises


@pytest.mark.clause("forja", "proof")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# @rule:UKC-001", ["UKC-001"]),
        ("# @rule:a.b:c-1, @rule:B.", ["a.b:c-1", "B"]),
        ("# (@rule:X)", ["X"]),
        ('# @rule:"X"', []),
        ("# @rule: X", []),
        ("# mail@rule:X and @@rule:Y", []),
        ("# @rules:X", []),
        ("# @RULE:X", []),
        ("# @rule:-X", []),
        ("# mark it with `@rule:X`", []),
    ],
)
def test_an_annotation_is_a_mark_with_an_id(text: str, found: list[str]) -> None:
    """A sentence's own full stop is not part of the id, and between backticks the mark is only spoken of."""
    assert [one.rule_id for one in scan_text("a.py", text)] == found


@pytest.mark.clause("forja", "proof")
@pytest.mark.parametrize(
    ("path", "text", "lines"),
    [
        ("a.py", "x = 1  # @rule:R\n", [1]),
        ("a.py", '"""Module.\n\n@rule:R\n"""\ndef f():\n    """@rule:R"""\n', [3, 6]),
        ("a.py", 'x = "# @rule:R"\ny = """\n@rule:R\n"""\n', []),
        ("a.py", 'x = "\\d"  # @rule:R\n', [1]),
        ("a.py", 'print "old" # @rule:R\nx = "# @rule:R"', [1]),
        ("a.ts", "const x = '// @rule:R'; // @rule:R\nconst y = `\n// @rule:R`", [1]),
        ("a.go", "/*\n * @rule:R\n */\nfunc f() {} // @rule:R", [2, 4]),
        ("a.java", '/** @rule:R */ String s = "/* @rule:R */";', [1]),
        ("a.rs", "fn f<'a>(x: &'a str) {} // @rule:R\nlet c = '\"'; // @rule:R", [1, 2]),
        ("a.sql", "SELECT '-- @rule:R' -- @rule:R", [1]),
        ("a.sh", "echo ${x#@rule:R} # @rule:R", [1]),
        ("Makefile", "# @rule:R", [1]),
        ("a.clj", "; @rule:R", [1]),
        ("a.erl", "% @rule:R", [1]),
        ("a.vue", "<!-- @rule:R -->\n<script>// @rule:R\n</script>", [1, 2]),
        ("a.c", "/* @rule:R", [1]),
        ("README.md", "# @rule:R\nAnnotate code with @rule:R.", []),
        ("a.txt", "@rule:R", []),
        ("a.json", '{"x": "// @rule:R"}', []),
        ("a", "# @rule:R", []),
        # A text that breaks off in the middle of a statement still has comments.
        ("a.py", "# @rule:R\n\\\n", [1]),
        ("a.py", "# @rule:R\ncall(", [1]),
    ],
)
def test_only_comments_and_docstrings_of_code_are_annotated(path: str, text: str, lines: list[int]) -> None:
    """Prose that names a rule, and a string that happens to, implement nothing."""
    assert [one.line for one in scan_text(path, text)] == lines


@given(
    st.text(alphabet="\"'`/*#-;\n\\ @rule:Rx", max_size=60), st.sampled_from(["a.py", "a.ts", "a.rs", "a.sql", "a.sh"])
)
def test_any_text_is_scanned_and_lines_are_its_own(text: str, path: str) -> None:
    for one in scan_text(path, text):
        assert f"@rule:{one.rule_id}" in text.split("\n")[one.line - 1]


def test_an_annotation_says_where_it_stands() -> None:
    found = scan_texts({"b.py": "\n\n# @rule:R-1\n", "a.py": "# @rule:R-2"})
    assert found == (
        Annotation(rule_id="R-2", path="a.py", line=1),
        Annotation(rule_id="R-1", path="b.py", line=3),
    )


_RULES = [
    RuleFact(id="R-2", certified=True, capabilities=("vessel.ukc-status",)),
    RuleFact(id="R-1", certified=True),
    RuleFact(id="R-3", certified=False, capabilities=("BERTH_ASSIGN",)),
]


@pytest.mark.clause("forja", "proof")
def test_coverage_is_the_share_of_certified_rules_with_code() -> None:
    """What nobody certified counts for nothing, nor does an annotation of a rule that nobody knows."""
    found = scan_text("a.py", "# @rule:R-1\n# @rule:R-1\n# @rule:R-3\n# @rule:GHOST")
    proof = prove(_RULES, found, capabilities=["vessel.ukc-status", "BERTH_ASSIGN"])
    assert (proof.rules_total, proof.rules_certified, proof.rules_with_code) == (3, 2, 1)
    assert (proof.coverage_pct, proof.passing, proof.threshold_pct) == (50.0, False, 90.0)
    assert proof.unimplemented_rules == ("R-2",)
    assert proof.orphan_annotations == ("GHOST",)
    assert proof.capabilities_without_rules == ("BERTH_ASSIGN",)
    assert [(row.rule_id, row.annotations) for row in proof.matrix] == [
        ("R-1", ("a.py:1", "a.py:2")), ("R-2", ()), ("R-3", ("a.py:3",)),
    ]  # fmt: skip


def test_nothing_certified_is_nothing_proven() -> None:
    for rules in ([], [RuleFact(id="R", certified=False)]):
        proof = prove(rules, scan_text("a.py", "# @rule:R"), threshold_pct=0.0)
        assert (proof.coverage_pct, proof.passing) == (0.0, False)


@given(total=st.integers(1, 300), covered=st.integers(0, 300))
def test_coverage_is_never_rounded_up_to_passing(total: int, covered: int) -> None:
    with_code = min(total, covered)
    rules = [RuleFact(id=f"R-{number}", certified=True) for number in range(total)]
    proof = prove(rules, [Annotation(rule_id=f"R-{number}", path="a", line=1) for number in range(with_code)])
    assert proof.passing == (with_code * 100 >= 90 * total)
    assert 0 <= 100 * with_code / total - proof.coverage_pct < 0.011


def test_a_rule_twice_is_refused() -> None:
    with raises(RegistryError.invalid_rule):
        prove([_RULES[0], _RULES[0]], [])
