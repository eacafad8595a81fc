"""Tests that sizes above a limit are found, sizes at one are not, and the exemptions only
shrink."""

from __future__ import annotations

import unittest

from tree import TreeTest

import check_sizes


def function(lines: int, head: str = "int f(int a) {") -> str:
    """Returns a C++ function with this number of lines."""
    return "\n".join([head, *["  g();"] * (lines - 1 - head.count("\n") - 1), "}\n"])


def python_function(lines: int) -> str:
    return "\n".join(["def f() -> None:", *["    g()"] * (lines - 1), ""])


class CheckSizesTest(TreeTest):
    def complaints(self) -> list[str]:
        return check_sizes.check(self.root)

    def test_limits_are_inclusive(self) -> None:
        self.write("src/a.cpp", function(70))
        self.write("src/b.cpp", "//" + "x" * 98 + "\n" + "\n" * 599)
        self.write("python/a.py", python_function(70))
        self.assertEqual(self.complaints(), [])

    def test_each_rule_is_checked_and_names_its_place(self) -> None:
        self.write("src/a.cpp", "int x;\n" + function(71))
        self.write("src/b.hpp", "\n" + "x" * 101 + "\n")
        self.write("tests/c.cpp", "\n" * 601)
        self.write("tools/d.py", python_function(71))
        self.assertEqual(
            self.complaints(),
            [
                "src/a.cpp:2: 71 lines in f (the limit is 70)",
                "src/b.hpp:2: 101 columns (the limit is 100)",
                "tests/c.cpp:1: 601 lines (the limit is 600)",
                "tools/d.py:1: 71 lines in f (the limit is 70)",
            ],
        )

    def test_functions_are_found_in_all_their_spellings(self) -> None:
        for head in [
            "void A::b() const noexcept {",
            "A::A(int x) : x_(x), y_{1}, z_(2) {",
            "A::A()\n    : x_(1),\n      y_{} {",
            "template <class T>\nauto f(T t) -> decltype(t) {",
            "template <class T>\nstruct S f(T t) {",
            'extern "C" int f(void) {',
            "bool operator==(const A& a, const A& b) {",
            "static int f(std::function<void()> g = [] {}) {",
            "TEST(Suite, Name) {",
        ]:
            with self.subTest(head=head):
                text = "namespace n {\n" + function(80, head) + "}\n"
                found = list(check_sizes.cpp_functions(text))
                self.assertEqual([(line, count) for line, count, _ in found], [(2, 80)], found)

    def test_members_are_functions_and_classes_are_not(self) -> None:
        members = " public:\n" + "  int x;\n" * 100 + function(75) + "};\n"
        for head in [
            "class A : public B<int()> {\n",
            "struct A final {\n",
            "struct alignas(64) A {\n",
        ]:
            with self.subTest(head=head):
                found = check_sizes.cpp_functions(head + members)
                self.assertEqual([count for _, count, _ in found], [75])

    def test_tables_and_enumerations_are_not_functions(self) -> None:
        rows = "  {f(1), 2},\n" * 100
        enumeration = "enum class E {\n" + "  a,\n" * 100 + "};\n"
        for text in [f"constexpr Row kRows[] = {{\n{rows}}};\n", enumeration]:
            self.assertEqual([c for _, c, _ in check_sizes.cpp_functions(text) if c > 70], [])

    def test_braces_in_comments_and_literals_do_not_count(self) -> None:
        body = (
            "  // }\n  s = \"}\";\n  c = '}';\n  r = R\"x(\n}\n)x\";\n  n = 1'000'000; /* } */\n"
            * 10
        )
        found = list(check_sizes.cpp_functions("void f() {\n" + body + "}\nvoid g() {\n}\n"))
        self.assertEqual([(count, name) for _, count, name in found], [(72, "f"), (2, "g")])

    def test_macros_do_not_confuse(self) -> None:
        text = "#define A(x) \\\n  do { \\\n    f(x)\nvoid f() {\n}\n"
        self.assertEqual([name for _, _, name in check_sizes.cpp_functions(text)], ["f"])

    def test_built_and_hidden_folders_are_left_out(self) -> None:
        for folder in ["build/src", "src/.cache", ".venv/lib", "python/__pycache__"]:
            self.write(f"{folder}/a.py", "x" * 200)
        self.assertEqual(self.complaints(), [])

    def test_an_exemption_allows_exactly_its_size(self) -> None:
        self.write("src/a.cpp", "\n" * 650)
        self.write("tools/size_exemptions.txt", "# why\nsrc/a.cpp file 650\n")
        self.assertEqual(self.complaints(), [])
        self.write("src/a.cpp", "\n" * 651)
        self.assertEqual(len(self.complaints()), 1)

    def test_an_exemption_must_shrink_with_its_file(self) -> None:
        self.write("tools/size_exemptions.txt", "src/a.cpp file 650\n")
        self.write("src/a.cpp", "\n" * 640)
        self.assertIn("down to 640", self.complaints()[0])
        self.write("src/a.cpp", "\n" * 600)
        self.assertIn("not needed any more", self.complaints()[0])
        (self.root / "src/a.cpp").unlink()
        self.assertIn("not needed any more", self.complaints()[0])


if __name__ == "__main__":
    unittest.main()
