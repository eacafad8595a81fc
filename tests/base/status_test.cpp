#include "base/status.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

namespace ob {
namespace {

TEST(Status, IsOkByDefault) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().code(), Code::ok);
  EXPECT_EQ(Status().message(), "");
}

TEST(Status, PutsItsContextInFront) {
  const Status failure(Code::device_error, "no device");
  EXPECT_EQ(failure.in("queue 3").message(), "queue 3: no device");
  EXPECT_EQ(failure.in("queue 3").code(), Code::device_error);
  EXPECT_TRUE(Status().in("queue 3").ok());
  EXPECT_EQ(Status().in("queue 3").message(), "");
}

TEST(Status, EveryCodeHasAWordOfItsOwn) {
  std::set<std::string> words;
  for (int code = 0; code <= 16; ++code) words.insert(to_string(static_cast<Code>(code)));
  EXPECT_EQ(words.size(), 17u);
  EXPECT_EQ(words.count("unknown code"), 0u);
  EXPECT_STREQ(to_string(static_cast<Code>(17)), "unknown code");
}

TEST(Result, HoldsAValueOrWhyThereIsNone) {
  Result<int> value = 7;
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, 7);
  EXPECT_TRUE(value.status().ok());
  const Result<int> failure = Status(Code::denied, "no");
  ASSERT_FALSE(failure.ok());
  EXPECT_EQ(failure.status().code(), Code::denied);
  EXPECT_EQ(failure.status().message(), "no");
}

TEST(Result, CarriesWhatCanOnlyMove) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  ASSERT_TRUE(result.ok());
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 5);
}

Result<int> half(int n) {
  if (n % 2 != 0) return Status(Code::invalid_argument, "odd");
  return n / 2;
}

Status quarter(int n, int& out) {
  OB_ASSIGN_OR_RETURN(const int once, half(n));
  OB_ASSIGN_OR_RETURN(const int twice, half(once));
  out = twice;
  return {};
}

Status first_failure(int& steps) {
  ++steps;
  OB_RETURN_IF_ERROR(Status());
  ++steps;
  OB_RETURN_IF_ERROR(Status(Code::internal, "stop"));
  ++steps;
  return {};
}

TEST(Macros, PassValuesOnAndFailuresUp) {
  int out = -1;
  EXPECT_TRUE(quarter(12, out).ok());
  EXPECT_EQ(out, 3);
  out = -1;
  EXPECT_EQ(quarter(6, out).message(), "odd");
  EXPECT_EQ(out, -1);  // outputs are set only after success
  int steps = 0;
  EXPECT_EQ(first_failure(steps).code(), Code::internal);
  EXPECT_EQ(steps, 2);
}

}  // namespace
}  // namespace ob
