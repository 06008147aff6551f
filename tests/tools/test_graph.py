# SPDX-License-Identifier: Apache-2.0
"""graph: the layout, and a page that holds together whatever a model is called."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ait_tools.layout import Box, Net, arrange
from ait_tools.page import clean, cut, data
from tests.tools.conftest import MODELS, ait, ok
from tests.tools.models import HOSTILE


class Page(HTMLParser):
    """Elements by tag, and the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: dict[str, list[dict[str, str | None]]] = {}
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.setdefault(tag, []).append(dict(attrs))
        self.inside = tag

    def handle_data(self, text):
        (self.scripts if self.inside == "script" else self.texts).append(text)

    def handle_endtag(self, tag):
        self.inside = ""


def draw(name: str, out: Path) -> tuple[str, Page]:
    assert ok("graph", f"{MODELS}:{name}", "--out", out)["bytes"] == out.stat().st_size
    text = out.read_text(encoding="utf-8")
    return text, Page(text)


def test_the_page_shows_the_graph_before_and_after(tmp_path):
    text, page = draw("mlp", tmp_path / "g.html")
    views = [a for a in page.found["svg"] if a["class"] == "view"]
    assert len(views) == len([b for b in page.found["button"] if b.get("role") == "tab"])
    assert {"gemm.matmul", "tensor.embedding", "tensor.relu"} <= set(page.texts)
    assert "f32[batch, 16]" in page.texts and "gemm.cpu.packed" in page.texts
    details = json.loads(page.scripts[0])
    boxes = [a["data-key"] for a in page.found["g"] if "data-key" in a]
    assert set(boxes) == set(details) and len(boxes) == len(set(boxes))
    wires = [a for a in page.found["g"] if a.get("class") == "wire"]
    assert all(k in details for w in wires for k in [w["data-from"], *w["data-to"].split()])
    kernels = [dict(d["details"]) for d in details.values() if d["kind"] == "contraction"]
    last = [d for d in kernels if "reads through memory, and why" in d][-1]
    assert 'extern "C" void ait_kernel_' in last["source code"] and last["ops"] and last["stores"]
    before = dict(next(d for d in details.values() if d["title"] == "tensor.sum")["details"])
    assert ["axes", "(0,)"] in before["attributes"]
    assert f"{tmp_path / 'g.html'}  " in ait("graph", f"{MODELS}:mlp", "--out", tmp_path / "g.html").output


def test_the_page_needs_nothing_else(tmp_path):
    text, page = draw("branches", tmp_path / "g.html")
    assert set(page.found) <= {
        "html", "head", "meta", "title", "style", "body", "header", "h1", "div", "span", "b", "small", "button",
        "input", "output", "main", "svg", "g", "text", "rect", "path", "i", "aside", "h2", "script",
    }  # fmt: skip
    for elements in page.found.values():
        for attributes in elements:
            assert not {"src", "href", "xlink:href", "srcset", "action"} & set(attributes)
            assert not any(a.startswith("on") for a in attributes)
    assert "url(" not in text and "@import" not in text and "fetch(" not in text
    policy = next(m["content"] for m in page.found["meta"] if m.get("http-equiv") == "Content-Security-Policy")
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def test_names_never_become_markup(tmp_path):
    text, page = draw("hostile", tmp_path / "g.html")
    assert "img" not in page.found and len(page.found["script"]) == 2
    assert "<img" not in text and "\u202e" not in text
    shown = HOSTILE.replace("\u202e", "\ufffd")
    assert shown in page.texts
    assert any(a.get("data-search", "").startswith(shown.lower()) for a in page.found["g"])
    details = json.loads(page.scripts[0])
    sources = [dict(d["details"]).get("source") for d in details.values()]
    assert f"file{shown}:1" in sources
    assert all(d["title"] == clean(d["title"]) for d in details.values())


def test_unsafe_text_is_made_safe():
    assert clean("a\x00b\x1b[0m\u2066\ud800\n") == "a\ufffdb\ufffd[0m\ufffd\ufffd\n"
    assert json.loads(data({"x": HOSTILE})) == {"x": HOSTILE} and not re.search("[<>&]", data(HOSTILE))
    assert "…" in cut("x" * 100) and len(cut("x" * 100)) < 50 and cut("short") == "short"


@st.composite
def drawings(draw):
    n = draw(st.integers(1, 25))
    sizes = st.floats(10, 200)
    boxes = [Box(str(i), draw(sizes), draw(sizes)) for i in range(n)]
    nets = []
    for i in range(n - 1):
        readers = draw(st.sets(st.integers(i + 1, n - 1), max_size=4))
        if readers:
            nets.append(Net(str(i), tuple(map(str, sorted(readers)))))
    return boxes, nets


@settings(max_examples=60, deadline=None)
@given(drawings())
def test_boxes_do_not_overlap_and_nets_lead_down_to_every_reader(case):
    boxes, nets = case
    made = arrange(boxes, nets)
    for i, a in enumerate(boxes):
        assert -0.01 <= a.x - a.width / 2 and a.x + a.width / 2 <= made.width + 0.01
        assert a.y + a.height <= made.height + 0.01
        for b in boxes[:i]:
            apart_x = abs(a.x - b.x) >= (a.width + b.width) / 2 - 0.01
            assert apart_x or a.y + a.height < b.y or b.y + b.height < a.y
    for net in made.nets:
        reached = {id(made.boxes[net.source])}
        for a, b in net.parts:
            assert id(a) in reached and a.layer + 1 == b.layer and a.y + a.height < b.y
            reached.add(id(b))
        assert all(id(made.boxes[r]) in reached for r in net.readers)


def test_a_chain_hangs_straight():
    boxes = [Box(str(i), 50 + 10 * (i % 3), 20) for i in range(8)]
    made = arrange(boxes, [Net(str(i), (str(i + 1),)) for i in range(7)])
    assert max(b.x for b in boxes) - min(b.x for b in boxes) < 1e-6
    assert [b.layer for b in boxes] == list(range(8)) and made.width == 70


def test_nothing_can_be_drawn():
    assert arrange([], []).width == 0
