"""The source texts below a folder, in which `@rule:ID` annotations are looked for."""

from pathlib import Path

from assay.surfaces.cli.text_file import TextFileError, read_text

# Folders of other people's code, and of what was made from ours.
_LEFT_OUT = frozenset({".git", ".venv", "venv", "node_modules", "__pycache__", "dist", "build"})


def source_texts(source: Path) -> dict[str, str]:
    """By path: the one file, or every file below the folder; what is not UTF-8 is no text with annotations."""
    paths = [source] if source.is_file() else sorted(path for path in source.rglob("*") if path.is_file())
    found: dict[str, str] = {}
    for path in paths:
        if _LEFT_OUT & set(path.relative_to(source).parts):
            continue
        try:
            found[str(path)] = read_text(path)
        except TextFileError:
            continue
    return found
