# SPDX-License-Identifier: Apache-2.0
"""The documentation as data: pages, their fenced blocks, links and headings.

A fenced block says what it is in the words after its backticks:

``python run``
    is executed; the blocks of one page share a namespace, and a directory of their own.
``python file=PATH``, ``cpp file=PATH``
    is, word for word, a part of that file. A file below ``docs/examples`` also lies in the page's directory.
``console run``
    ``$ `` lines are commands, ``ait`` or ``python``, run without a shell; the lines below one are its output, in which
    ``...`` stands for anything and the kind of white space does not matter.
``text output``
    is what the block before it printed, compared in the same way.
``sh``
    calls targets of the Makefile.
``text``, ``cpp``, ``toml``, ``mermaid``
    are only looked at.
"""

from __future__ import annotations

import doctest
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"
INERT = {"text", "cpp", "toml", "mermaid"}
OWN_TEST = {"publish_your_own_op_pack.md"}  # pages whose snippets another test runs
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A fenced block. ``line`` is that of its first line in the page, ``info`` the words after the backticks."""

    page: Path
    line: int
    info: tuple[str, ...]
    text: str

    @property
    def language(self) -> str:
        return self.info[0] if self.info else ""

    @property
    def file(self) -> Path | None:
        """The file of which the block is a part."""
        return next((ROOT / w.removeprefix("file=") for w in self.info if w.startswith("file=")), None)

    @property
    def runs(self) -> bool:
        return self.info in (("python", "run"), ("console", "run"))

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """Every page of the documentation."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, m.start("text")) + 1, tuple(m["info"].split()), textwrap.dedent(m["text"]))
        for m in FENCE.finditer(text)
    ]


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    """The targets of a page's links."""
    return re.findall(r"\]\(([^)\s]+)\)", prose(page))


def anchors(page: Path) -> set[str]:
    """The fragments under which the headings of a page are found."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with the output that is shown."""
    for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def same_output(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(shown.strip() + "\n", printed.strip() + "\n", flags)
