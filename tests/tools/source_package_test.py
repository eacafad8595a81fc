"""Tests that source packages come through apt-get, here an invented one, without a change of the
system."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import tarfile
from unittest import main, mock

from tree import TreeTest

import check_table
import source_package

# Records each call. `source` extracts the archive of the folder below, and fails without one.
APT_GET = """\
#!/bin/sh
echo "$@" >> "{root}/calls"
case "$*" in *source*) cp "{root}/archive/"*.orig.tar.gz . || exit 100 ;; esac
"""


class SourcePackageTest(TreeTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("bin/apt-get", APT_GET.format(root=self.root))
        (self.root / "bin/apt-get").chmod(0o755)
        path = f"{self.root}/bin{os.pathsep}{os.environ['PATH']}"
        self.enterContext(mock.patch.dict(os.environ, {"PATH": path}))
        lines = ["deb-src http://localhost/debian made-up main"]
        self.enterContext(mock.patch.object(source_package, "source_lines", lambda release: lines))
        self.work = self.root / "work"
        self.log = self.work / "log"

    def publish(self, *files: str) -> None:
        for file in files:
            self.write(f"package/{file}", file)
        (self.root / "archive").mkdir()
        with tarfile.open(self.root / "archive/toy_1.0.orig.tar.gz", "w:gz") as archive:
            archive.add(self.root / "package", arcname=".")

    def calls(self) -> list[str]:
        return (self.root / "calls").read_text().splitlines()

    def test_sources_are_fetched_once(self) -> None:
        self.publish("toy-1.0/a.f", "toy-1.0/b/c.f")
        for _ in range(2):
            folder = source_package.source("toy", self.work, self.log)
            self.assertEqual((folder / "b/c.f").read_text(), "toy-1.0/b/c.f")
        self.assertEqual(len(self.calls()), 2, self.calls())

    def test_an_archive_without_a_folder_of_its_own(self) -> None:
        self.publish("a.f", "b/c.f")
        folder = source_package.source("toy", self.work, self.log)
        self.assertTrue((folder / "a.f").is_file())

    def test_every_call_has_lists_and_a_cache_of_its_own(self) -> None:
        self.publish("a.f")
        source_package.source("toy", self.work, self.log)
        for call in self.calls():
            for option in ("Dir::Etc::sourcelist", "Dir::State::lists", "Dir::Cache"):
                self.assertIn(f"-o{option}={self.work}/apt/", call)

    def test_a_package_that_cannot_be_had_says_why(self) -> None:
        with self.assertRaisesRegex(source_package.MissingError, r"failed \(100\), see .*/log"):
            source_package.source("toy", self.work, self.log)
        self.assertFalse((self.work / "toy-source").exists())

    def test_a_broken_archive_is_not_taken_for_a_good_one(self) -> None:
        self.publish("a.f", "b.f")
        archive = self.root / "archive/toy_1.0.orig.tar.gz"
        whole = gzip.decompress(archive.read_bytes())
        # Some files are extracted before the missing end is noticed.
        archive.write_bytes(gzip.compress(whole[: whole.index(b"b.f") + tarfile.BLOCKSIZE]))
        for _ in range(2):
            with self.assertRaisesRegex(source_package.MissingError, "cannot be unpacked"):
                source_package.source("toy", self.work, self.log)

    def test_the_checker_fails_without_the_package(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = check_table.main(["--work", str(self.work)])
        self.assertEqual(status, 1)
        self.assertRegex(out.getvalue(), r"check_table: apt-get .* failed \(100\)")


class SourceLinesTest(TreeTest):
    def lines(self) -> list[str]:
        return source_package.source_lines("made-up", self.root)

    def test_sources_files(self) -> None:
        self.write(
            "sources.list.d/a.sources",
            "# first\nTypes: deb\nURIs: http://h/one http://h/two\n"
            "Suites: made-up made-up-updates\n"
            "Components: main extra\nSigned-By: /keys/a\n\nURIs: http://h/x\nSuites: other\n",
        )
        expected = [
            f"deb-src [signed-by=/keys/a] http://h/{uri} {suite} main extra"
            for uri in ("one", "two")
            for suite in ("made-up", "made-up-updates")
        ]
        self.assertEqual(self.lines(), expected)

    def test_lists(self) -> None:
        self.write(
            "sources.list", "deb [arch=amd64] http://h/one made-up main\n# deb http://h/no\n"
        )
        self.write("sources.list.d/b.list", "deb-src http://h/two made-up-updates main\n")
        self.assertEqual(
            self.lines(),
            [
                "deb-src [arch=amd64] http://h/one made-up main",
                "deb-src http://h/two made-up-updates main",
            ],
        )

    def test_no_source_is_an_error(self) -> None:
        self.write("sources.list", "deb http://h/one other main\n")
        with self.assertRaisesRegex(source_package.MissingError, "no package source of made-up"):
            self.lines()

    def test_the_release_is_read_from_the_system(self) -> None:
        self.write("os-release", 'NAME=x\nVERSION_CODENAME="made-up"\n')
        self.assertEqual(source_package.codename(self.root / "os-release"), "made-up")
        self.write("os-release", "NAME=x\n")
        with self.assertRaises(source_package.MissingError):
            source_package.codename(self.root / "os-release")


if __name__ == "__main__":
    main()
