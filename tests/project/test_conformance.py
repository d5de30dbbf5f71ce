"""The conformance page says what the tests say."""

from pathlib import Path

import pytest

from tools import conformance


def _specifications() -> list[conformance.Specification]:
    return [conformance.load_specification(name) for name in conformance.SPECIFICATIONS]


def test_the_page_is_what_the_markers_say() -> None:
    """`make docs` writes it again when it is stale."""
    page = conformance.render_page(_specifications(), conformance.load_markers(conformance.ROOT / "tests"))
    assert page == conformance.PAGE.read_text(), "docs/conformance.md is stale; run `make docs`"


def test_no_test_cites_a_clause_that_does_not_exist() -> None:
    """A mistyped clause would be evidence for nothing."""
    markers = conformance.load_markers(conformance.ROOT / "tests")
    assert conformance.unknown(markers, _specifications()) == []


def test_markers_are_found_on_functions_classes_and_modules(tmp_path: Path) -> None:
    """Wherever pytest would apply a marker, the page sees it; other decorators are left alone."""
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_sample.py").write_text(
        "import pytest\n"
        "pytestmark = [pytest.mark.clause('ski', '1')]\n"
        "@pytest.mark.clause('ski', '7.3')\n@pytest.mark.slow\ndef test_one(): ...\n"
        "@pytest.mark.clause('kaori', '3.2')\nclass TestTwo:\n"
        "    @pytest.mark.clause('nowhere', '0')\n    def test_three(self): ...\n"
    )
    found = conformance.load_markers(folder)
    assert [(marker.specification, marker.clause, marker.test) for marker in found] == [
        ("ski", "1", "tests/test_sample.py"),
        ("ski", "7.3", "tests/test_sample.py::test_one"),
        ("kaori", "3.2", "tests/test_sample.py::TestTwo"),
        ("nowhere", "0", "tests/test_sample.py::TestTwo::test_three"),
    ]
    assert [marker.specification for marker in conformance.unknown(found, _specifications())] == ["nowhere"]


def test_a_clause_without_a_test_is_shown_plainly() -> None:
    """Nothing is claimed that no test shows."""
    sections = (conformance.Section("Both", ("1", "2")),)
    one = conformance.Specification("ski", "A title", {"1": ("asked | for",), "2": ("also",)}, sections)
    page = conformance.render_page([one], [conformance.Marker("ski", "2", "tests/x.py::test_y")])
    assert "| 1 | asked \\| for | no test yet |" in page
    assert "| 2 | also | `tests/x.py::test_y` |" in page
    assert "1 of 2 clauses have a test" in page


def test_every_clause_stands_under_one_heading() -> None:
    """`7.3` is below `7` and `70` is not; a clause that no section names would be left out of the page unseen."""
    clauses = {"7": ("a",), "7.3": ("b",), "70": ("c",), "law 1": ("d",)}
    sections = (conformance.Section("Seven", ("7",)), conformance.Section("The rest", ("70", "law")))
    one = conformance.Specification("ski", "A title", clauses, sections)
    assert list(conformance.headed(one)) == [("Seven", ["7", "7.3"]), ("The rest", ["70", "law 1"])]
    with pytest.raises(LookupError, match="'70', 'law 1'"):
        list(conformance.headed(conformance.Specification("ski", "A title", clauses, sections[:1])))
