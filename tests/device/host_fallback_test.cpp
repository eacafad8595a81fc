#include "device/host_fallback.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace ob {
namespace {

using Doubles = std::vector<double>;

// Doubles every element of the result of dgemm, and adds its leading dimension to the first one.
class Doubler final : public HostRoutines {
 public:
  explicit Doubler(Status status = {}) : status_(std::move(status)) {}
  bool has(const Descriptor& routine) const noexcept override { return routine.base != "symm"; }
  Status run(const Descriptor& routine, const Argument* arguments) const override {
    ++calls;
    if (routine.base != "gemm") return status_;
    auto* const c = static_cast<double*>(arguments[9].host.data);
    for (std::int64_t i = 0; i < arguments[2].dim * arguments[3].dim; ++i) c[i] *= 2;
    c[0] += 100 * static_cast<double>(arguments[9].host.ld);
    return status_;
  }
  mutable int calls = 0;

 private:
  const Status status_;
};

// The "device" memory is other host memory; finish() does the copies.
class HostFallbackTest : public testing::Test {
 protected:
  HostStaging staging() {
    const CopyColumns later = [this](const ColumnCopy& copy) {
      waiting_.push_back(copy);
      return Status();
    };
    return {.memory = [this](std::uint64_t size_bytes) -> Result<std::byte*> {
              block_.assign(size_bytes, std::byte{0xFF});
              return block_.data();
            },
            .down = later,
            .up = later,
            .finish =
                [this] {
                  for (const ColumnCopy& copy : waiting_) {
                    for (std::uint64_t i = 0; i < copy.columns; ++i) {
                      std::memcpy(copy.to + i * copy.to_pitch_bytes,
                                  copy.from + i * copy.from_pitch_bytes, copy.width_bytes);
                    }
                  }
                  waiting_.clear();
                  return Status();
                }};
  }
  // 2 x 2 matrices with leading dimension 3.
  void dgemm(Argument* arguments) {
    arguments[0].flag = arguments[1].flag = 'N';
    for (const int i : {2, 3, 4}) arguments[i].dim = 2;
    arguments[5].scalar = arguments[8].scalar = {1, 0};
    arguments[6].host = {a_.data(), 3};
    arguments[7].host = {b_.data(), 3};
    arguments[9].host = {c_.data(), 3};
  }
  Doubles a_{1, 2, -1, 3, 4, -1};
  Doubles b_ = a_;
  Doubles c_ = a_;

 private:
  std::vector<std::byte> block_;
  std::vector<ColumnCopy> waiting_;
};

const Descriptor& of(const char* name) { return *routines::find(std::string_view(name)); }

TEST_F(HostFallbackTest, OperandsArePackedAndOnlyResultsComeBack) {
  Doubler host;
  Argument arguments[kMaxArguments];
  dgemm(arguments);
  ASSERT_TRUE(run_on_host(&host, "x", of("dgemm"), arguments, staging()).ok());
  EXPECT_EQ(c_, (Doubles{202, 4, -1, 6, 8, -1}));  // ld is 2 there; the padding is unchanged
  EXPECT_EQ(a_, (Doubles{1, 2, -1, 3, 4, -1}));
}

TEST_F(HostFallbackTest, ACallThatFailsLeavesTheResultAsItWas) {
  Doubler host(Status(Code::invalid_argument, "refused"));
  Argument arguments[kMaxArguments];
  dgemm(arguments);
  EXPECT_EQ(run_on_host(&host, "x", of("dgemm"), arguments, staging()).code(),
            Code::invalid_argument);
  EXPECT_EQ(c_, (Doubles{1, 2, -1, 3, 4, -1}));
}

TEST_F(HostFallbackTest, WhatTheHostLacksIsUnsupported) {
  Doubler host;
  Argument arguments[kMaxArguments];
  dgemm(arguments);
  const Status status = run_on_host(&host, "these libraries", of("dsymm"), arguments, staging());
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_NE(status.message().find("dsymm is in none of these libraries"), std::string::npos);
  EXPECT_EQ(run_on_host(nullptr, "x", of("dgemm"), arguments, staging()).code(), Code::unsupported);
  EXPECT_EQ(host.calls, 0);
}

TEST_F(HostFallbackTest, ACopyThatFailsEndsIt) {
  Doubler host;
  Argument arguments[kMaxArguments];
  dgemm(arguments);
  HostStaging broken = staging();
  broken.down = [](const ColumnCopy&) { return Status(Code::device_error, "broken"); };
  EXPECT_EQ(run_on_host(&host, "x", of("dgemm"), arguments, broken).code(), Code::device_error);
  EXPECT_EQ(host.calls, 0);
}

TEST_F(HostFallbackTest, PivotsOutsideTheirMatrixAreRefused) {
  Doubler host;
  std::vector<std::int64_t> pivots{1, 3};
  Argument arguments[kMaxArguments];  // dgetrs: trans n nrhs a ipiv b info
  const Descriptor& getrs = of("dgetrs");
  std::int64_t info = 0;
  for (std::size_t i = 0; i < getrs.kinds.size(); ++i) {
    switch (getrs.kinds[i]) {
      case Kind::flag: arguments[i].flag = 'N'; break;
      case Kind::dim: arguments[i].dim = 2; break;
      case Kind::index_vector: arguments[i].host = {pivots.data(), 0}; break;
      case Kind::info: arguments[i].host = {&info, 0}; break;
      default: arguments[i].host = {a_.data(), 3}; break;
    }
  }
  EXPECT_EQ(run_on_host(&host, "x", getrs, arguments, staging()).code(), Code::invalid_argument);
  EXPECT_EQ(host.calls, 0);
  pivots[1] = 2;
  EXPECT_TRUE(run_on_host(&host, "x", getrs, arguments, staging()).ok());
}

}  // namespace
}  // namespace ob
