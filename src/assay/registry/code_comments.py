"""What people wrote into code for people: the comments of a source text, and the docstrings of Python.

path -> its language, by the end of its name;   text -> the lines of its comments
A string is no comment, whatever it says; a text in no known language has none.
"""

import ast
import re
import tokenize
import warnings
from collections.abc import Iterator
from io import StringIO
from pathlib import PurePosixPath

_DOUBLE = r'"(?:\\.|[^"\\\n])*+"'
_SINGLE = r"'(?:\\.|[^'\\\n])*+'"
_CHARACTER = r"'(?:\\.[^'\n]{0,8}|[^'\\\n])'"
_TEMPLATE = r"`(?:\\.|[^`\\])*+(?:`|\Z)"
_TRIPLE = r'"""(?s:.*?)(?:"""|\Z)|\'\'\'(?s:.*?)(?:\'\'\'|\Z)'
_BLOCK = r"/\*(?s:.*?)(?:\*/|\Z)"


def _lexer(comments: str, *strings: str) -> re.Pattern[str]:
    """Comments and strings, whichever begins first: what looks like the one inside the other is not."""
    return re.compile(f"(?P<comment>{comments})|{'|'.join(strings)}")


_HASH = _lexer(r"(?<!\S)#[^\n]*+", _TRIPLE, _DOUBLE, _SINGLE)
_SLASHES = _lexer(rf"//[^\n]*+|{_BLOCK}", _DOUBLE, _SINGLE, _TEMPLATE)
_RUST = _lexer(rf"//[^\n]*+|{_BLOCK}", _DOUBLE, _CHARACTER)
_DASHES = _lexer(rf"--[^\n]*+|{_BLOCK}", _DOUBLE, _SINGLE)
_SEMICOLON = _lexer(r";[^\n]*+", _DOUBLE)
_PERCENT = _lexer(r"%[^\n]*+", _DOUBLE, _SINGLE)
_MARKUP = _lexer(rf"<!--(?s:.*?)(?:-->|\Z)|//[^\n]*+|{_BLOCK}", _DOUBLE, _SINGLE, _TEMPLATE)
_PYTHON = (".py", ".pyi")
_LANGUAGES: dict[str, re.Pattern[str]] = {
    ending: lexer
    for lexer, endings in (
        (_HASH, ".py .pyi .rb .sh .bash .zsh .pl .pm .r .jl .ex .exs .tf .nix .yaml .yml .toml .mk .ps1"),
        (_SLASHES, ".c .h .cc .cpp .cxx .hpp .cs .go .java .js .jsx .mjs .cjs .ts .tsx .mts .cts .kt .kts .swift"),
        (_SLASHES, ".scala .dart .php .proto .groovy .gradle .sol .zig .m .mm .cu .v .sv"),
        (_RUST, ".rs"),
        (_DASHES, ".sql .lua .hs .adb .ads .vhd .vhdl .elm"),
        (_SEMICOLON, ".lisp .cl .clj .cljs .scm .rkt .asm .s"),
        (_PERCENT, ".erl .hrl"),
        (_MARKUP, ".vue .svelte"),
    )
    for ending in endings.split()
}
_NAMES = {"Makefile": _HASH, "Dockerfile": _HASH, "Justfile": _HASH}


def comment_lines(path: str, text: str) -> Iterator[tuple[int, str]]:
    """Each line of a comment, with its number from 1 on, in order."""
    place = PurePosixPath(path.replace("\\", "/"))
    ending = place.suffix.lower()
    lexer = _NAMES.get(place.name) or _LANGUAGES.get(ending)
    if lexer is None:
        return
    if ending in _PYTHON:
        yield from sorted(_python_lines(text, lexer))
    else:
        yield from _lines(text, lexer)


def _lines(text: str, lexer: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    number, counted = 1, 0
    for found in lexer.finditer(text):
        comment = found.group("comment")
        if comment is None:
            continue
        number, counted = number + text.count("\n", counted, found.start()), found.start()
        yield from enumerate(comment.split("\n"), start=number)


def _python_lines(text: str, lexer: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """By Python's own reading; a text that is none to it still has comments."""
    try:
        tokens = list(tokenize.generate_tokens(StringIO(text).readline))
        with warnings.catch_warnings():
            # How others escape their strings is not our business.
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, tokenize.TokenError, ValueError, RecursionError, MemoryError):
        yield from _lines(text, lexer)
        return
    yield from ((one.start[0], one.string) for one in tokens if one.type == tokenize.COMMENT)
    lines = text.split("\n")
    for first, last in _docstrings(tree):
        yield from enumerate(lines[first - 1 : last], start=first)


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """Their first and last lines."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not node.body:
            continue
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            yield first.lineno, first.end_lineno or first.lineno
