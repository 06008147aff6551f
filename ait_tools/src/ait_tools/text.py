# SPDX-License-Identifier: Apache-2.0
"""A report on what the compiler decided, for people."""

from __future__ import annotations

from typing import Any

from ait_tools.output import size


def text(data: dict[str, Any]) -> str:
    """A report (:func:`ait_tools.report.report`) for people."""
    where = ", ".join(f"{n}={s}" for n, s in data["sizes"].items()) or "fixed sizes"
    saved = data["bytes_unfused"] - data["bytes"]
    lines = [
        f"{data['model']} for {data['target']}",
        f"{data['nodes']['source']} nodes, {data['nodes']['optimised']} after the passes; kernel launches: "
        f"{data['launches']} a call, {data['load_launches']} at load",
        f"memory traffic of a call at {where}: {size(data['bytes'])}, where unfused it would be "
        f"{size(data['bytes_unfused'])}: {size(saved)} saved",
    ]
    for g in sorted(data["groups"], key=lambda g: g["load_time"]):
        lines += ["", *_group(g)]
    _section(
        lines,
        "Horizontal merges",
        [
            f"{h['group']}: {h['branches']} products of one operand became one ({', '.join(h['shares'])})"
            for h in data["horizontal"]
        ],
    )
    _section(
        lines,
        "Through memory, and why",
        [
            f"{e['value']} {e['type']}: {e['from']} -> {e['to']} ({e['reader']}.{e['operand']}): {e['reason']}"
            for e in data["edges"]
        ],
    )
    _section(
        lines,
        "Fusions tried and refused",
        [f"{d['producer']} -> {d['consumer']}: {d['reason']}" for d in data["not_fused"]],
    )
    _section(lines, "Copies", [f"{c['value']}: {c['reason']}" for c in data["copies"]])
    _section(
        lines,
        "Passes",
        [
            f"{p['name']:<18} {p['before']:>5} -> {p['after']:<5} nodes {p['seconds'] * 1e3:8.1f} ms"
            + ("" if p["changed"] else "  nothing to do")
            + "".join(f"\n      {n}" for n in p["notes"])
            for p in data["passes"]
        ],
    )
    return "\n".join(lines)


def _section(lines: list[str], title: str, rows: list[str]) -> None:
    lines += ["", title, *(f"  {r}" for r in rows or ["none"])]


def _group(g: dict[str, Any]) -> list[str]:
    saved = g["bytes_unfused"] - g["bytes"]
    when = "at load" if g["load_time"] else f"{g['launches']} launch{'es' if g['launches'] != 1 else ''}"
    lines = [
        f"{g['name']}  [{g['kernel']}, {when}, {size(g['bytes'])} moved"
        + (f", {size(saved)} saved]" if saved > 0 else "]")
    ]
    for n in g["nodes"]:
        lines.append(_node(n, ""))
    for n in g["computed_again"]:
        lines.append(_node(n, ", computed again here"))
    for s in g["stores"]:
        where = {"arena": "the arena", "derived": "memory made at load", "output": "an output"}.get(
            s["space"], s["space"]
        )
        lines.append(
            f"    stores {s['value']} {s['type']} in {where}"
            + (f", inside {s['into']}" if s["into"] else "")
            + (f", strides {'x'.join(s['strides'])} from {s['offset']}" if s["strides"] else "")
        )
    return lines


def _node(n: dict[str, str], note: str) -> str:
    origin = f" of {n['origin']}" if n["origin"] and n["origin"] != n["op"] else ""
    return f"    {n['op']}{origin} -> {n['value']}{note}" + (f"  ({n['source']})" if n["source"] else "")
