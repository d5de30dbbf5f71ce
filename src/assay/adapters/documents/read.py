"""Choose the reader of a document by its first bytes, then by its name."""

import re
from pathlib import PurePath

from assay.adapters.documents.html_blocks import html_blocks
from assay.adapters.documents.pdf_blocks import pdf_text
from assay.adapters.documents.xml_blocks import xml_blocks
from assay.kernel.errors import Blame, Code
from assay.verdicts.errors import GraphError
from assay.verdicts.graph.extract_blocks import Block, read_blocks

_HTML = re.compile(rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL)
_XHTML = re.compile(rb"<html\b", re.IGNORECASE)
_XML = re.compile(rb"\s*<(?:\?xml|!--|[A-Za-z_][\w.:-]*[\s>])")
_BOM = b"\xef\xbb\xbf"
_HEAD = 4096


class DocumentError(GraphError):
    """A document cannot be read as what it seems to be."""

    code = "graph.document_unreadable"
    blame = Blame.INPUT
    document_reader_missing = Code(
        "graph.document_reader_missing", "The library that reads a format is not installed.", Blame.USAGE
    )


def read_document(content: bytes, *, name: str = "") -> tuple[Block, ...]:
    """Read a document as blocks; refuse what is malformed or not UTF-8."""
    suffix, content = PurePath(name).suffix.lower(), content.removeprefix(_BOM)
    head = content[:_HEAD]
    if head.startswith(b"%PDF-"):
        return _pdf(content)
    if suffix in {".html", ".htm", ".xhtml"} or _HTML.match(head) or (_XML.match(head) and _XHTML.search(head)):
        return _markup(content, is_html=True)
    if suffix in {".xml", ".akn"} or head.lstrip().startswith(b"<?xml"):
        return _markup(content, is_html=False)
    try:
        return read_blocks(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"expected UTF-8 in `{name or 'the document'}`, got something else at byte {error.start}"
        ) from error


def _markup(content: bytes, *, is_html: bool) -> tuple[Block, ...]:
    try:
        from lxml import etree, html  # noqa: PLC0415 - the extra `documents`
    except ImportError as error:
        raise DocumentError.document_reader_missing('lxml is missing: pip install "assay[documents]"') from error

    try:
        if is_html:
            parser = html.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
            root = etree.fromstring(content, parser)
            # HTML is mended where it is malformed; what the parser gave up on would be lost without a word.
            lost = [entry.message for entry in parser.error_log if entry.level == etree.ErrorLevels.FATAL]
            if root is None or lost:
                raise DocumentError(f"expected HTML that can be read to its end, got: {(lost or ['nothing'])[0]}")
            return html_blocks(root)
        # No entity of the document is resolved, and nothing is loaded from elsewhere.
        safe = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
        )
        return xml_blocks(etree.fromstring(content, safe))
    except (etree.LxmlError, ValueError) as error:
        raise DocumentError(f"expected well-formed {'HTML' if is_html else 'XML'}, got: {error}") from error


def _pdf(content: bytes) -> tuple[Block, ...]:

    try:
        return read_blocks(pdf_text(content))
    except ImportError as error:
        raise DocumentError.document_reader_missing('pypdf is missing: pip install "assay[pdf]"') from error
    except ValueError as error:
        raise DocumentError(f"expected a readable PDF, got: {error}") from error
