# SPDX-License-Identifier: Apache-2.0
"""One HTML page with everything in it. Names in models are untrusted: all text is escaped, the script only ever sets
text, and the page's own policy forbids every other script and every request."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ait_tools.diagram import Diagram, Item, Wire
from ait_tools.layout import Box, Drawing, Net, arrange

CHAR, LINE, PAD = 6.7, 15.0, 9.0  # of the page's monospaced font at 11 px
LONGEST = 44  # characters of a line in a box
FOLDER = Path(__file__).parent / "assets"
# controls, and what reorders text so that it reads as something else
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def page(title: str, facts: Sequence[tuple[str, str]], diagrams: Sequence[Diagram]) -> str:
    """The page.

    Args:
        title: the model's name.
        facts: shown beside it.
        diagrams: one a tab.
    """
    script, style = ((FOLDER / f"page.{kind}").read_text(encoding="utf-8") for kind in ("js", "css"))
    details: dict[str, Any] = {}
    views, tabs = [], []
    for i, d in enumerate(diagrams):
        views.append(_view(i, d, details))
        count = sum(x.kind not in ("input", "output") for x in d.items)
        tabs.append(f'<button role="tab">{text(d.name)} <small>{count}</small></button>')
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    fields = {
        "POLICY": f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        "TITLE": text(title),
        "STYLE": style,
        "SCRIPT": script,
        "TABS": "".join(tabs),
        "VIEWS": "".join(views),
        "FACTS": "".join(f"<span><b>{text(v)}</b> {text(k)}</span>" for k, v in facts),
        "DETAILS": data(details),
    }
    template = (FOLDER / "page.html").read_text(encoding="utf-8")
    return re.sub(r"@([A-Z]+)@", lambda m: fields[m[1]], template)


def text(value: object) -> str:
    """Any text as HTML text or attribute value."""
    return html.escape(clean(str(value)))


def clean(value: str) -> str:
    """Text without what browsers may not show as it is."""
    return UNSAFE.sub("\ufffd", value)


def data(value: Any) -> str:
    """JSON that no HTML parser can be led out of."""
    made = json.dumps(value, ensure_ascii=True)
    return made.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _view(index: int, diagram: Diagram, details: dict[str, Any]) -> str:
    drawing = _drawing(diagram)
    quiet = {f"{index}-{item.key}" for item in diagram.items if item.kind == "input"}
    lines = [_wire(n, w, f"{index}-", quiet) for n, w in zip(drawing.nets, diagram.wires, strict=True)]
    boxes = []
    for item in diagram.items:
        details[f"{index}-{item.key}"] = {
            "title": clean(item.title),
            "kind": item.kind,
            "details": [
                [h, clean(b) if isinstance(b, str) else [[clean(str(c)) for c in row] for row in b]]
                for h, b in item.details
                if b
            ],
        }
        boxes.append(_box(item, drawing.boxes[item.key], f"{index}-{item.key}"))
    sizes = f'data-width="{drawing.width:.0f}" data-height="{drawing.height:.0f}"'
    return f'<svg class="view" {sizes} hidden><g class="scene">{"".join(lines)}{"".join(boxes)}</g></svg>'


def _drawing(diagram: Diagram) -> Drawing:
    boxes = []
    for item in diagram.items:
        longest = max(len(cut(item.title)) * 1.1, *(len(cut(x)) for x in item.lines or [""]))
        boxes.append(Box(item.key, longest * CHAR + 2 * PAD + 5, (len(item.lines) + 1) * LINE + 2 * PAD - 3))
    return arrange(boxes, [Net(w.source, tuple(w.readers)) for w in diagram.wires])


def cut(line: str) -> str:
    """A line as a box shows it; the panel has all of it."""
    return line if len(line) <= LONGEST else line[: LONGEST // 2 - 1] + "…" + line[-LONGEST // 2 :]


def _box(item: Item, b: Box, key: str) -> str:
    left = b.x - b.width / 2
    lines = [f'<text class="title" x="{PAD + 4}" y="{PAD + 9}">{text(cut(item.title))}</text>']
    for i, line in enumerate(item.lines):
        lines.append(f'<text x="{PAD + 4}" y="{PAD + 9 + (i + 1) * LINE:.0f}">{text(cut(line))}</text>')
    searched = text(" ".join([item.title, *item.lines]).lower())
    return (
        f'<g class="box {item.kind}" tabindex="0" role="button" data-key="{key}" data-search="{searched}" '
        f'data-x="{b.x:.0f}" data-y="{b.y + b.height / 2:.0f}" transform="translate({left:.1f},{b.y:.1f})">'
        f"<title>{text(item.title)}</title>"
        f'<rect width="{b.width:.1f}" height="{b.height:.1f}" rx="6"/>'
        f'<rect class="mark" width="4" height="{b.height:.1f}" rx="2"/>'
        f"{''.join(lines)}</g>"
    )


def _wire(net: Net, wire: Wire, prefix: str, quiet: set[str]) -> str:
    """``quiet`` are the boxes that say themselves what leaves them."""
    paths = []
    for a, b in net.parts:
        y0, y1 = a.y + a.height, b.y
        x0, x1 = a.x, b.x
        middle = (y0 + y1) / 2
        through = f"L{x1:.1f} {y1 + b.height:.1f}" if b.lane else ""
        paths.append(f"M{x0:.1f} {y0:.1f}C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}{through}")
    first = net.parts[0][0]
    label = f'<text x="{first.x + 6:.1f}" y="{first.y + first.height + 13:.1f}">{text(cut(wire.label))}</text>'
    label = "" if prefix + net.source in quiet else label
    ends = " ".join(prefix + r for r in net.readers)
    arrows = "".join(f'<path class="tip" d="M{b.x:.1f} {b.y:.1f}l-3.5 -7h7z"/>' for _, b in net.parts if not b.lane)
    return (
        f'<g class="wire" data-from="{prefix}{net.source}" data-to="{ends}">'
        f"<title>{text(f'{wire.name}: {wire.label}')}</title>"
        f'<path class="wide" d="{"".join(paths)}"/><path d="{"".join(paths)}"/>{arrows}{label}</g>'
    )
