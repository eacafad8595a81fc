"""Tests that names which a unity build would mix up are refused, and others are not."""

from __future__ import annotations

import unittest

from tree import TreeTest

import check_unity_names


def source(*lines: str) -> str:
    """Returns a file with the lines in its unnamed namespace."""
    return "\n".join(["namespace ob {", "namespace {", *lines, "}", "}", ""])


class CheckUnityNamesTest(TreeTest):
    def complaints(self, option: str, **files: str) -> list[str]:
        """Returns the complaints about a library with these files."""
        self.write("src/part/CMakeLists.txt", f"ob_add_library(ob_part SOURCES a.cpp {option})\n")
        for name, text in files.items():
            self.write(f"src/part/{name}.cpp", text)
        return check_unity_names.check(self.root)

    def test_each_kind_of_name_is_found(self) -> None:
        for first, second in (
            ("int f(int a) { return a; }", "int f(long a) { return 1; }"),
            ("constexpr int f = 1;", "constexpr int f = 2;"),
            ("struct f { int a; };", "class f {};"),
            ("enum { e, f };", "constexpr int f = 2;"),
            ("using f = int;", "using f = long;"),
        ):
            with self.subTest(first):
                found = self.complaints("UNITY", a=source(first), b=source(second))
                self.assertEqual(len(found), 1, found)
                for part in ("src/part/a.cpp", "src/part/b.cpp", "`f`"):
                    self.assertIn(part, found[0])

    def test_other_names_may_repeat(self) -> None:
        same = "using f = int;"
        member = "struct {} {{ int f() {{ enum {{ e }}; int f = {}; return f; }} }};"
        for a, b in (
            (source(same), source(same)),
            (source(member.format("a", 1)), source(member.format("b", 2))),
            ("namespace ob { int f(int); }\n", "namespace ob { int f(long); }\n"),
        ):
            with self.subTest(a):
                self.assertEqual(self.complaints("UNITY", a=a, b=b), [])

    def test_libraries_without_unity_are_left_out(self) -> None:
        a, b = source("constexpr int f = 1;"), source("constexpr int f = 2;")
        self.assertEqual(self.complaints("", a=a, b=b), [])


if __name__ == "__main__":
    unittest.main()
