// Compares transforms with the definition in long double, dimension by dimension.
//
// Tolerance:
// error
// _2 <= 4 (1 + log2 N) eps
// right
// _2. FFTW needs 0.3 to 1 instead of 4 (M. Frigo and S. G. Johnson, benchFFT accuracy pages, show
// the growth with log N).

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>

#include "conformance/device/dense.hpp"
#include "conformance/device/fixture.hpp"

namespace ob::test {
namespace {

constexpr long double kTolerance = 4;
using Array = std::vector<Wide>;

std::string describe(const FftPlan& plan) {
  std::ostringstream text;
  text << (plan.precision == Precision::c ? "single" : "double") << " kind " << int(plan.kind)
       << " sign " << int(plan.sign) << (plan.in_place ? " in place" : " out of place") << " batch "
       << plan.batch << " n";
  for (int i = 0; i < plan.rank; ++i) text << " " << plan.n[static_cast<std::size_t>(i)];
  return text.str();
}

// Transforms one line of `count` elements, `stride` apart.
void transform_line(Wide* line, std::uint64_t count, std::uint64_t stride, int sign) {
  Array roots(count);
  for (std::uint64_t k = 0; k < count; ++k) {
    const long double angle = sign * 2 * std::numbers::pi_v<long double> *
                              static_cast<long double>(k) / static_cast<long double>(count);
    roots[k] = {std::cos(angle), std::sin(angle)};
  }
  Array result(count);
  for (std::uint64_t k = 0; k < count; ++k) {
    long double re = 0;
    long double im = 0;
    for (std::uint64_t j = 0; j < count; ++j) {
      const Wide w = roots[j * k % count];
      const Wide x = line[j * stride];
      re += w.real() * x.real() - w.imag() * x.imag();
      im += w.real() * x.imag() + w.imag() * x.real();
    }
    result[k] = {re, im};
  }
  for (std::uint64_t k = 0; k < count; ++k) line[k * stride] = result[k];
}

// Returns the complex transform of all data of a batch.
Array transformed(const FftPlan& plan, Array data) {
  std::uint64_t stride = 1;
  for (int d = plan.rank - 1; d >= 0; --d) {
    const std::uint64_t count = plan.n[static_cast<std::size_t>(d)];
    for (std::uint64_t first = 0; first < data.size(); ++first) {
      if (first / stride % count == 0) transform_line(&data[first], count, stride, plan.sign);
    }
    stride *= count;
  }
  return data;
}

// Returns the first half of the last dimension, which a real transform stores.
Array half_of(const FftPlan& plan, const Array& full) {
  const std::uint64_t n = plan.n[plan.rank - 1u];
  Array half;
  for (std::uint64_t i = 0; i < full.size(); ++i) {
    if (i % n <= n / 2) half.push_back(full[i]);
  }
  return half;
}

long double norm(const Array& data) {
  long double sum = 0;
  for (const Wide& x : data) sum += std::norm(x);
  return std::sqrt(sum);
}

class FftTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped() && !GetParam().computes)
      GTEST_SKIP() << GetParam().name << " computes nothing";
  }

  static Precision real_precision(const FftPlan& plan) {
    return plan.precision == Precision::c ? Precision::s : Precision::d;
  }

  static Bytes encode(Precision precision, const Array& data) {
    Bytes bytes(data.size() * element_bytes(precision));
    for (std::size_t i = 0; i < data.size(); ++i)
      store(precision, &bytes[i * element_bytes(precision)], data[i]);
    return bytes;
  }
  static Array decode(Precision precision, const Bytes& bytes) {
    Array data(bytes.size() / element_bytes(precision));
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = load(precision, &bytes[i * element_bytes(precision)]);
    return data;
  }

  Array random_array(Precision precision, std::uint64_t count) {
    Array data(count);
    for (Wide& x : data) x = {uniform(-1, 1), is_complex(precision) ? uniform(-1, 1) : 0};
    return decode(precision, encode(precision, data));
  }

  // Runs the plan on `input` and returns the output bytes. Checks that other bytes are unchanged.
  Bytes execute(const FftPlan& plan, const Bytes& input, std::uint64_t input_offset,
                std::uint64_t output_offset) {
    const std::uint64_t size = std::max(input_bytes(plan), output_bytes(plan));
    Bytes source_bytes(input_offset + size + 32, kPoison);
    std::copy(input.begin(), input.end(),
              source_bytes.begin() + static_cast<std::ptrdiff_t>(input_offset));
    const BufferId source = allocate(source_bytes);
    const BufferId destination =
        plan.in_place ? source : allocate(Bytes(output_offset + size + 32, kPoison));
    if (plan.in_place) output_offset = input_offset;
    const auto made = device().make_plan(plan);
    EXPECT_TRUE(made.ok()) << describe(plan) << made.status().message();
    if (!made.ok()) return {};
    const Status status = outcome(
        device().execute(queue(), *made, {source, input_offset}, {destination, output_offset}));
    EXPECT_TRUE(status.ok()) << describe(plan) << ": " << status.message();
    Bytes after = download(destination, output_offset + size + 32);
    const auto first = after.begin() + static_cast<std::ptrdiff_t>(output_offset);
    const auto last =
        first + static_cast<std::ptrdiff_t>(plan.in_place ? size : output_bytes(plan));
    EXPECT_TRUE(std::all_of(after.begin(), first, [](std::byte b) { return b == kPoison; }));
    EXPECT_TRUE(std::all_of(last, after.end(), [](std::byte b) { return b == kPoison; }))
        << describe(plan);
    if (!plan.in_place) {
      EXPECT_TRUE(download(source, source_bytes.size()) == source_bytes)
          << describe(plan) << ": input changed";
      EXPECT_TRUE(device().free(destination).ok());
    }
    EXPECT_TRUE(device().free(source).ok());
    EXPECT_TRUE(device().destroy_plan(*made).ok());
    return Bytes(first, first + static_cast<std::ptrdiff_t>(output_bytes(plan)));
  }

  void expect_equal(const FftPlan& plan, const Array& got, const Array& right) {
    ASSERT_EQ(got.size(), right.size()) << describe(plan);
    Array error = got;
    for (std::size_t i = 0; i < error.size(); ++i) error[i] -= right[i];
    const long double steps = 1 + std::log2(static_cast<long double>(points(plan)));
    const long double limit = kTolerance * steps * epsilon(plan.precision) * norm(right);
    EXPECT_TRUE(norm(error) <= limit)
        << describe(plan) << ": error " << norm(error) << ", limit " << limit;
  }

  void check_complex(const FftPlan& plan, std::uint64_t input_offset = 0,
                     std::uint64_t output_offset = 0) {
    const Array input = random_array(plan.precision, points(plan) * plan.batch);
    const Bytes output = execute(plan, encode(plan.precision, input), input_offset, output_offset);
    expect_equal(plan, decode(plan.precision, output), transformed(plan, input));
  }

  static FftPlan plan_of(std::vector<std::uint64_t> n, Precision precision, int sign, bool in_place,
                         std::uint64_t batch = 1) {
    FftPlan plan{
        .precision = precision, .sign = static_cast<std::int8_t>(sign), .in_place = in_place};
    plan.rank = static_cast<std::uint8_t>(n.size());
    plan.batch = batch;
    std::copy(n.begin(), n.end(), plan.n.begin());
    return plan;
  }

  template <class Body>
  static void for_all_variants(const Body& body) {
    for (const Precision precision : {Precision::c, Precision::z}) {
      for (const int sign : {-1, 1}) {
        for (const bool in_place : {true, false}) body(precision, sign, in_place);
      }
    }
  }
};

TEST_P(FftTest, OneDimension) {
  for_all_variants([this](Precision precision, int sign, bool in_place) {
    for (const std::uint64_t n :
         {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 16, 17, 31, 32, 60, 64, 97, 101, 128, 210, 509}) {
      check_complex(plan_of({n}, precision, sign, in_place));
    }
  });
}

TEST_P(FftTest, TwoAndMoreDimensionsAndBatches) {
  for_all_variants([this](Precision precision, int sign, bool in_place) {
    for (const std::vector<std::uint64_t>& n :
         std::vector<std::vector<std::uint64_t>>{{1, 1},
                                                 {4, 4},
                                                 {3, 5},
                                                 {16, 9},
                                                 {1, 17},
                                                 {23, 1},
                                                 {31, 37},
                                                 {2, 3, 4},
                                                 {8, 8, 8},
                                                 {5, 1, 7},
                                                 {3, 2, 2, 5},
                                                 {2, 2, 2, 2, 2, 2, 3}}) {
      for (const std::uint64_t batch : {1, 3})
        check_complex(plan_of(n, precision, sign, in_place, batch));
    }
    check_complex(plan_of({16}, precision, sign, in_place, 50));
  });
}

TEST_P(FftTest, RankZeroIsACopy) {
  for_all_variants([this](Precision precision, int sign, bool in_place) {
    check_complex(plan_of({}, precision, sign, in_place, 5));
  });
}

TEST_P(FftTest, LargeEnoughForSeveralThreads) {
  check_complex(plan_of({256, 256}, Precision::z, -1, false));
  check_complex(plan_of({256, 256}, Precision::c, 1, true));
}

TEST_P(FftTest, ArraysNeedNotBeAlignedForVectorInstructions) {
  for (const std::uint64_t n : {8, 30, 64}) {
    for (const std::uint64_t offset : {8, 16, 24, 40}) {
      check_complex(plan_of({n}, Precision::z, -1, false), offset, 0);
      check_complex(plan_of({n}, Precision::z, -1, false), 0, offset);
      check_complex(plan_of({n}, Precision::c, 1, true), offset);
    }
  }
}

TEST_P(FftTest, RealToComplex) {
  for (const Precision precision : {Precision::c, Precision::z}) {
    for (const std::vector<std::uint64_t>& n : std::vector<std::vector<std::uint64_t>>{
             {1}, {2}, {8}, {9}, {31}, {4, 6}, {5, 7}, {3, 4, 5}}) {
      for (const bool in_place : {true, false}) {
        FftPlan plan = plan_of(n, precision, -1, in_place, 2);
        plan.kind = FftKind::r2c;
        const Array input = random_array(real_precision(plan), points(plan) * plan.batch);
        const Bytes output = execute(plan, encode(real_precision(plan), input), 0, 0);
        expect_equal(plan, decode(precision, output), half_of(plan, transformed(plan, input)));
      }
    }
  }
}

TEST_P(FftTest, ComplexToReal) {
  for (const Precision precision : {Precision::c, Precision::z}) {
    for (const std::vector<std::uint64_t>& n : std::vector<std::vector<std::uint64_t>>{
             {1}, {2}, {8}, {9}, {31}, {4, 6}, {5, 7}, {3, 4, 5}}) {
      for (const bool in_place : {true, false}) {
        FftPlan plan = plan_of(n, precision, 1, in_place, 2);
        plan.kind = FftKind::c2r;
        // A spectrum of real numbers has a known result: a forward and a backward transform
        // multiply by the number of points.
        FftPlan forward = plan;
        forward.sign = -1;
        Array right = random_array(real_precision(plan), points(plan) * plan.batch);
        const Array spectrum = half_of(plan, transformed(forward, right));
        for (Wide& x : right) x *= static_cast<long double>(points(plan));
        const Bytes output = execute(plan, encode(precision, spectrum), 0, 0);
        expect_equal(plan, decode(real_precision(plan), output), right);
      }
    }
  }
}

TEST_P(FftTest, OnePlanServesManyArraysAndQueues) {
  const FftPlan plan = plan_of({48}, Precision::z, -1, true);
  const auto made = device().make_plan(plan);
  ASSERT_TRUE(made.ok()) << made.status().message();
  const auto second = device().create_queue();
  ASSERT_TRUE(second.ok());
  for (int round = 0; round < 10; ++round) {
    const Array input = random_array(Precision::z, 48);
    const BufferId buffer = allocate(encode(Precision::z, input));
    const QueueId on = round % 2 == 0 ? queue() : *second;
    const Status status = outcome(on, device().execute(on, *made, {buffer}, {buffer}));
    ASSERT_TRUE(status.ok()) << status.message();
    expect_equal(plan, decode(Precision::z, download(buffer, 48 * 16)), transformed(plan, input));
  }
}

TEST_P(FftTest, APlanMayBeDestroyedWhileInUse) {
  const FftPlan plan = plan_of({1 << 16}, Precision::z, -1, true);
  const BufferId buffer = allocate(Bytes(input_bytes(plan)));
  const auto made = device().make_plan(plan);
  ASSERT_TRUE(made.ok());
  ASSERT_TRUE(device().execute(queue(), *made, {buffer}, {buffer}).ok());
  ASSERT_TRUE(device().destroy_plan(*made).ok());
  EXPECT_TRUE(device().synchronize(queue()).status.ok());
  EXPECT_FALSE(outcome(device().execute(queue(), *made, {buffer}, {buffer})).ok());
}

TEST_P(FftTest, WrongArraysAreRefused) {
  const auto in_place = device().make_plan(plan_of({16}, Precision::z, -1, true));
  const auto apart = device().make_plan(plan_of({16}, Precision::z, -1, false));
  ASSERT_TRUE(in_place.ok() && apart.ok());
  const BufferId a = allocate(256);
  const BufferId b = allocate(512);
  const BufferId small = allocate(255);
  const auto code = [&](PlanId plan, BufferRef input, BufferRef output) {
    return outcome(device().execute(queue(), plan, input, output)).code();
  };
  EXPECT_EQ(code(*in_place, {a}, {a}), Code::ok);
  EXPECT_EQ(code(*apart, {a}, {b}), Code::ok);
  EXPECT_EQ(code(*in_place, {a}, {b}), Code::invalid_argument);
  EXPECT_EQ(code(*apart, {a}, {a}), Code::invalid_argument);
  EXPECT_EQ(code(*apart, {b, 0}, {b, 128}), Code::invalid_argument);
  EXPECT_EQ(code(*in_place, {small}, {small}), Code::invalid_argument);
  EXPECT_EQ(code(*apart, {a}, {b, 264}), Code::invalid_argument);
  EXPECT_EQ(code(*apart, {a}, {b, 4}), Code::invalid_argument);
  EXPECT_EQ(code(PlanId{123456}, {a}, {a}), Code::invalid_argument);
}

TEST_P(FftTest, OnlyTheFirstExecutionWaitsForThePlan) {
  const FftPlan plan = plan_of({30000}, Precision::z, -1, true);
  const auto made = device().make_plan(plan);
  ASSERT_TRUE(made.ok());
  const BufferId buffer = allocate(Bytes(input_bytes(plan)));
  ASSERT_TRUE(device().execute(queue(), *made, {buffer}, {buffer}).ok());
  QueueReport report = device().synchronize(queue());
  EXPECT_TRUE(report.status.ok()) << report.status.message();
  EXPECT_GT(report.compute_ns, 0u);
  ASSERT_TRUE(device().execute(queue(), *made, {buffer}, {buffer}).ok());
  report = device().synchronize(queue());
  EXPECT_EQ(report.plan_ns, 0u);
}

class PlanTest : public DeviceTest {};

TEST_P(PlanTest, ImpossiblePlansAreRefused) {
  FftPlan zero{.rank = 1};
  FftPlan huge{.rank = 2};
  huge.n = {std::uint64_t{1} << 40, std::uint64_t{1} << 40};
  FftPlan sign{.sign = 0, .rank = 1};
  sign.n = {8};
  FftPlan real{.precision = Precision::d, .rank = 1};
  real.n = {8};
  FftPlan batch{.rank = 1, .batch = 0};
  batch.n = {8};
  const BufferId buffer = allocate(1024);
  for (const FftPlan& plan : {zero, huge, sign, real, batch}) {
    const auto made = device().make_plan(plan);
    // A remote device may report this only when the plan is used.
    if (made.ok()) {
      EXPECT_FALSE(outcome(device().execute(queue(), *made, {buffer}, {buffer})).ok())
          << describe(plan);
    }
  }
}

OB_OVER_ALL_DEVICES(FftTest);
OB_OVER_ALL_DEVICES(PlanTest);

}  // namespace
}  // namespace ob::test
