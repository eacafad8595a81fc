// main() of test programs whose cases may find nothing to test: a run in which nothing failed and
// nothing passed is skipped, for ctest (SKIP_RETURN_CODE), instead of passed.

#include <gtest/gtest.h>

namespace {

constexpr int kSkipped = 77;  // automake's number for it

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  const testing::UnitTest& run = *testing::UnitTest::GetInstance();
  const bool nothing_ran = run.successful_test_count() == 0 && run.skipped_test_count() > 0;
  return failed == 0 && nothing_ran ? kSkipped : failed;
}
