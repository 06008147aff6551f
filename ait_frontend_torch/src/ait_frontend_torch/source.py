# SPDX-License-Identifier: Apache-2.0
"""Where a node of an exported program comes from: the module, and the line of the user's source."""

from __future__ import annotations

import os
import re

import torch

_TORCH = os.path.dirname(torch.__file__) + os.sep
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<fn>.*)\n\s*(?P<code>.*)')


def frame(node: torch.fx.Node) -> tuple[str, str, str] | None:
    """(file, line, code) of the innermost frame that is not torch's own."""
    frames = [m for m in _FRAME.finditer(node.meta.get("stack_trace") or "") if not m["file"].startswith((_TORCH, "<"))]
    return (frames[-1]["file"], frames[-1]["line"], frames[-1]["code"].strip()) if frames else None


def module_path(node: torch.fx.Node) -> str:
    """The path of the submodule whose forward made the node, ``encoder.layer.0``; empty for the root."""
    stack = node.meta.get("nn_module_stack") or {}
    paths = [path for path, _ in stack.values()]
    return re.sub(r"^L\['self'\]\.?", "", paths[-1]) if paths else ""


def short(node: torch.fx.Node) -> str:
    """For ``Node.source``: ``encoder.layer.0 (model.py:12)``; no directories, so that builds do not depend on them."""
    found, path = frame(node), module_path(node)
    where = f"{os.path.basename(found[0])}:{found[1]}" if found else ""
    return f"{path} ({where})" if path and where else path or where


def label(node: torch.fx.Node) -> str:
    """A name for the node's values that says where they belong."""
    path = re.sub(r"\W", "_", module_path(node), flags=re.ASCII)
    return f"{path}_{re.sub(r'_[0-9]+$', '', node.name)}" if path else node.name


def describe(node: torch.fx.Node) -> str:
    """For messages: module, file, line and code."""
    found, path = frame(node), module_path(node)
    where = f"{found[0]}:{found[1]}: {found[2]}" if found else "(no source line known)"
    return f"{where}{f'   [in module {path}]' if path else ''}"
