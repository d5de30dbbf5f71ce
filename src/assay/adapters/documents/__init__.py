"""Documents of other formats as blocks of text: HTML, XML (Akoma Ntoso, eCFR, CLML), PDF, plain text, Markdown.

bytes -> format -> blocks (headings, paragraphs, tables) -> the extraction of the verdict room
May import: ports and everything below. lxml and pypdf are imported where they are used; each is an extra.
"""

from assay.adapters.documents.read import DocumentError, read_document

__all__ = ["DocumentError", "read_document"]
