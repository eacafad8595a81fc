// Tests the BLAS's rules for alpha = 0 and beta = 0, and the modes of accuracy, on a whole device.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "backend/cuda/backend.hpp"
#include "routines/descriptor.hpp"

namespace ob::cuda {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kSize = 5;
using Matrix = std::vector<double>;  // kSize x kSize, column-major

class Quick : public testing::Test {
 protected:
  void SetUp() override {
    auto made = create({.memory_bytes = std::uint64_t{1} << 26, .measure = false, .host = nullptr});
    if (!made.ok()) GTEST_SKIP() << made.status().message();
    device_ = std::move(made).value();
    auto queue = device_->create_queue();
    ASSERT_TRUE(queue.ok()) << queue.status().message();
    queue_ = *queue;
  }

  BufferId upload(Matrix& matrix) {
    const auto buffer = device_->allocate(matrix.size() * sizeof(double));
    EXPECT_TRUE(buffer.ok());
    EXPECT_TRUE(device_->write(queue_, *buffer, all(matrix), bytes(matrix)).ok());
    return *buffer;
  }
  static Region all(const Matrix& matrix) {
    const std::uint64_t size = matrix.size() * sizeof(double);
    return {.rows = size, .cols = 1, .ld = size};
  }
  static Layout bytes(Matrix& matrix) {
    return Layout::bytes(matrix.data(), matrix.size() * sizeof(double));
  }

  /// A call with operands by argument names; run() returns the contents of its `result`.
  struct Call {
    std::string routine;
    std::string flags;  // one letter per flag, in order
    std::vector<std::int64_t> dims;
    std::vector<double> scalars;
    std::vector<Matrix> matrices;  // the last one is the result
  };
  Matrix run(Call call) {
    const Descriptor& routine = *routines::find(std::string_view(call.routine));
    Argument arguments[kMaxArguments];
    std::size_t flag = 0;
    std::size_t dim = 0;
    std::size_t scalar = 0;
    std::size_t matrix = 0;
    BufferId result{};
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      switch (routine.kinds[i]) {
        case Kind::flag: arguments[i].flag = call.flags[flag++]; break;
        case Kind::dim: arguments[i].dim = call.dims[dim++]; break;
        case Kind::scalar: arguments[i].scalar = {call.scalars[scalar++], 0}; break;
        default: result = upload(call.matrices[matrix++]); arguments[i].device = {result, 0, kSize};
      }
    }
    const Status submitted = device_->call(queue_, routine, arguments);
    EXPECT_TRUE(submitted.ok()) << submitted.message();
    Matrix contents(call.matrices.back().size());
    EXPECT_TRUE(device_->read(queue_, result, all(contents), bytes(contents)).ok());
    const Status status = device_->synchronize(queue_).status;
    EXPECT_TRUE(status.ok()) << call.routine << ": " << status.message();
    return contents;
  }

  static Matrix filled(double value) { return Matrix(kSize * kSize, value); }

  std::unique_ptr<Device> device_;
  QueueId queue_;
};

TEST_F(Quick, WithAlphaZeroNothingIsReadButC) {
  const Matrix nan = filled(kNan);
  const Matrix twos = filled(2);
  EXPECT_EQ(run({"dgemm", "NT", {5, 5, 5}, {0, -3}, {nan, nan, twos}}), filled(-6));
  EXPECT_EQ(run({"dsymm", "LU", {5, 5}, {0, 1}, {nan, nan, twos}}), twos);
  EXPECT_EQ(run({"dtrmm", "LUNN", {5, 5}, {0}, {nan, nan}}), filled(0));
  EXPECT_EQ(run({"dtrsm", "RLTU", {5, 5}, {0}, {nan, nan}}), filled(0));
}

TEST_F(Quick, BetaZeroClearsWhateverCHeld) {
  const Matrix nan = filled(kNan);
  EXPECT_EQ(run({"dgemm", "NN", {5, 5, 5}, {0, 0}, {nan, nan, nan}}), filled(0));
  EXPECT_EQ(run({"dgemm", "NN", {5, 5, 0}, {1, 0}, {nan, nan, nan}}), filled(0));
  EXPECT_EQ(run({"dgemm", "NN", {5, 5, 5}, {1, 0}, {filled(1), filled(1), nan}}), filled(5));
}

TEST_F(Quick, TheOtherTriangleStaysAsItIs) {
  for (const char uplo : {'U', 'L'}) {
    const std::string flags(1, uplo);
    for (const auto& [routine, call] : std::vector<std::pair<std::string, Matrix>>{
             {"dsyrk", run({"dsyrk", flags + "N", {5, 5}, {0, 3}, {filled(kNan), filled(2)}})},
             {"dgemmt", run({"dgemmt",
                             flags + "NN",
                             {5, 5},
                             {0, 3},
                             {filled(kNan), filled(kNan), filled(2)}})}}) {
      for (std::int64_t i = 0; i < kSize * kSize; ++i) {
        const std::int64_t row = i % kSize;
        const std::int64_t col = i / kSize;
        const bool inside = uplo == 'U' ? row <= col : row >= col;
        EXPECT_EQ(call[static_cast<std::size_t>(i)], inside ? 6 : 2) << routine << uplo << i;
      }
    }
  }
}

TEST_F(Quick, EveryModeOfAccuracyComputes) {
  for (const Accuracy accuracy :
       {Accuracy::strict, Accuracy::fast, Accuracy::emulated, Accuracy::standard}) {
    ASSERT_TRUE(device_->set_accuracy(queue_, accuracy).ok());
    EXPECT_EQ(run({"dgemm", "NN", {5, 5, 5}, {1, 1}, {filled(1), filled(2), filled(3)}}),
              filled(13));
    Matrix identity = filled(0);
    for (std::size_t i = 0; i < kSize; ++i) identity[i * (kSize + 1)] = 4;
    EXPECT_EQ(run({"dtrtrs", "UNN", {5, 5}, {}, {identity, filled(8), Matrix(1, kNan)}}),
              Matrix(1, 0.0));  // info; its bits are those of 0.0
  }
}

}  // namespace
}  // namespace ob::cuda
