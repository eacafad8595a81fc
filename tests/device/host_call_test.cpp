#include "device/host_call.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "device/checked_elements.hpp"
#include "device/host_memory.hpp"
#include "support/random.hpp"

namespace ob {
namespace {

class HostCallTest : public testing::Test {
 protected:
  BufferId buffer(std::uint64_t size_bytes) { return memory_.allocate(size_bytes).value(); }
  std::byte* at(BufferId id, std::uint64_t offset) { return memory_.find(id)->data() + offset; }

  HostMemory memory_{64 << 20};
};

// dgetrs, n = 3, one right-hand side.
class GetrsTest : public HostCallTest {
 protected:
  GetrsTest() {
    arguments_[0].flag = 'N';
    arguments_[1].dim = 3;
    arguments_[2].dim = 1;
    arguments_[3].device = {buffer(8 * 12), 0, 4};
    arguments_[4].device = {buffer(64), 8, 0};
    arguments_[5].device = {buffer(24), 0, 3};
    arguments_[6].device = {buffer(8), 0, 0};
  }
  Status resolve() { return resolve_call(memory_, *routines::find("dgetrs"), arguments_, call_); }

  Argument arguments_[kMaxArguments];
  HostCall call_;
};

TEST_F(GetrsTest, FindsOperandsInHostMemory) {
  const DeviceOperand a = arguments_[3].device;
  const DeviceOperand pivots = arguments_[4].device;
  const Status status = resolve();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(call_.arguments[0].flag, 'N');
  EXPECT_EQ(call_.arguments[1].dim, 3);
  EXPECT_EQ(call_.arguments[3].host.data, at(a.buffer, 0));
  EXPECT_EQ(call_.arguments[3].host.ld, 4);
  EXPECT_EQ(call_.arguments[4].host.data, at(pivots.buffer, 8));
}

TEST_F(GetrsTest, KeepsBuffersAlive) {
  ASSERT_TRUE(resolve().ok());
  const std::uint64_t before = memory_.used_bytes();
  ASSERT_TRUE(memory_.free(arguments_[3].device.buffer).ok());
  EXPECT_EQ(memory_.used_bytes(), before);
  call_ = HostCall();
  EXPECT_LT(memory_.used_bytes(), before);
}

TEST_F(GetrsTest, NamesTheArgumentThatReachesTooFar) {
  arguments_[4].device.offset_bytes = 48;
  const Status status = resolve();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.message().find("ipiv of dgetrs"), std::string::npos) << status.message();
}

TEST_F(GetrsTest, RefusesMisalignedOperands) {
  arguments_[4].device.offset_bytes = 4;
  EXPECT_EQ(resolve().code(), Code::invalid_argument);
}

TEST_F(GetrsTest, RefusesIllegalArguments) {
  arguments_[0].flag = 'Q';
  EXPECT_EQ(resolve().code(), Code::invalid_argument);
}

TEST_F(GetrsTest, ChecksPivotsWhenAsked) {
  ASSERT_TRUE(resolve().ok());
  const std::int64_t good[] = {1, 3, 3};
  std::memcpy(call_.arguments[4].host.data, good, sizeof good);
  EXPECT_TRUE(check_indices(*call_.routine, call_.arguments).ok());
  const std::int64_t bad[] = {1, 3, 4};
  std::memcpy(call_.arguments[4].host.data, bad, sizeof bad);
  EXPECT_FALSE(check_indices(*call_.routine, call_.arguments).ok());
}

// daxpy of 4 elements: x from byte 16 with increment -2 (7 elements), y from byte 0 with 3 (10).
class AxpyTest : public HostCallTest {
 protected:
  AxpyTest() {
    arguments_[0].dim = 4;
    arguments_[2].device = {buffer(16 + 7 * 8), 16, -2};
    arguments_[3].device = {buffer(10 * 8), 0, 3};
  }
  Status resolve() { return resolve_call(memory_, *routines::find("daxpy"), arguments_, call_); }

  Argument arguments_[kMaxArguments];
  HostCall call_;
};

TEST_F(AxpyTest, TheOffsetIsOfTheFirstByteWhateverTheIncrement) {
  const Status status = resolve();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(call_.arguments[2].host.data, at(arguments_[2].device.buffer, 16));
  EXPECT_EQ(call_.arguments[2].host.ld, -2);
  EXPECT_EQ(call_.arguments[3].host.ld, 3);
  EXPECT_EQ(call_.operand_bytes, 2 * 4 * 8u);  // gaps do not count
}

TEST_F(AxpyTest, VectorsBeyondTheirBuffersAreRefused) {
  for (const std::int64_t increment : {std::int64_t{3}, std::int64_t{-3}, INT64_MAX, INT64_MIN,
                                       std::int64_t{1} << 61, -(std::int64_t{1} << 61)}) {
    arguments_[2].device.ld = increment;
    const Status status = resolve();
    EXPECT_EQ(status.code(), Code::invalid_argument) << increment;
    EXPECT_NE(status.message().find("x of daxpy"), std::string::npos) << status.message();
  }
  arguments_[2].device = {arguments_[2].device.buffer, 24, -2};
  EXPECT_EQ(resolve().code(), Code::invalid_argument);
}

TEST_F(AxpyTest, NoIncrementIsRefused) {
  arguments_[3].device.ld = 0;
  EXPECT_EQ(resolve().code(), Code::invalid_argument);
}

TEST_F(AxpyTest, NegativeIncrementsAreIllegalWhereTheReferenceReturns) {
  Argument arguments[kMaxArguments];
  arguments[0].dim = 4;
  arguments[2].device = arguments_[2].device;
  const Descriptor& dscal = *routines::find("dscal");
  EXPECT_EQ(resolve_call(memory_, dscal, arguments, call_).code(), Code::invalid_argument);
  arguments[2].device.ld = 2;
  EXPECT_TRUE(resolve_call(memory_, dscal, arguments, call_).ok());
}

// posvx of 3 x 3, with equilibration, each operand at the front of a buffer of its own.
class PosvxTest : public HostCallTest {
 protected:
  explicit PosvxTest(std::string_view name = "cposvx") : routine_(*routines::find(name)) {
    for (std::size_t i = 0; i < routine_.kinds.size(); ++i) {
      if (routine_.kinds[i] == Kind::dim) arguments_[i].dim = 3;
      if (!is_memory(routine_.kinds[i])) continue;
      arguments_[i].device = {buffer(1024), 0, has_ld(routine_.kinds[i]) ? 3 : 0};
    }
    arguments_[0].flag = 'E';
    arguments_[1].flag = 'U';
  }
  DeviceOperand& operand(std::string_view name) {
    for (std::size_t i = 0; i < routine_.kinds.size(); ++i) {
      if (routine_.argument_names[i] == name) return arguments_[i].device;
    }
    std::abort();
  }
  Code resolve() { return resolve_call(memory_, routine_, arguments_, call_).code(); }

  const Descriptor& routine_;
  Argument arguments_[kMaxArguments];
  HostCall call_;
};

TEST_F(PosvxTest, EveryKindHasItsAlignment) {
  ASSERT_EQ(resolve(), Code::ok);
  struct Aligned {
    const char* name;
    std::uint64_t bytes;
  };
  // The real numbers of complex routines are covered, too; characters need no alignment.
  for (const auto& [name, bytes] : {Aligned{"equed", 1}, Aligned{"a", 4}, Aligned{"s", 4},
                                    Aligned{"rcond", 4}, Aligned{"ferr", 4}, Aligned{"info", 8}}) {
    operand(name).offset_bytes = 32 + bytes;
    EXPECT_EQ(resolve(), Code::ok) << name;
    operand(name).offset_bytes = 32 + bytes / 2;
    EXPECT_EQ(resolve(), bytes == 1 ? Code::ok : Code::invalid_argument) << name;
    operand(name).offset_bytes = 0;
  }
}

TEST_F(PosvxTest, RealVectorsAndCharactersHaveTheirOwnSizes) {
  operand("s").offset_bytes = 1024 - 3 * 4;
  operand("equed").offset_bytes = 1023;
  operand("rcond").offset_bytes = 1024 - 4;
  operand("a").offset_bytes = 1024 - 9 * 8;
  EXPECT_EQ(resolve(), Code::ok);
  operand("s").offset_bytes += 4;
  EXPECT_EQ(resolve(), Code::invalid_argument);
  operand("s").offset_bytes = 0;
  operand("equed").offset_bytes = 1024;
  EXPECT_EQ(resolve(), Code::invalid_argument);
}

TEST_F(PosvxTest, WhatFlagsMakeUnreferencedNeedsNoMemory) {
  operand("s") = {};
  EXPECT_EQ(resolve(), Code::invalid_argument);
  arguments_[0].flag = 'N';  // no equilibration
  ASSERT_EQ(resolve(), Code::ok);
  for (std::size_t i = 0; i < routine_.kinds.size(); ++i) {
    const bool absent = routine_.argument_names[i] == "s";
    if (is_memory(routine_.kinds[i])) {
      EXPECT_EQ(call_.arguments[i].host.data == nullptr, absent) << routine_.argument_names[i];
    }
  }
}

TEST_F(HostCallTest, ResultsAreWholeWords) {
  for (const auto& [name, bytes] : {std::pair{"sdot", 4u},
                                    {"ddot", 8u},
                                    {"dsdot", 8u},
                                    {"cdotu", 8u},
                                    {"zdotc", 16u},
                                    {"isamax", 8u},
                                    {"scnrm2", 4u}}) {
    const Descriptor& routine = *routines::find(std::string_view(name));
    Argument arguments[kMaxArguments];
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      if (routine.kinds[i] == Kind::dim) arguments[i].dim = 2;
      if (routine.kinds[i] == Kind::strided) arguments[i].device = {buffer(64), 0, 1};
    }
    DeviceOperand& result = arguments[routine.kinds.size() - 1].device;
    result = {buffer(64), 64 - std::max(8u, bytes), 0};
    HostCall call;
    EXPECT_TRUE(resolve_call(memory_, routine, arguments, call).ok()) << name;
    result.offset_bytes = 4;
    EXPECT_FALSE(resolve_call(memory_, routine, arguments, call).ok()) << name;
    result.offset_bytes = 64;
    EXPECT_FALSE(resolve_call(memory_, routine, arguments, call).ok()) << name;
  }
}

// One index vector of 3 elements; the other operands of the call lie where they fit.
class IndexTest : public HostCallTest {
 protected:
  bool in_range(std::string_view name, const std::int64_t (&indices)[3]) {
    const Descriptor& routine = *routines::find(name);
    Argument arguments[kMaxArguments];
    std::size_t vector = 0;
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      if (routine.kinds[i] == Kind::flag) arguments[i].flag = routine.values[i].front();
      if (routine.kinds[i] == Kind::dim) arguments[i].dim = 3;
      if (routine.kinds[i] == Kind::index_vector) vector = i;
      if (!is_memory(routine.kinds[i])) continue;
      arguments[i].device = {buffer(1024), 0, has_ld(routine.kinds[i]) ? 3 : 0};
    }
    HostCall call;
    EXPECT_TRUE(resolve_call(memory_, routine, arguments, call).ok()) << name;
    std::memcpy(call.arguments[vector].host.data, indices, sizeof indices);
    return check_indices(*call.routine, call.arguments).ok();
  }
};

TEST_F(IndexTest, PivotsPointIntoTheirMatrix) {
  for (const char* name : {"dgetrs", "dgetri"}) {
    EXPECT_TRUE(in_range(name, {3, 1, 2}));
    EXPECT_FALSE(in_range(name, {3, 0, 2}));
    EXPECT_FALSE(in_range(name, {3, 1, 4}));
    EXPECT_FALSE(in_range(name, {3, -1, 2}));
  }
}

TEST_F(IndexTest, PivotsOfPairsAreNegative) {
  for (const char* name : {"dsytrs", "zhetrs"}) {
    EXPECT_TRUE(in_range(name, {-3, -3, 3}));
    EXPECT_FALSE(in_range(name, {-3, 0, 3}));
    EXPECT_FALSE(in_range(name, {-4, -4, 3}));
    EXPECT_FALSE(in_range(name, {1, INT64_MIN, 3}));
  }
}

TEST_F(IndexTest, MarksMayBeAnything) {
  EXPECT_TRUE(in_range("dgeqp3", {0, -7, INT64_MAX}));
  EXPECT_TRUE(in_range("dgesv", {0, -7, INT64_MAX}));  // a written index is not checked
}

// Dimensions that a hostile client might choose: their products and sums wrap around.
TEST_F(HostCallTest, HugeDimensionsNeverFit) {
  constexpr std::int64_t kHuge[] = {INT64_MAX,
                                    INT64_MAX - 1,
                                    INT64_MAX / 2 + 1,
                                    INT64_MIN,
                                    std::int64_t{1} << 33,
                                    3037000499,
                                    3037000498,
                                    std::int64_t{1} << 31,
                                    INT32_MAX,
                                    0,
                                    1,
                                    -1};
  auto random = test::fresh_random();
  const BufferId small = buffer(4096);
  for (const Descriptor& routine : routines::all()) {
    for (int round = 0; round < 200; ++round) {
      Argument arguments[kMaxArguments];
      for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
        const std::string_view values = routine.values[i];
        switch (routine.kinds[i]) {
          case Kind::flag: arguments[i].flag = values[random() % values.size()]; break;
          case Kind::dim: arguments[i].dim = kHuge[random() % std::size(kHuge)]; break;
          case Kind::scalar:
          case Kind::real_scalar: arguments[i].scalar = {1, 0}; break;
          default: arguments[i].device = {small, 0, INT64_MAX};
        }
      }
      HostCall call;
      if (!resolve_call(memory_, routine, arguments, call).ok()) continue;
      // An accepted call may access all of its operands.
      EXPECT_LE(call.operand_bytes, 4096 * std::uint64_t{kMaxOperands}) << routine.name;
    }
  }
}

TEST_F(HostCallTest, ChecksTransformArrays) {
  FftPlan plan{.in_place = false, .rank = 1, .batch = 2};
  plan.n = {16};
  const BufferId a = buffer(512);
  const BufferId b = buffer(520);
  HostTransform found;
  ASSERT_TRUE(resolve_transform(memory_, plan, {a}, {b, 8}, found).ok());
  EXPECT_EQ(found.output, at(b, 8));
  EXPECT_EQ(resolve_transform(memory_, plan, {a, 8}, {b}, found).code(), Code::invalid_argument);
  EXPECT_EQ(resolve_transform(memory_, plan, {a}, {b, 4}, found).code(), Code::invalid_argument);
  EXPECT_EQ(resolve_transform(memory_, plan, {a}, {a}, found).code(), Code::invalid_argument);
  EXPECT_EQ(resolve_transform(memory_, plan, {a}, {}, found).code(), Code::invalid_argument);
  plan.in_place = true;
  EXPECT_TRUE(resolve_transform(memory_, plan, {a}, {a}, found).ok());
  EXPECT_EQ(resolve_transform(memory_, plan, {a}, {b}, found).code(), Code::invalid_argument);
}

TEST_F(HostCallTest, ChecksPlans) {
  FftPlan plan{.rank = 2};
  plan.n = {4, 4};
  EXPECT_TRUE(check_plan(plan).ok());
  FftPlan bad = plan;
  bad.rank = 8;
  EXPECT_FALSE(check_plan(bad).ok());
  bad = plan;
  bad.n[1] = 0;
  EXPECT_FALSE(check_plan(bad).ok());
  bad = plan;
  bad.n[1] = UINT64_MAX / 2;
  EXPECT_FALSE(check_plan(bad).ok());
  bad = plan;
  bad.precision = Precision::s;
  EXPECT_FALSE(check_plan(bad).ok());
  bad = plan;
  bad.kind = static_cast<FftKind>(kFftKinds);
  EXPECT_FALSE(check_plan(bad).ok());
}

}  // namespace
}  // namespace ob
