#include "algorithms/fft/cut.hpp"

#include <algorithm>

#include "algorithms/fft/task.hpp"

namespace ob::algorithms {

FftPlan part_of(const FftPlan& plan, std::size_t first, std::size_t last) noexcept {
  FftPlan part = plan;
  part.rank = static_cast<std::uint8_t>(last - first);
  part.n.fill(0);
  part.real.fill({});
  for (std::size_t i = first; i < last; ++i) {
    part.n[i - first] = plan.n[i];
    part.real[i - first] = plan.real[i];
  }
  return part;
}

std::size_t cut_of(const FftPlan& plan, std::uint64_t largest_bytes) noexcept {
  std::size_t cut = 1;
  while (cut + 1 < plan.rank && transform_bytes(part_of(plan, cut, plan.rank)) > largest_bytes) {
    ++cut;
  }
  return cut;
}

std::uint64_t divisor_of(std::uint64_t n, std::uint64_t largest_points) noexcept {
  std::uint64_t balanced = 1;
  std::uint64_t fitting = 1;
  for (std::uint64_t d = 2; d <= n / d; ++d) {
    if (n % d != 0) continue;
    balanced = d;
    if (d <= largest_points) fitting = std::max(fitting, d);
    if (n / d <= largest_points) fitting = std::max(fitting, n / d);
  }
  return balanced > 1 && n / balanced <= largest_points ? balanced : fitting;
}

std::uint64_t convolution_points(std::uint64_t n) noexcept {
  std::uint64_t power = 1;
  while (power < 2 * n - 1) power *= 2;
  return power / 4 * 3 >= 2 * n - 1 ? power / 4 * 3 : power;
}

}  // namespace ob::algorithms
