# SPDX-License-Identifier: Apache-2.0
"""Layered drawing of a directed acyclic graph (Sugiyama et al. 1981): layers by longest path, order within layers by
medians, coordinates by least squares under the order (isotonic regression, Barlow et al. 1972).

Edges of one value are one net, which shares its way down: many readers make one line that branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

GAP_X, GAP_Y, LANE = 26.0, 44.0, 10.0  # between boxes, between layers, width of a passing line
SWEEPS = 12
ROW = 8  # boxes without edges beside each other


@dataclass(eq=False)
class Box:
    """A node to place: ``x`` and ``y`` are its centre and its top, in pixels."""

    key: str
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0
    layer: int = 0
    above: list[Box] = field(default_factory=list)
    below: list[Box] = field(default_factory=list)
    lane: bool = False  # not a node but where a net passes a layer


@dataclass(eq=False)
class Net:
    """A value on its way from one node to its readers; ``parts`` are the pieces of the line, each from box to box."""

    source: str
    readers: tuple[str, ...]
    parts: list[tuple[Box, Box]] = field(default_factory=list)


@dataclass
class Drawing:
    boxes: dict[str, Box]
    nets: list[Net]
    width: float
    height: float


def arrange(boxes: Sequence[Box], nets: Sequence[Net]) -> Drawing:
    """Place the boxes and lay the nets.

    Args:
        boxes: in topological order.
    """
    if not boxes:
        return Drawing({}, [], 0.0, 0.0)
    by_key = {b.key: b for b in boxes}
    _assign_layers(boxes, nets, by_key)
    layers: list[list[Box]] = [[] for _ in range(max(b.layer for b in boxes) + 1)]
    for b in boxes:
        layers[b.layer].append(b)
    for net in nets:
        _lay(net, by_key, layers)
    _order(layers)
    _x(layers)
    y = 0.0
    for layer in layers:
        height = max(b.height for b in layer)
        for b in layer:
            b.y = y + (0 if b.lane else (height - b.height) / 2)
            b.height = height if b.lane else b.height
        y += height + GAP_Y
    everything = [b for layer in layers for b in layer]
    left = min(b.x - b.width / 2 for b in everything)
    for b in everything:
        b.x -= left
    return Drawing(by_key, list(nets), max(b.x + b.width / 2 for b in everything), y - GAP_Y)


def _assign_layers(boxes: Sequence[Box], nets: Sequence[Net], by_key: dict[str, Box]) -> None:
    """Longest path from the top; then what nothing feeds (inputs) moves down to just above its first reader."""
    into: dict[str, list[str]] = {}
    out: dict[str, list[str]] = {}
    for n in nets:
        for r in n.readers:
            into.setdefault(r, []).append(n.source)
            out.setdefault(n.source, []).append(r)
    for b in boxes:
        b.layer = max((by_key[s].layer + 1 for s in into.get(b.key, ())), default=0)
    for b in boxes:
        if b.key not in into and b.key in out:
            b.layer = min(by_key[r].layer for r in out[b.key]) - 1
    alone = [b for b in boxes if b.key not in into and b.key not in out]
    for i, b in enumerate(alone):
        b.layer = i // ROW
    top = min(b.layer for b in boxes)  # moving inputs down may have emptied the first layers
    for b in boxes:
        b.layer -= top


def _lay(net: Net, by_key: dict[str, Box], layers: list[list[Box]]) -> None:
    source = by_key[net.source]
    chain = {source.layer: source}
    for r in sorted({by_key[r] for r in net.readers}, key=lambda b: b.layer):
        for layer in range(max(chain) + 1, r.layer):
            chain[layer] = Box("", LANE, 0.0, layer=layer, lane=True)
            layers[layer].append(chain[layer])
            _join(net, chain[layer - 1], chain[layer])
        _join(net, chain[r.layer - 1], r)


def _join(net: Net, a: Box, b: Box) -> None:
    net.parts.append((a, b))
    a.below.append(b)
    b.above.append(a)


def _order(layers: list[list[Box]]) -> None:
    """Sort layers by the medians of their neighbours, up and down, and keep the order with the fewest crossings."""
    best, fewest = [list(layer) for layer in layers], _crossings(layers)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            at = _positions(layers, layer, down)
            keyed = [
                (_median([at[id(n)] for n in (b.above if down else b.below)], i), i, b) for i, b in enumerate(layer)
            ]
            layer[:] = [b for _, _, b in sorted(keyed, key=lambda k: k[:2])]
        now = _crossings(layers)
        if now < fewest:
            best, fewest = [list(layer) for layer in layers], now
    for layer, found in zip(layers, best, strict=True):
        layer[:] = found


def _positions(layers: list[list[Box]], layer: list[Box], down: bool) -> dict[int, float]:
    i = layer[0].layer + (-1 if down else 1)
    near = layers[i] if 0 <= i < len(layers) else []
    scale = len(layer) / max(1, len(near))  # positions in a wider layer count for as much as in a narrow one
    return {id(b): k * scale for k, b in enumerate(near)}


def _median(positions: Iterable[float], otherwise: float) -> float:
    p = sorted(positions)
    if not p:
        return otherwise
    half = len(p) // 2
    return p[half] if len(p) % 2 else (p[half - 1] + p[half]) / 2


def _crossings(layers: list[list[Box]]) -> int:
    count = 0
    for upper, lower in zip(layers, layers[1:], strict=False):
        at = {id(b): i for i, b in enumerate(lower)}
        ends = [e for b in upper for e in sorted(at[id(n)] for n in b.below)]
        count += sum(ends[i] > e for k, e in enumerate(ends) for i in range(k))
    return count


def _x(layers: list[list[Box]]) -> None:
    """Centres: each box wants to be in the middle of its neighbours, above and below in turn."""
    for layer in layers:
        x = 0.0
        for b in layer:
            b.x = x + b.width / 2
            x += b.width + GAP_X
    for sweep in range(SWEEPS + 1):  # the last one goes down, so that chains hang straight
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            wanted = [_middle(b, (b.above or b.below) if down else (b.below or b.above)) for b in layer]
            _spread(layer, wanted)


def _middle(b: Box, near: list[Box]) -> float:
    """Where a box wants to be. Boxes follow boxes and lanes follow lanes, so that both chains come out straight."""
    return _median([n.x for n in [n for n in near if n.lane == b.lane] or near], b.x)


def _spread(layer: list[Box], wanted: list[float]) -> None:
    """The centres nearest to those wanted that keep order and gaps: pool neighbours that would overlap."""
    starts = [0.0]
    for a, b in zip(layer, layer[1:], strict=False):
        starts.append(starts[-1] + (a.width + b.width) / 2 + (LANE if a.lane and b.lane else GAP_X))
    blocks: list[list[float]] = []  # weighted sum, weight, members
    for b, want, start in zip(layer, wanted, starts, strict=True):
        weight = 0.2 if b.lane else 1.0 + len(b.above + b.below)  # lines make way for boxes
        blocks.append([(want - start) * weight, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            s, w, n = blocks.pop()
            blocks[-1][0] += s
            blocks[-1][1] += w
            blocks[-1][2] += n
    i = 0
    for s, w, n in blocks:
        for _ in range(int(n)):
            layer[i].x = s / w + starts[i]
            i += 1
