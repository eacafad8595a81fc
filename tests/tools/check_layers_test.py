"""Tests that trees with forbidden arrows are refused, and trees without are not."""

from __future__ import annotations

import unittest

from tree import ROOT, TreeTest

import check_layers


class CheckLayersTest(TreeTest):
    def complaints(self, files: dict[str, str]) -> list[str]:
        """Returns the complaints about a tree in which each file includes the headers given for
        it."""
        for path, targets in files.items():
            lines = [f'#include "{target}"\n' for target in targets.split()]
            self.write(f"src/{path}", "".join(lines))
        return check_layers.check(self.root / "src")

    def test_direct_and_reached_arrows_are_allowed(self) -> None:
        self.assertEqual(
            self.complaints(
                {
                    "wire/a.hpp": "base/a.hpp",
                    "client/a.cpp": "session/a.hpp transport/b.hpp routines/a.hpp base/a.hpp",
                    "interpose/a.cpp": "client/a.hpp device/a.hpp policy/a.hpp wire/a.hpp",
                    "policy/a.cpp": "base/a.hpp policy/b.hpp",
                    "backend/cpu/a.cpp": "backend/cpu/b.hpp device/a.hpp backend/shared.hpp",
                }
            ),
            [],
        )

    def test_each_forbidden_arrow_is_named_with_file_and_line(self) -> None:
        for includer, target in [
            ("base/a.hpp", "wire/a.hpp"),
            ("wire/a.cpp", "routines/a.hpp"),
            ("transport/a.cpp", "routines/a.hpp"),
            ("client/a.cpp", "daemon/a.hpp"),
            ("daemon/a.cpp", "client/a.hpp"),
            ("device/a.cpp", "session/a.hpp"),
            ("algorithms/a.cpp", "client/a.hpp"),
            ("policy/a.cpp", "device/a.hpp"),
            ("daemon/a.cpp", "backend/cpu/a.hpp"),
            ("overlap/a.cpp", "wire/a.hpp"),
            ("backend/cpu/a.cpp", "backend/cuda/a.hpp"),
            ("transport/tcp/a.cpp", "transport/shm/a.hpp"),
            ("session/a.cpp", "wire/detail/a.hpp"),
        ]:
            with self.subTest(includer=includer, target=target):
                self.setUp()
                found = self.complaints({includer: f"base/status.hpp {target}"})
                self.assertEqual(len(found), 1, found)
                self.assertIn(f"src/{includer}:2: includes {target}", found[0])

    def test_every_pair_of_folders_without_a_path_of_arrows_is_refused(self) -> None:
        for includer in check_layers.ARROWS:
            for target in check_layers.ARROWS:
                why = check_layers.problem(f"{includer}/a.cpp", f"{target}/a.hpp")
                self.assertEqual(why is None, target in check_layers.reach(includer))

    def test_angle_brackets_spaces_and_relative_paths_do_not_hide_an_arrow(self) -> None:
        self.write("src/daemon/a.hpp", "")
        self.write("src/client/b.hpp", "")
        lines = ["#include <daemon/a.hpp>", '  #  include "../daemon/a.hpp"', '#include "b.hpp"']
        self.write("src/client/a.cpp", "\n".join(lines))
        self.assertEqual(len(check_layers.check(self.root / "src")), 2)

    def test_system_headers_and_generated_ones_of_the_own_folder_are_fine(self) -> None:
        lines = ["#include <vector>", "#include <sys/uio.h>", '#include "routines/emitted.hpp"']
        self.write("src/routines/a.cpp", "\n".join(lines))
        self.assertEqual(check_layers.check(self.root / "src"), [])

    def test_unknown_folders_need_arrows(self) -> None:
        found = self.complaints({"helpers/a.hpp": "base/a.hpp"})
        self.assertEqual(len(found), 1)
        self.assertIn("src/helpers: unknown folder", found[0])

    def test_detail_is_open_to_its_own_folder_and_its_subfolders(self) -> None:
        self.assertEqual(
            self.complaints(
                {
                    "wire/a.cpp": "wire/detail/b.hpp",
                    "wire/detail/b.hpp": "wire/c.hpp",
                    "transport/tcp/a.cpp": "transport/detail/b.hpp",
                    "backend/detail/a.cpp": "backend/detail/b.hpp",
                }
            ),
            [],
        )

    def cycle_in(self, files: dict[str, str]) -> str:
        """Returns the only complaint about a tree."""
        found = self.complaints(files)
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_cycles_between_headers_are_found(self) -> None:
        self.assertEqual(
            self.cycle_in(
                {"wire/a.hpp": "wire/b.hpp", "wire/b.hpp": "wire/c.hpp", "wire/c.hpp": "wire/a.hpp"}
            ),
            "src/wire/a: cycle wire/a -> wire/b -> wire/c -> wire/a (of 3: wire/a, wire/b, wire/c)",
        )

    def test_a_header_and_its_source_are_one_module(self) -> None:
        self.assertIn(
            "cycle wire/a -> wire/b -> wire/a",
            self.cycle_in(
                {
                    "wire/a.hpp": "",
                    "wire/a.cpp": "wire/a.hpp wire/b.hpp",
                    "wire/b.hpp": "wire/a.hpp",
                    "wire/b.cpp": "wire/b.hpp",
                }
            ),
        )

    def test_the_shortest_cycle_of_a_group_is_shown_with_all_its_modules(self) -> None:
        found = self.cycle_in(
            {
                "wire/a.cpp": "wire/b.hpp wire/c.hpp",
                "wire/b.cpp": "wire/c.hpp",
                "wire/c.cpp": "wire/a.hpp wire/b.hpp wire/outside.hpp",
                "wire/into.cpp": "wire/a.hpp",
                "wire/outside.hpp": "base/a.hpp",
            }
        )
        self.assertIn("cycle wire/a -> wire/c -> wire/a (of 3: wire/a, wire/b, wire/c)", found)

    def test_each_group_of_modules_is_one_complaint(self) -> None:
        found = self.complaints(
            {
                "wire/a.cpp": "wire/b.hpp",
                "wire/b.cpp": "wire/a.hpp",
                "device/a.cpp": "device/b.hpp wire/a.hpp",
                "device/b.hpp": "device/a.hpp",
            }
        )
        self.assertEqual(len(found), 2, found)

    def test_parts_of_a_source_are_modules_of_their_own(self) -> None:
        self.assertEqual(
            self.complaints(
                {
                    "wire/a.hpp": "",
                    "wire/a.cpp": "wire/a.hpp",
                    "wire/a_part.cpp": "wire/a.hpp wire/b.hpp",
                    "wire/b.hpp": "wire/a.hpp",
                }
            ),
            [],
        )

    def test_files_of_one_name_in_several_folders_are_several_modules(self) -> None:
        self.assertEqual(
            self.complaints({"wire/a.cpp": "wire/detail/a.hpp", "wire/detail/a.cpp": "base/a.hpp"}),
            [],
        )

    def test_diamonds_are_no_cycles(self) -> None:
        self.assertEqual(
            self.complaints(
                {
                    "wire/a.hpp": "wire/b.hpp wire/c.hpp",
                    "wire/b.hpp": "wire/d.hpp",
                    "wire/c.hpp": "wire/d.hpp",
                }
            ),
            [],
        )

    def test_the_table_has_no_cycle(self) -> None:
        for folder, arrows in check_layers.ARROWS.items():
            for arrow in arrows:
                self.assertNotIn(folder, check_layers.reach(arrow))

    def test_the_picture_names_every_folder(self) -> None:
        picture = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
        for folder in check_layers.ARROWS:
            self.assertIn(f"src/{folder}/", picture)


if __name__ == "__main__":
    unittest.main()
