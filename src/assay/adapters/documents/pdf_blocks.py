"""The text of a PDF, page by page: lines that repeat on the pages (running heads, page numbers) are left out."""

import io
import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypdf import PageObject

_MOST_PAGES = 2000
_PAGE = re.compile(r"(?:page\s+)?[0-9]{1,4}(?:\s*(?:/|of)\s*[0-9]{1,4})?", re.IGNORECASE)
_REPEATED = 3


def pdf_text(content: bytes) -> str:
    """Extract the text with its layout; raise ValueError for a file that is damaged, encrypted or without text."""
    from pypdf import PdfReader  # noqa: PLC0415 - the extra `pdf`
    from pypdf.errors import PyPdfError  # noqa: PLC0415 - the same

    try:
        reader = PdfReader(io.BytesIO(content))
        if reader.is_encrypted:
            raise ValueError("an encrypted file")
        if len(reader.pages) > _MOST_PAGES:
            raise ValueError(f"more than {_MOST_PAGES} pages")
        pages = [_page(page) for page in reader.pages]
    except (PyPdfError, KeyError, TypeError, AttributeError, RecursionError) as error:
        # The reader raises these for malformed objects inside a file.
        raise ValueError(f"a damaged file ({error})") from error
    text = _joined(pages)
    if not text.strip():
        raise ValueError("pages without text, as a scanner makes them")
    return text


def _page(page: "PageObject") -> list[str]:
    return [line.rstrip() for line in page.extract_text(extraction_mode="layout").splitlines()]


def _joined(pages: list[list[str]]) -> str:
    edges = Counter(line.strip() for page in pages for line in {*_edge(page)})
    kept: list[str] = []
    for page in pages:
        filled = [index for index, line in enumerate(page) if line.strip()]
        border = {*filled[:2], *filled[-2:]}
        for index, line in enumerate(page):
            is_repeated = index in border and edges[line.strip()] >= min(_REPEATED, max(len(pages), 2))
            is_number = index in border and _PAGE.fullmatch(line.strip()) is not None
            if not is_repeated and not is_number:
                kept.append(line)
    return _unindented(kept)


def _edge(page: list[str]) -> list[str]:
    filled = [line.strip() for line in page if line.strip()]
    return [*filled[:2], *filled[-2:]]


def _unindented(lines: list[str]) -> str:
    """Without the left margin; a word that is split at the end of a line is joined."""
    margins = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    margin = min(margins, default=0)
    text = "\n".join(line[margin:] for line in lines)
    return re.sub(r"(?<=[a-z])-\n\s*(?=[a-z])", "", text)
