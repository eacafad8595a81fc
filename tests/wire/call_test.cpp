// Bodies of call and make_plan, written by hand from docs/wire.md.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "routines/codec.hpp"
#include "support/hex.hpp"
#include "support/random.hpp"

namespace ob {
namespace {

using test::from_hex;
using test::to_hex;

template <class Decode>
auto exactly(Decode decode, std::span<const std::byte> bytes) {
  const std::unique_ptr<std::byte[]> copy(new std::byte[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return decode({copy.get(), bytes.size()});
}

Result<DecodedCall> call_of(std::span<const std::byte> bytes) {
  return exactly(decode_call, bytes);
}
Result<DecodedPlan> plan_of(std::span<const std::byte> bytes) {
  return exactly(decode_plan, bytes);
}

std::string encoded(const Descriptor& routine, const Argument* arguments) {
  wire::Body body;
  encode_call(routine, arguments, body);
  return to_hex(body.bytes());
}

std::string encoded(PlanId id, const FftPlan& plan) {
  wire::Body body;
  encode_plan(id, plan, body);
  return to_hex(body.bytes());
}

// transa 'N', transb 'T', m 3, n 5, k -1 (illegal, but the codec does not check this), alpha 1.5,
// beta -1.
constexpr std::string_view kDgemm = R"(
  // FNV-1a of "dgemm", 10 arguments (leading dimensions belong to the matrices)
  bd f5 8c fd 0a 00 00 00
  4e 00 00 00 00 00 00 00   // transa
  54 00 00 00 00 00 00 00   // transb
  03 00 00 00 00 00 00 00   // m
  05 00 00 00 00 00 00 00   // n
  ff ff ff ff ff ff ff ff   // k
  00 00 00 00 00 00 f8 3f   // alpha
  00 00 00 00 00 00 00 00
  0a 00 00 00 00 00 00 00   // a: buffer, offset, ld
  00 01 00 00 00 00 00 00
  03 00 00 00 00 00 00 00
  0b 00 00 00 00 00 00 00   // b
  00 02 00 00 00 00 00 00
  06 00 00 00 00 00 00 00
  00 00 00 00 00 00 f0 bf   // beta
  00 00 00 00 00 00 00 00
  0c 00 00 00 00 00 00 00   // c
  00 03 00 00 00 00 00 00
  04 00 00 00 00 00 00 00
)";

// dgesv(n, nrhs, a, ipiv, b, info)
constexpr std::string_view kDgesv = R"(
  8a f1 68 12 06 00 00 00
  04 00 00 00 00 00 00 00   // n
  01 00 00 00 00 00 00 00   // nrhs
  01 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  04 00 00 00 00 00 00 00   // a
  02 00 00 00 00 00 00 00  08 00 00 00 00 00 00 00                            // ipiv
  03 00 00 00 00 00 00 00  10 00 00 00 00 00 00 00  05 00 00 00 00 00 00 00   // b
  04 00 00 00 00 00 00 00  18 00 00 00 00 00 00 00                            // info
)";

// zherk(uplo, trans, n, k, real alpha, a, real beta, c)
constexpr std::string_view kZherk = R"(
  8d a3 5d ca 08 00 00 00
  55 00 00 00 00 00 00 00   // uplo
  43 00 00 00 00 00 00 00   // trans
  02 00 00 00 00 00 00 00   // n
  03 00 00 00 00 00 00 00   // k
  00 00 00 00 00 00 00 40  00 00 00 00 00 00 00 00                            // alpha
  01 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  03 00 00 00 00 00 00 00   // a
  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00                            // beta
  02 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  02 00 00 00 00 00 00 00   // c
)";

// daxpy(n, a, x, y): increments -2 and INT64_MIN, whose magnitude is no signed number
constexpr std::string_view kDaxpy = R"(
  b5 05 f4 b5 04 00 00 00
  05 00 00 00 00 00 00 00   // n
  00 00 00 00 00 00 00 40  00 00 00 00 00 00 00 00                            // a
  09 00 00 00 00 00 00 00  08 00 00 00 00 00 00 00  fe ff ff ff ff ff ff ff   // x
  0a 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 80   // y
)";

// idamax(n, x, result)
constexpr std::string_view kIdamax = R"(
  db 7d 40 93 03 00 00 00
  07 00 00 00 00 00 00 00   // n
  01 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  03 00 00 00 00 00 00 00   // x
  02 00 00 00 00 00 00 00  10 00 00 00 00 00 00 00                            // result
)";

// sposvx(fact, uplo, n, nrhs, a, af, equed, s, b, x, rcond, ferr, berr, info)
constexpr std::string_view kSposvx = R"(
  76 b8 8e a2 0e 00 00 00
  45 00 00 00 00 00 00 00   // fact
  4c 00 00 00 00 00 00 00   // uplo
  03 00 00 00 00 00 00 00   // n
  01 00 00 00 00 00 00 00   // nrhs
  01 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  03 00 00 00 00 00 00 00   // a
  02 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  04 00 00 00 00 00 00 00   // af
  03 00 00 00 00 00 00 00  07 00 00 00 00 00 00 00                            // equed
  03 00 00 00 00 00 00 00  0c 00 00 00 00 00 00 00                            // s
  04 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  05 00 00 00 00 00 00 00   // b
  05 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  03 00 00 00 00 00 00 00   // x
  06 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00                            // rcond
  06 00 00 00 00 00 00 00  04 00 00 00 00 00 00 00                            // ferr
  06 00 00 00 00 00 00 00  08 00 00 00 00 00 00 00                            // berr
  06 00 00 00 00 00 00 00  10 00 00 00 00 00 00 00                            // info
)";

// make_plan: plan 6, c2c, double, backward, out of place, rank 3, batch 2, 4 x 5 x 6.
constexpr std::string_view kPlan = R"(
  06 00 00 00 00 00 00 00
  00 03 01 00 03 00 00 00
  02 00 00 00 00 00 00 00
  04 00 00 00 00 00 00 00  05 00 00 00 00 00 00 00  06 00 00 00 00 00 00 00
)";

FftPlan golden_plan() {
  FftPlan plan;
  plan.sign = 1;
  plan.in_place = false;
  plan.rank = 3;
  plan.n = {4, 5, 6};
  plan.batch = 2;
  return plan;
}

Argument operand(std::uint64_t buffer, std::uint64_t offset_bytes, std::int64_t ld) {
  Argument argument;
  argument.device = {{buffer}, offset_bytes, ld};
  return argument;
}

Argument flag(char value) {
  Argument argument;
  argument.flag = value;
  return argument;
}

Argument dim(std::int64_t value) {
  Argument argument;
  argument.dim = value;
  return argument;
}

Argument scalar(double re, double im = 0) {
  Argument argument;
  argument.scalar = {re, im};
  return argument;
}

struct GoldenCall {
  const char* name;
  std::string_view hex;
  std::vector<Argument> arguments;
};

std::vector<GoldenCall> golden_calls() {
  return {
      {"dgemm",
       kDgemm,
       {flag('N'), flag('T'), dim(3), dim(5), dim(-1), scalar(1.5), operand(10, 256, 3),
        operand(11, 512, 6), scalar(-1.0), operand(12, 768, 4)}},
      {"dgesv",
       kDgesv,
       {dim(4), dim(1), operand(1, 0, 4), operand(2, 8, 0), operand(3, 16, 5), operand(4, 24, 0)}},
      // The imaginary parts of herk's real scalars are ignored and not sent.
      {"zherk",
       kZherk,
       {flag('U'), flag('C'), dim(2), dim(3), scalar(2, 7), operand(1, 0, 3), scalar(0, 7),
        operand(2, 0, 2)}},
      {"daxpy", kDaxpy, {dim(5), scalar(2), operand(9, 8, -2), operand(10, 0, INT64_MIN)}},
      // Only matrices and strided vectors have a leading dimension; those of other operands are not
      // sent.
      {"idamax", kIdamax, {dim(7), operand(1, 0, 3), operand(2, 16, 77)}},
      {"sposvx",
       kSposvx,
       {flag('E'), flag('L'), dim(3), dim(1), operand(1, 0, 3), operand(2, 0, 4), operand(3, 7, 77),
        operand(3, 12, 77), operand(4, 0, 5), operand(5, 0, 3), operand(6, 0, 77),
        operand(6, 4, 77), operand(6, 8, 77), operand(6, 16, 77)}},
  };
}

TEST(Call, EncodesToTheGoldenBytes) {
  for (const GoldenCall& golden : golden_calls()) {
    const Descriptor* routine = routines::find(std::string_view(golden.name));
    ASSERT_NE(routine, nullptr) << golden.name;
    ASSERT_EQ(routine->kinds.size(), golden.arguments.size()) << golden.name;
    EXPECT_EQ(encoded(*routine, golden.arguments.data()), to_hex(from_hex(golden.hex)))
        << golden.name;
  }
}

TEST(Call, DecodesFromTheGoldenBytes) {
  for (const GoldenCall& golden : golden_calls()) {
    const auto call = call_of(from_hex(golden.hex));
    ASSERT_TRUE(call.ok()) << call.status().message();
    EXPECT_EQ(call->routine->name, golden.name);
    EXPECT_EQ(encoded(*call->routine, call->arguments), to_hex(from_hex(golden.hex)))
        << golden.name;
  }
  const auto call = call_of(from_hex(kDgemm));
  ASSERT_TRUE(call.ok());
  EXPECT_EQ(call->arguments[1].flag, 'T');
  EXPECT_EQ(call->arguments[4].dim, -1);
  EXPECT_EQ(call->arguments[5].scalar.re, 1.5);
  EXPECT_EQ(call->arguments[9].device.buffer.value, 12u);
  EXPECT_EQ(call->arguments[9].device.offset_bytes, 768u);
  EXPECT_EQ(call->arguments[9].device.ld, 4);
}

TEST(Call, IncrementsKeepTheirSignsAndOthersHaveNone) {
  const auto axpy = call_of(from_hex(kDaxpy));
  ASSERT_TRUE(axpy.ok()) << axpy.status().message();
  EXPECT_EQ(axpy->arguments[2].device.ld, -2);
  EXPECT_EQ(axpy->arguments[3].device.ld, INT64_MIN);
  const auto iamax = call_of(from_hex(kIdamax));
  ASSERT_TRUE(iamax.ok()) << iamax.status().message();
  EXPECT_EQ(iamax->arguments[2].device.offset_bytes, 16u);
  EXPECT_EQ(iamax->arguments[2].device.ld, 0);
}

TEST(Call, TruncationsAndTrailingBytesAreRefused) {
  for (const GoldenCall& golden : golden_calls()) {
    auto bytes = from_hex(golden.hex);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto call = call_of(std::span(bytes).first(size));
      ASSERT_FALSE(call.ok()) << golden.name << " cut to " << size;
      EXPECT_EQ(call.status().code(), Code::protocol_error);
      const std::string start = size < 8 ? "call: " : std::string(golden.name) + ": call: ";
      EXPECT_EQ(call.status().message().substr(0, start.size()), start);
    }
    bytes.resize(bytes.size() + 8);
    EXPECT_FALSE(call_of(bytes).ok()) << golden.name;
  }
}

TEST(Call, UnknownRoutinesAreUnsupported) {
  auto bytes = from_hex(kDgemm);
  bytes[0] ^= std::byte{1};
  const auto call = call_of(bytes);
  ASSERT_FALSE(call.ok());
  EXPECT_EQ(call.status().code(), Code::unsupported);
  EXPECT_NE(call.status().message().find(std::to_string(0xfd8cf5bc)), std::string::npos);
}

TEST(Call, ArgumentsThatAreNotOfTheirKindAreNamed) {
  auto count = from_hex(kDgemm);
  count[4] = std::byte{11};
  EXPECT_EQ(call_of(count).status().code(), Code::protocol_error);
  count[7] = std::byte{0xFF};
  EXPECT_EQ(call_of(count).status().code(), Code::protocol_error);
  auto long_flag = from_hex(kDgemm);
  long_flag[9] = std::byte{1};
  EXPECT_EQ(call_of(long_flag).status().message().substr(0, 21), "dgemm: call: transa i");
  auto imaginary = from_hex(kZherk);
  imaginary[48] = std::byte{1};  // of alpha: 8 header, 4 x 8 flags and dims, 8 real part
  EXPECT_EQ(call_of(imaginary).status().message().substr(0, 20), "zherk: call: alpha h");
}

TEST(Call, CorruptedBodiesAreRefusedOrCanonical) {
  auto random = test::fresh_random();
  for (const GoldenCall& golden : golden_calls()) {
    for (int round = 0; round < 4000; ++round) {
      auto bytes = from_hex(golden.hex);
      for (int hit = test::uniform(random, 1, 6); hit > 0; --hit) {
        bytes[test::uniform<std::size_t>(random, 4, bytes.size() - 1)] =
            static_cast<std::byte>(random());
      }
      if (random() % 4 == 0) bytes.resize(test::uniform<std::size_t>(random, 0, bytes.size() + 64));
      const auto call = call_of(bytes);
      if (!call.ok()) continue;
      EXPECT_EQ(encoded(*call->routine, call->arguments), to_hex(bytes));
    }
  }
}

void expect_to_return(const Descriptor& routine, std::mt19937_64& random) {
  ASSERT_LE(routine.kinds.size(), std::size_t{kMaxArguments}) << routine.name;
  std::vector<Argument> arguments(routine.kinds.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    switch (routine.kinds[i]) {
      case Kind::flag:
        arguments[i] = flag(static_cast<char>(test::uniform<int>(random, 'A', 'Z')));
        break;
      case Kind::dim: arguments[i] = dim(static_cast<std::int64_t>(random())); break;
      case Kind::scalar: arguments[i] = scalar(static_cast<double>(random()), -0.5); break;
      case Kind::real_scalar: arguments[i] = scalar(static_cast<double>(random())); break;
      default: arguments[i] = operand(random(), random(), static_cast<std::int64_t>(random()));
    }
  }
  wire::Body body;
  encode_call(routine, arguments.data(), body);
  EXPECT_EQ(body.bytes().size() % 8, 0u) << routine.name;
  const auto call = call_of(body.bytes());
  ASSERT_TRUE(call.ok()) << routine.name << ": " << call.status().message();
  EXPECT_EQ(call->routine, &routine);
  EXPECT_EQ(encoded(routine, call->arguments), to_hex(body.bytes())) << routine.name;
}

TEST(Call, EveryRowOfTheTableFitsABodyAndReturns) {
  auto random = test::fresh_random();
  for (const auto rows : {routines::all(), routines::device_operations()}) {
    for (const Descriptor& routine : rows) expect_to_return(routine, random);
  }
}

TEST(Plan, EncodesToTheGoldenBytesAndBack) {
  EXPECT_EQ(encoded(PlanId{6}, golden_plan()), to_hex(from_hex(kPlan)));
  const auto decoded = plan_of(from_hex(kPlan));
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(decoded->id.value, 6u);
  EXPECT_EQ(decoded->plan, golden_plan());
}

TEST(Plan, ACopyAndTheLargestRankReturn) {
  for (const int rank : {0, 1, 7}) {
    FftPlan plan;
    plan.rank = static_cast<std::uint8_t>(rank);
    for (int i = 0; i < rank; ++i) plan.n[i] = 2 + i;
    wire::Body body;
    encode_plan(PlanId{1}, plan, body);
    const auto decoded = plan_of(body.bytes());
    ASSERT_TRUE(decoded.ok()) << decoded.status().message();
    EXPECT_EQ(decoded->plan, plan);
  }
}

TEST(Plan, TruncationsAndTrailingBytesAreRefused) {
  auto bytes = from_hex(kPlan);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(plan_of(std::span(bytes).first(size)).status().code(), Code::protocol_error) << size;
  }
  bytes.resize(bytes.size() + 8);
  EXPECT_EQ(plan_of(bytes).status().code(), Code::protocol_error);
}

TEST(Plan, ImpossiblePlansAreRefusedAndNamed) {
  struct Bad {
    std::size_t at;
    int value;
    const char* field;
  };
  for (const Bad& bad :
       {Bad{8, 4, "kind"}, Bad{9, 4, "precision"}, Bad{9, 0, "precision"}, Bad{9, 1, "precision"},
        Bad{10, 0, "sign"}, Bad{10, 2, "sign"}, Bad{8, 1, "sign"}, Bad{11, 2, "in_place"},
        Bad{12, 8, "rank"}, Bad{13, 1, "padding"}, Bad{16, 0, "batch"}, Bad{24, 0, "n"},
        Bad{31, 0x7F, "n"}}) {
    auto bytes = from_hex(kPlan);
    bytes[bad.at] = static_cast<std::byte>(bad.value);
    const auto decoded = plan_of(bytes);
    ASSERT_FALSE(decoded.ok()) << bad.field;
    EXPECT_EQ(decoded.status().code(), Code::protocol_error);
    const std::string start = std::string("make_plan: ") + bad.field + " ";
    EXPECT_EQ(decoded.status().message().substr(0, start.size()), start);
  }
}

TEST(Plan, SizesWhoseProductWrapsAreRefused) {
  FftPlan plan;
  plan.rank = 2;
  plan.n = {1ULL << 32, 1ULL << 32};  // the product is 0 modulo 2^64
  wire::Body body;
  encode_plan(PlanId{1}, plan, body);
  EXPECT_EQ(plan_of(body.bytes()).status().code(), Code::protocol_error);
}

TEST(Plan, CorruptedBodiesAreRefusedOrCanonical) {
  auto random = test::fresh_random();
  for (int round = 0; round < 10000; ++round) {
    auto bytes = from_hex(kPlan);
    for (int hit = test::uniform(random, 1, 4); hit > 0; --hit) {
      bytes[test::uniform<std::size_t>(random, 0, bytes.size() - 1)] =
          static_cast<std::byte>(random() % 16);
    }
    const auto decoded = plan_of(bytes);
    if (!decoded.ok()) continue;
    EXPECT_EQ(encoded(decoded->id, decoded->plan), to_hex(bytes));
  }
}

}  // namespace
}  // namespace ob
