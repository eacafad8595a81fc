"""Tests the counting of tests: real files, and runners that fail without naming a test."""

from __future__ import annotations

from pathlib import Path

from outboard_testing.tally import Tally, from_junit

CTEST = """<testsuite name="x" tests="4" failures="1" disabled="1" skipped="1">
  <testcase name="base.status" status="run"/>
  <testcase name="wire.codec" status="fail"><failure message=""/></testcase>
  <testcase name="mpi.ring" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
  <testcase name="gpu.x" status="disabled"/>
</testsuite>"""
PYTEST = """<testsuites><testsuite>
  <testcase classname="tests.test_a" name="test_good" time="1.5"/>
  <testcase classname="tests.test_a" name="test_broken" time="2"><error/></testcase>
  <testcase classname="tests.test_a" name="test_later"><skipped/></testcase>
</testsuite></testsuites>"""


def test_ctest(tmp_path: Path) -> None:
    file = tmp_path / "x.xml"
    file.write_text(CTEST)
    tally = from_junit(file, 8, "ctest")
    assert tally.line() == "1 passed, 1 failed, 2 skipped"
    assert tally.failures == ["ctest: wire.codec"]


def test_pytest(tmp_path: Path) -> None:
    file = tmp_path / "x.xml"
    file.write_text(PYTEST)
    tally = from_junit(file, 1, "pytest")
    assert tally.line() == "1 passed, 1 failed, 1 skipped"
    assert tally.failures == ["pytest: tests.test_a.test_broken"]
    assert tally.slowest(2) == [
        ("pytest: tests.test_a.test_broken", 2.0),
        ("pytest: tests.test_a.test_good", 1.5),
    ]


def test_status_alone_is_a_failure(tmp_path: Path) -> None:
    file = tmp_path / "x.xml"
    file.write_text('<testsuite><testcase name="a" status="run"/></testsuite>')
    assert from_junit(file, 8, "ctest").line() == "1 passed, 1 failed, 0 skipped"
    assert from_junit(file, 0, "ctest").line() == "1 passed, 0 failed, 0 skipped"


def test_no_result_is_a_failure(tmp_path: Path) -> None:
    assert from_junit(tmp_path / "missing", 0, "ctest").failed == 1
    (tmp_path / "broken").write_text("<testsuite>")
    assert from_junit(tmp_path / "broken", 0, "ctest").failed == 1


def test_adding() -> None:
    total = Tally(1, 0, 2)
    total.seconds = {"b": 1.0}
    total.add(Tally(3, 1, 0, ["a"], {"a": 2.0}))
    assert total.slowest(9) == [("a", 2.0), ("b", 1.0)]
    assert (total.line(), total.failures) == ("4 passed, 1 failed, 2 skipped", ["a"])
