// main() of test programs whose cases may find nothing to test. A run without failed and without
// passed cases counts as skipped for ctest (SKIP_RETURN_CODE), not as passed.

#include <gtest/gtest.h>

namespace {

constexpr int kSkipped = 77;  // automake's exit code for a skipped test

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  const testing::UnitTest& run = *testing::UnitTest::GetInstance();
  const bool nothing_ran = run.successful_test_count() == 0 && run.skipped_test_count() > 0;
  return failed == 0 && nothing_ran ? kSkipped : failed;
}
