"""Emits the header with which the drop-in library reads its settings: names, words, bounds,
texts."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import emit
from settings_source import TABLE, Row, rows_or_exit

_HEAD = f"""\
// Emitted by codegen/emit_settings.py from {TABLE}; edit that instead.
#pragma once

#include <array>
#include <string_view>

namespace ob::interpose::setting_table {{

struct Setting {{
  const char* variable;
  const char* older_variable;  ///< read if `variable` is not set; empty: there is none
  std::string_view complaint;  ///< follows "VARIABLE=VALUE " if the value is wrong
}};
"""


def header(rows: tuple[Row, ...]) -> str:
    """Returns the text of the header."""
    of_library = [row for row in rows if row.of_library]
    lines = [_HEAD]
    for row in of_library:
        lines.extend(_declarations(row))
    names = ", ".join(f"&k{emit.camel(row.name)}" for row in of_library)
    lines.append(
        "/// Every setting of the library.\n"
        f"inline constexpr std::array<const Setting*, {len(of_library)}> kAll{{{names}}};\n"
    )
    lines.append("}  // namespace ob::interpose::setting_table")
    return "\n".join(lines) + "\n"


def _declarations(row: Row) -> Iterator[str]:
    name = f"k{emit.camel(row.name)}"
    texts = ", ".join(f'"{text}"' for text in (row.variable, row.older_variable, complaint(row)))
    yield f"inline constexpr Setting {name}{{{texts}}};"
    if row.choices:
        words = ", ".join(f'"{word}"' for word in row.choices)
        size = len(row.choices)
        yield f"inline constexpr std::array<std::string_view, {size}> {name}Choices{{{words}}};"
    if row.max:
        yield f"inline constexpr unsigned {name}Min = {row.min}, {name}Max = {row.max};"
    yield ""


def complaint(row: Row) -> str:
    """Returns the message about a wrong value; empty for a row that accepts all values."""
    if row.choices:
        return f"is not {alternatives(row.choices)} ({row.used_instead} is used)"
    if not row.wrong:
        return ""
    advice = f"write {row.write}; " if row.write else ""
    return f"{row.wrong} ({advice}{row.used_instead} is used)"


def alternatives(words: tuple[str, ...]) -> str:
    """Returns the words as "a, b or c"."""
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


def main() -> None:
    parser = argparse.ArgumentParser(prog=Path(__file__).name)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("table", type=Path)
    options = parser.parse_args()
    text = header(rows_or_exit(options.table))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
