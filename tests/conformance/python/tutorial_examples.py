"""Runs the examples of pyFFTW's tutorial as pytest tests. TUTORIAL names the file.

Blocks run in their order and share their variables, as in Sphinx. Blocks marked as plain code are
left out, because some of them lack the page's imports.
"""

from __future__ import annotations

import doctest
import os
import pathlib
import re
import textwrap
from typing import Any

import pytest

BLOCK = re.compile(r"^\.\. (doctest|testcode)::\n\n((?:   .*\n|\n)+)", re.MULTILINE)
LOOSE = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
NAMESPACE: dict[str, Any] = {}
FOUND = [
    (kind, textwrap.dedent(text))
    for kind, text in BLOCK.findall(
        pathlib.Path(os.environ["TUTORIAL"]).read_text(encoding="utf-8")
    )
]


@pytest.mark.parametrize("index", range(len(FOUND)))
def test_block(index: int) -> None:
    kind, text = FOUND[index]
    if kind == "testcode":
        exec(compile(text, f"block {index}", "exec"), NAMESPACE)
        return
    example = doctest.DocTestParser().get_doctest(text, {}, f"block {index}", None, 0)
    example.globs = NAMESPACE
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=LOOSE)
    failed = runner.run(example, out=said.append, clear_globs=False).failed
    assert failed == 0, "".join(said)
