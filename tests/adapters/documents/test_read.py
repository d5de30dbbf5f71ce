"""Documents become blocks: headings, paragraphs and tables, whatever the format; what cannot be read is refused."""

import pytest

from assay.adapters.documents import DocumentError, read_document
from assay.verdicts.graph.extract_blocks import Block, BlockKind
from assay.verdicts.graph.extract_clauses import Clause, Table, read_clauses

_HTML = b"""<!DOCTYPE html><html><head><title>x</title><script>must()</script></head><body>
<h1>Rules</h1><h2>Part I</h2><h3>4. Nets</h3>
<ol type="a"><li>A net shall be green.<ul><li>dark</li></ul></li><li>A net shall float.</li></ol>
<dl><dt>Net</dt><dd>a thing with holes</dd></dl>
<table><caption>Mesh</caption><tr><th rowspan="2">Fish</th><th colspan="2">Minimum (mm)</th></tr>
<tr><th>North</th><th>South</th></tr><tr><td>Cod</td><td>80</td><td>90</td></tr></table>
<div>Loose text<p>A boat shall float.</p>and more</div></body></html>"""
_AKN = b"""<akomaNtoso xmlns="http://docs.oasis-open.org/legaldocml/ns/akn/3.0"><act><meta><p>no</p></meta><body>
<chapter><num>Chapter 2</num><heading>Fish</heading>
<section><num>14.</num><heading>Nets</heading><subsection><num>(1)</num><intro><p>A net shall be:</p></intro>
<paragraph><num>(a)</num><content><p>green; and</p></content></paragraph></subsection></section>
<section><num>15.</num><content><p>A boat shall <b>float</b>.</p></content></section></chapter></body></act>
</akomaNtoso>"""
_ECFR = b"""<DIV8 N="1.2" TYPE="SECTION"><HEAD>\xc2\xa7 1.2 Nets.</HEAD>
<P>(a) <I>Mesh.</I> (1) A net shall have holes.</P>
<P>(2) Holes shall be round.</P>
<GPOTABLE><TTITLE>Table</TTITLE><BOXHD><CHED>Fish</CHED><CHED>Limit</CHED></BOXHD><ROW><ENT>Cod</ENT><ENT>8</ENT></ROW>
</GPOTABLE></DIV8>"""
_CLML = b"""<Legislation><P1group><Title>Nets</Title><P1><Pnumber>3</Pnumber><P1para><P2><Pnumber>1</Pnumber><P2para>
<Text>A net must be green.</Text></P2para></P2></P1para></P1></P1group></Legislation>"""


def _clauses(content: bytes, name: str) -> list[tuple[str, str]]:
    return [(one.label, one.text) for one in read_clauses(read_document(content, name=name)) if isinstance(one, Clause)]


def test_html_gives_headings_lists_terms_and_tables() -> None:
    """Spanned cells are repeated; scripts are no text."""
    blocks = read_document(_HTML, name="rules.html")
    assert [block.text for block in blocks if block.kind is BlockKind.HEADING] == ["Rules", "Part I", "4. Nets"]
    (table,) = (block for block in blocks if block.kind is BlockKind.TABLE)
    assert (table.text, table.rows) == (
        "Mesh",
        (("Fish", "Minimum (mm)", "Minimum (mm)"), ("Fish", "North", "South"), ("Cod", "80", "90")),
    )
    texts = [block.text for block in blocks if block.kind is BlockKind.TEXT]
    assert texts == [
        "(a) A net shall be green.", "- dark", "(b) A net shall float.", "Net: a thing with holes", "Loose text",
        "A boat shall float.", "and more",
    ]  # fmt: skip
    assert ("4(b)", "A net shall float.") in _clauses(_HTML, "rules.html")


def test_akoma_ntoso_gives_the_numbers_that_a_lawyer_cites() -> None:
    assert _clauses(_AKN, "act.xml") == [
        ("14(1)", "A net shall be:"), ("14(1)(a)", "green; and"), ("15", "A boat shall float."),
    ]  # fmt: skip


def test_ecfr_gives_paragraphs_inside_paragraphs_and_its_own_tables() -> None:
    assert _clauses(_ECFR, "part.xml") == [
        ("§ 1.2(a)(1)", "A net shall have holes."), ("§ 1.2(a)(2)", "Holes shall be round."),
    ]  # fmt: skip
    (table,) = (one for one in read_clauses(read_document(_ECFR, name="part.xml")) if isinstance(one, Table))
    assert table.rows == (("Fish", "Limit"), ("Cod", "8"))


def test_clml_gives_numbers_without_marks_their_marks() -> None:
    assert _clauses(_CLML, "uksi.xml") == [("3(1)", "A net must be green.")]


def test_an_entity_is_not_resolved() -> None:
    """A document cannot make the reader open a file; the entity stands as it is written."""
    bomb = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><a><p>A net shall be &x; green.</p></a>'
    text = " ".join(block.text for block in read_document(bomb, name="a.xml"))
    assert text == "A net shall be &x; green."


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"", "a.html"),
        (b"<html>" + b"<div>" * 5000 + b"A net must float.", "a.html"),
        (b"<a><b></a>", "a.xml"),
        (b"", "a.xml"),
        (b"\xff\xfe must", "a.txt"),
        (b"%PDF-1.4 nothing", "a.pdf"),
    ],
)
def test_a_document_that_cannot_be_read_is_refused(content: bytes, name: str) -> None:
    with pytest.raises(DocumentError):
        read_document(content, name=name)


def _pdf(lines: list[str]) -> bytes:
    """A PDF of one page with these lines, written by hand."""
    shown = " ".join(f"1 0 0 1 72 {760 - 18 * row} Tm ({line}) Tj" for row, line in enumerate(lines))
    stream = f"BT /F1 11 Tf {shown} ET".encode()
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources 5 0 R >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Courier >> >> >>",
    ]
    content, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(bodies, start=1):
        offsets.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    tail = b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(content)
    return content + b"xref\n0 6\n0000000000 65535 f \n" + table + tail


def test_a_pdf_gives_its_lines_and_a_table_of_columns() -> None:
    """Cells stand apart by two spaces or more."""
    lines = ["Net rules", "", "1. A net shall be green.", "", "Fish      Limit", "Cod       8 kg", "Hake      9 kg"]
    blocks = read_document(_pdf(lines), name="rules.pdf")
    assert Block(kind=BlockKind.TEXT, text="1. A net shall be green.", line=blocks[1].line) in blocks
    assert [block.rows for block in blocks if block.rows] == [(("Fish", "Limit"), ("Cod", "8 kg"), ("Hake", "9 kg"))]
