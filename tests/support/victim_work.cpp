#include "support/victim_work.hpp"

#include <cmath>
#include <complex>
#include <numbers>
#include <utility>
#include <vector>

#include "routines/descriptor.hpp"

namespace ob::test {
namespace {

using Doubles = std::vector<double>;
using Spectrum = std::vector<std::complex<double>>;

constexpr std::size_t kOrder = 40;
constexpr std::size_t kLargeOrder = 200;
constexpr std::uint64_t kPoints = 240;
constexpr std::uint64_t kFrequency = 7;
constexpr std::size_t kIdleBuffers = 4;
constexpr std::size_t kIdleElements = 512;
// The products of a round with this number are large, and idle buffers are compared.
constexpr std::uint64_t kLargeRound = 32;
// Far above the rounding errors of these well-conditioned problems, far below their results.
constexpr double kTolerance = 1e-9;

double element(std::size_t i, std::size_t j) {
  return static_cast<double>((i * 7 + j * 3 + i * j) % 11) - 5;
}

class Work final : public VictimWork {
 public:
  Work(Device& device, Account account) : device_(device), account_(account) {}
  ~Work() override {
    for (const BufferId buffer : buffers_) (void)device_.free(buffer);
    if (planned_) (void)device_.destroy_plan(plan_);
    (void)device_.destroy_queue(queue_);
  }

  Status open() {
    OB_ASSIGN_OR_RETURN(queue_, device_.create_queue(account_));
    constexpr std::size_t kSizes[] = {kLargeOrder * kLargeOrder * 8, kLargeOrder * kLargeOrder * 8,
                                      kLargeOrder * kLargeOrder * 8, kOrder * 8, 8};
    for (const std::size_t size : kSizes) OB_RETURN_IF_ERROR(add(size));
    for (std::size_t i = 0; i < kIdleBuffers; ++i) {
      OB_RETURN_IF_ERROR(add(kIdleElements * 8));
      Doubles contents(kIdleElements, static_cast<double>(i) + 0.5);
      OB_RETURN_IF_ERROR(write(buffers_.back(), contents));
    }
    FftPlan plan;
    plan.rank = 1;
    plan.n[0] = kPoints;
    OB_ASSIGN_OR_RETURN(plan_, device_.make_plan(plan, account_));
    planned_ = true;
    return device_.synchronize(queue_).status;
  }

  Result<std::string> compute(std::uint64_t round) override {
    if (round % kLargeRound == 0) {
      OB_ASSIGN_OR_RETURN(std::string difference, compare_idle());
      if (!difference.empty()) return difference;
      return product(kLargeOrder);
    }
    switch (round % 3) {
      case 0: return product(kOrder);
      case 1: return solution();
      default: return transform();
    }
  }

 private:
  static Region all(std::size_t bytes) { return {.rows = bytes, .cols = 1, .ld = bytes}; }
  Status add(std::size_t bytes) {
    OB_ASSIGN_OR_RETURN(const BufferId buffer, device_.allocate(bytes, account_));
    buffers_.push_back(buffer);
    return {};
  }
  template <class T>
  Status write(BufferId buffer, std::vector<T>& from) {
    const std::size_t bytes = from.size() * sizeof(T);
    return device_.write(queue_, buffer, all(bytes), Layout::bytes(from.data(), bytes));
  }
  template <class T>
  Status read(BufferId buffer, std::vector<T>& to) {
    const std::size_t bytes = to.size() * sizeof(T);
    return device_.read(queue_, buffer, all(bytes), Layout::bytes(to.data(), bytes));
  }
  DeviceOperand matrix(std::size_t buffer, std::size_t ld) const {
    return {buffers_[buffer], 0, static_cast<std::int64_t>(ld)};
  }

  // C = A B of small integers, which is exact.
  Result<std::string> product(std::size_t n) {
    Doubles a(n * n);
    Doubles b(n * n);
    Doubles expected(n * n);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < n; ++i) a[i + j * n] = b[j + i * n] = element(i, j);
    }
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < n; ++k) {
        for (std::size_t i = 0; i < n; ++i) expected[i + j * n] += a[i + k * n] * b[k + j * n];
      }
    }
    OB_RETURN_IF_ERROR(write(buffers_[0], a));
    OB_RETURN_IF_ERROR(write(buffers_[1], b));
    Argument arguments[kMaxArguments];
    arguments[0].flag = arguments[1].flag = 'N';
    for (const int i : {2, 3, 4}) arguments[i].dim = static_cast<std::int64_t>(n);
    arguments[5].scalar = {1, 0};
    arguments[6].device = matrix(0, n);
    arguments[7].device = matrix(1, n);
    arguments[9].device = matrix(2, n);
    OB_RETURN_IF_ERROR(device_.call(queue_, *routines::find("dgemm"), arguments));
    Doubles c(n * n, -1);
    OB_RETURN_IF_ERROR(read(buffers_[2], c));
    OB_RETURN_IF_ERROR(device_.synchronize(queue_).status);
    return std::string(c == expected ? "" : "a product of order " + std::to_string(n));
  }

  // A x = b with a dominant diagonal, where x holds integers.
  Result<std::string> solution() {
    constexpr std::size_t n = kOrder;
    Doubles a(n * n);
    Doubles b(n);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < n; ++i) {
        a[i + j * n] = element(i, j) + (i == j ? 500 : 0);
        b[i] += a[i + j * n] * static_cast<double>(j);
      }
    }
    OB_RETURN_IF_ERROR(write(buffers_[0], a));
    OB_RETURN_IF_ERROR(write(buffers_[1], b));
    Argument arguments[kMaxArguments];
    arguments[0].dim = n;
    arguments[1].dim = 1;
    arguments[2].device = matrix(0, n);
    arguments[3].device = {buffers_[3], 0, 0};
    arguments[4].device = matrix(1, n);
    arguments[5].device = {buffers_[4], 0, 0};
    OB_RETURN_IF_ERROR(device_.call(queue_, *routines::find("dgesv"), arguments));
    OB_RETURN_IF_ERROR(read(buffers_[1], b));
    OB_RETURN_IF_ERROR(device_.synchronize(queue_).status);
    for (std::size_t i = 0; i < n; ++i) {
      if (!(std::abs(b[i] - static_cast<double>(i)) <= kTolerance))
        return "a solution, element " + std::to_string(i);
    }
    return std::string();
  }

  // The transform of one wave is one peak.
  Result<std::string> transform() {
    Spectrum wave(kPoints);
    for (std::size_t i = 0; i < kPoints; ++i) {
      const auto turns = static_cast<double>(i * kFrequency) / kPoints;
      wave[i] = std::polar(1.0, 2 * std::numbers::pi * turns);
    }
    OB_RETURN_IF_ERROR(write(buffers_[0], wave));
    OB_RETURN_IF_ERROR(device_.execute(queue_, plan_, {buffers_[0], 0}, {buffers_[0], 0}));
    OB_RETURN_IF_ERROR(read(buffers_[0], wave));
    OB_RETURN_IF_ERROR(device_.synchronize(queue_).status);
    for (std::size_t i = 0; i < kPoints; ++i) {
      const double expected = i == kFrequency ? kPoints : 0;
      if (!(std::abs(wave[i] - expected) <= kTolerance))
        return "a transform, point " + std::to_string(i);
    }
    return std::string();
  }

  Result<std::string> compare_idle() {
    for (std::size_t i = 0; i < kIdleBuffers; ++i) {
      Doubles found(kIdleElements);
      OB_RETURN_IF_ERROR(read(buffers_[buffers_.size() - kIdleBuffers + i], found));
      OB_RETURN_IF_ERROR(device_.synchronize(queue_).status);
      if (found != Doubles(kIdleElements, static_cast<double>(i) + 0.5))
        return std::string("an idle buffer");
    }
    return std::string();
  }

  Device& device_;
  const Account account_;
  QueueId queue_;
  std::vector<BufferId> buffers_;
  PlanId plan_;
  bool planned_ = false;
};

}  // namespace

Result<std::unique_ptr<VictimWork>> VictimWork::create(Device& device, const Account& account) {
  auto work = std::make_unique<Work>(device, account);
  OB_RETURN_IF_ERROR(work->open());
  return std::unique_ptr<VictimWork>(std::move(work));
}

}  // namespace ob::test
