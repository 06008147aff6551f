# SPDX-License-Identifier: Apache-2.0
"""The core stays minimal: its lines of code are counted, without blank lines, comments and docstrings."""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

CORE = Path(__file__).resolve().parents[2] / "ait_core" / "src"
LIMIT = 6000
IGNORED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(text: str) -> int:
    """Lines that hold code."""
    lines: set[int] = set()
    for t in tokenize.generate_tokens(io.StringIO(text).readline):
        if t.type not in IGNORED:
            lines.update(range(t.start[0], t.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def test_the_counter_counts() -> None:
    assert code_lines('"""Doc."""\n\n# comment\ndef f(x):\n    """Doc\n    more."""\n    return (x +\n            1)\n') == 3


def test_the_core_stays_below_its_limit() -> None:
    files = [p for p in CORE.rglob("*") if p.suffix in (".py", ".cpp", ".h", ".hpp", ".cu")]
    assert {p.suffix for p in files} == {".py"}, "C++ of the core would have to be counted too"
    assert sum(code_lines(p.read_text()) for p in files) < LIMIT
