"""Tests verdicts.py, on outputs that are right and wrong in known ways."""

from __future__ import annotations

import math
import unittest

import verdicts

NATIVE = """
 Tests of the Nonsymmetric Eigenvalue Problem Driver
    N:         0     1     2
 Routines pass computational tests if test ratio is less than   20.00

 DES routines passed the tests of the error exits (108 tests done)

 ZEV -- Complex Eigenvalue-Eigenvector Decomposition Driver
 5 = 0 if W same no matter if VR or VL computed, 1/ulp otherwise
 N=   20, IWK= 1, seed= 421,2122, 191,1785, type 10, test( 5)= 0.450E+16
 ZEV:      1 out of  1093 tests failed to pass the threshold

 All tests for ZBD routines passed the threshold (  10260 tests run)
 All tests for the RFP conversion routines passed (    72 tests run)
 value of largest test error = 0.524D+00
 End of tests
 Total time used =         1.07 seconds
"""
PASSED = " All tests for ZBD routines passed the threshold (  10260 tests run)\n"


def failing(ratio: str, count: int = 1) -> str:
    """Returns the verdict on ZBD when `count` of its tests fail."""
    lines = [f" M=   30, N=   30, type {i}, seed=1, test( 9)= {ratio}\n" for i in range(count)]
    explanation = " ZBD -- Complex Singular Value Decomposition\n"
    verdict = f" ZBD:  {count:5d} out of  10260 tests failed to pass the threshold\n"
    return explanation + "".join(lines) + verdict


class Reading(unittest.TestCase):
    def test_records(self) -> None:
        found = verdicts.records(NATIVE)
        self.assertEqual([r.subject for r in found[:3]], ["DES", "ZEV", "ZBD"])
        self.assertEqual([(r.failed, r.run) for r in found[1:4]], [(1, 1093), (0, 10260), (0, 72)])
        self.assertEqual(list(found[1].ratios.values()), [0.45e16])
        self.assertEqual((found[0].run, found[1].threshold, found[-1].kind), (108, 20, "end"))

    def test_numbers(self) -> None:
        for text, value in (("4.504D+15", 4.504e15), ("0.1-307", 1e-308), ("52.27", 52.27)):
            self.assertEqual(verdicts.number(text), value)
        for text in ("********", "NaN", "Infinity"):
            self.assertEqual(verdicts.number(text), math.inf)

    def test_ratio_lines(self) -> None:
        for line in (
            "Matrix order=   20, type=16, seed=1, result  5 is 4.504D+15",
            "UPLO='U', N =   10, type  2, test  3, ratio = 31.200",
            "M=  10, P=  4, Q=   3, type  2, test  3, ratio=  31.2",
            "DGESVX, FACT='F', TRANS='N', N=   10, EQUED='R', type 4, test(1)= 0.1D+03",
        ):
            self.assertIsNotNone(verdicts.RATIO.match(line), line)


class Comparing(unittest.TestCase):
    def compared(self, old: str, new: str) -> verdicts.Comparison:
        self.assertIn(old, NATIVE)
        other = verdicts.records(NATIVE.replace(old, new))
        return verdicts.compare(verdicts.records(NATIVE), other)

    def test_same(self) -> None:
        result = self.compared("1.07 seconds", "9.99 seconds")
        self.assertEqual((result.wrong, result.notes), ([], []))

    def test_marginal_failures_are_noted(self) -> None:
        result = self.compared(PASSED, failing("22.27"))
        self.assertEqual((result.wrong, len(result.notes)), ([], 1))
        self.assertIn("test( 9)= 22.27", result.notes[0])

    def test_real_failures(self) -> None:
        for text in (failing("41.0"), failing("NaN"), failing("22.27", 4)):
            self.assertEqual(len(self.compared(PASSED, text).wrong), 1, text)

    def test_a_failure_without_a_line(self) -> None:
        text = " ZBD:      1 out of  10260 tests failed to pass the threshold\n"
        self.assertEqual(len(self.compared(PASSED, text).wrong), 1)

    def test_one_test_that_natively_fails_may_pass(self) -> None:
        old = NATIVE[NATIVE.index(" ZEV --") : NATIVE.index("\n All tests for ZBD")]
        result = self.compared(old, " All tests for ZEV passed the threshold (  1092 tests run)\n")
        self.assertEqual((result.wrong, len(result.notes)), ([], 1))

    def test_counts_and_verdicts(self) -> None:
        for old, new in (
            ("10260 tests run", "10259 tests run"),
            ("108 tests done", "107 tests done"),
            (PASSED, ""),
            (" End of tests\n", ""),
            ("0.524D+00", "0.525D+00"),
            ("DES routines passed the tests of the error exits (108 tests done)",
             "*** DES routines failed the tests of the error exits ***"),
        ):  # fmt: skip
            self.assertTrue(self.compared(old, new).wrong, old)

    def test_alarms(self) -> None:
        for line in (
            " *** Error code from ZGESV =    3",
            " ZDRVEV: ZGEEV returned INFO=     1.",
            " *** XERBLA was called from ZGEES with INFO =      2 instead of  1 ***",
        ):
            result = self.compared(" ZEV --", f"{line}\n ZEV --")
            self.assertEqual(len(result.wrong), 1, line)


if __name__ == "__main__":
    unittest.main()
