"""Tests that missing files, broken links and long lines are found, but placeholders are not."""

from __future__ import annotations

import unittest

from tree import TreeTest

import check_doc_paths


class CheckDocPathsTest(TreeTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("src/wire/codec.cpp", "")
        self.write("docs/wire.md", '# 1. The wire: `ping`\n<a id="old"></a>\n')

    def complaints(self) -> list[str]:
        return check_doc_paths.check(self.root)

    def test_names_that_exist_pass(self) -> None:
        self.write(
            "README.md",
            "`src/wire/codec.cpp` `codec.cpp` `src/wire/` `src/wire/*.cpp` `codec.*` `cod*.cpp`\n"
            "[a](docs/wire.md) [b](docs/wire.md#1-the-wire-ping) [c](docs/wire.md#old)\n"
            "[d](#here) [e](https://example.com/none.md)\n\n## Here\n",
        )
        self.assertEqual(self.complaints(), [])

    def test_each_missing_name_is_found_with_its_place(self) -> None:
        self.write(
            "docs/page.md",
            "`src/wire/gone.cpp`\n\n`gone.cpp` `src/gone/`\n"
            "[a](gone.md) [b](wire.md#gone)\n`src/wire/*.hpp`\n",
        )
        self.assertEqual(
            [line.split(" does not")[0] for line in self.complaints()],
            [
                "docs/page.md:1: src/wire/gone.cpp",
                "docs/page.md:3: gone.cpp",
                "docs/page.md:3: src/gone/",
                "docs/page.md:4: broken link to gone.md",
                "docs/page.md:4: broken link to wire.md#gone",
                "docs/page.md:5: src/wire/*.hpp",
            ],
        )

    def test_placeholders_and_code_blocks_are_not_names(self) -> None:
        self.write(
            "README.md",
            "`src/wire/NAME.cpp` `src/a/b.cpp` `docs/decisions/NNNN-title.md` `src/<folder>/`\n\n"
            "    src/gone.cpp `src/gone.cpp`\n\n```\n`src/gone.cpp`\n```\n",
        )
        self.assertEqual(self.complaints(), [])

    def test_prose_wraps_but_tables_code_and_links_need_not(self) -> None:
        words = "word " * 20
        self.write(
            "README.md",
            f"{words[:-1]}.\n{words}x\n| {words}|\n![{words}](docs/wire.md)\n\n    {words}\n"
            f"https://example.com/{'x' * 100}\n",
        )
        self.assertEqual(self.complaints(), ["README.md:2: 101 columns (the limit is 100)"])

    def test_generated_folders_are_not_searched(self) -> None:
        self.write("build/release/docs/coverage.md", "`src/gone.cpp`\n")
        self.write("README.md", "`build/release/docs/coverage.md`\n")
        self.assertEqual(self.complaints(), [])


if __name__ == "__main__":
    unittest.main()
