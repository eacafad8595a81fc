#pragma once
// The arrays of a transform in host memory. They have strides, padding and poison.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "algorithms/fft/large.hpp"
#include "support/random.hpp"
#include "support/raw_client.hpp"

namespace ob::test {

inline bool single(const FftPlan& plan) { return plan.precision == Precision::c; }

/// Returns the packed numbers of one side of a transform.
inline std::vector<double> numbers(const FftPlan& plan, const Bytes& packed) {
  std::vector<double> values(packed.size() / (single(plan) ? 4 : 8));
  for (std::size_t i = 0; i < values.size(); ++i) {
    float narrow = 0;
    if (single(plan)) std::memcpy(&narrow, packed.data() + i * 4, 4);
    if (!single(plan)) std::memcpy(&values[i], packed.data() + i * 8, 8);
    if (single(plan)) values[i] = narrow;
  }
  return values;
}

/// Computes |a - b| / |b| in the 2-norm. One wrong element of 10^5 makes it about 10^-3.
inline double distance(const FftPlan& plan, const Bytes& a, const Bytes& b) {
  const auto x = numbers(plan, a);
  const auto y = numbers(plan, b);
  if (x.size() != y.size()) return INFINITY;
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    difference += (x[i] - y[i]) * (x[i] - y[i]);
    norm += y[i] * y[i];
  }
  return std::sqrt(difference / norm);
}

/// One array with `counts` elements in packed order. The first dimension is the slowest.
class HostArray {
 public:
  static constexpr std::byte kPoison{0xFF};  // gives NaN in both precisions

  HostArray() = default;
  /// Makes axis order[last] the densest one. Leaves random gaps between rows of every axis if
  /// `gaps`.
  HostArray(std::uint32_t element, const std::vector<std::uint64_t>& counts,
            const std::vector<std::size_t>& order, bool gaps, std::mt19937_64& random)
      : element_(element), dimensions_(counts.size()) {
    std::uint64_t stride = gaps ? element * uniform<std::uint64_t>(random, 1, 2) : element;
    for (std::size_t i = order.size(); i-- > 0;) {
      dimensions_[order[i]] = {counts[order[i]], static_cast<std::int64_t>(stride)};
      stride = stride * counts[order[i]];
      if (gaps) stride += element * uniform<std::uint64_t>(random, 0, 2);
    }
    memory_.assign(stride + 2 * kBefore, kPoison);
  }
  /// Has the strides of `dimensions` and no memory. It describes a layout in another array.
  HostArray(std::uint32_t element, std::vector<Layout::Dimension> dimensions)
      : element_(element), dimensions_(std::move(dimensions)) {}

  void fill(std::mt19937_64& random, bool is_single) {
    std::uniform_real_distribution<double> small(-1, 1);
    Bytes packed(layout().total_bytes());
    for (std::size_t at = 0; at < packed.size(); at += is_single ? 4 : 8) {
      const double wide = small(random);
      const auto narrow = static_cast<float>(wide);
      if (is_single) std::memcpy(packed.data() + at, &narrow, 4);
      if (!is_single) std::memcpy(packed.data() + at, &wide, 8);
    }
    ob::copy(layout(), Layout::bytes(packed.data(), packed.size()));
  }
  algorithms::FftArray array() { return {memory_.data() + kBefore, element_, dimensions_}; }
  Layout layout() { return layout_in(memory_); }
  Bytes packed() {
    Bytes bytes(layout().total_bytes());
    ob::copy(Layout::bytes(bytes.data(), bytes.size()), layout());
    return bytes;
  }
  /// True if two memories differ only in elements of this array.
  bool only_elements_changed(Bytes from, Bytes to) {
    if (from.size() != to.size()) return false;
    Bytes zeros(Layout::strided(nullptr, element_, dimensions_).total_bytes());
    for (Bytes* bytes : {&from, &to}) {
      ob::copy(layout_in(*bytes), Layout::bytes(zeros.data(), zeros.size()));
    }
    return from == to;
  }
  bool only_elements_changed() {
    return only_elements_changed(Bytes(memory_.size(), kPoison), memory_);
  }
  std::uint32_t element_bytes() const { return element_; }
  Bytes& memory() { return memory_; }
  const std::vector<Layout::Dimension>& dimensions() const { return dimensions_; }

 private:
  static constexpr std::size_t kBefore = 64;
  Layout layout_in(Bytes& memory) {
    return Layout::strided(memory.data() + kBefore, element_, dimensions_);
  }

  std::uint32_t element_ = 0;
  std::vector<Layout::Dimension> dimensions_;
  Bytes memory_;
};

/// A transform with random input. In place, `output` holds only the layout of the results in
/// `input`.
struct FftProblem {
  FftPlan plan;
  bool in_place = false;
  bool split = false;
  HostArray input;
  HostArray output;
  Bytes before;  // the memory of `input` before the transform

  algorithms::FftArray output_array() {
    return {in_place ? input.array().data : output.array().data, output.element_bytes(),
            output.dimensions()};
  }
  Bytes packed_result() {
    const Layout layout =
        Layout::strided(output_array().data, output.element_bytes(), output.dimensions());
    Bytes bytes(layout.total_bytes());
    ob::copy(Layout::bytes(bytes.data(), bytes.size()), layout);
    return bytes;
  }
  /// True if only bytes of results changed.
  bool rest_is_kept() {
    if (!in_place) return input.memory() == before && output.only_elements_changed();
    return output.only_elements_changed(before, input.memory());
  }
  std::string describe() const {
    static constexpr const char* kKinds[] = {"c2c", "r2c", "c2r", "r2r"};
    std::string text =
        std::string(single(plan) ? "single " : "double ") + kKinds[static_cast<int>(plan.kind)] +
        (in_place ? " in place" : " out of place") + (split ? " split" : "") + " sign " +
        std::to_string(plan.sign) + " batch " + std::to_string(plan.batch) + " of";
    for (std::size_t i = 0; i < plan.rank; ++i) text += " " + std::to_string(plan.n[i]);
    return text;
  }
};

/// Makes a problem with the batch dimensions `batch` and the transform dimensions plan.n.
inline FftProblem fft_problem(FftPlan plan, const std::vector<std::uint64_t>& batch, bool in_place,
                              std::mt19937_64& random) {
  FftProblem problem;
  std::vector<std::uint64_t> input = batch;
  plan.batch = 1;
  for (const std::uint64_t count : batch) plan.batch *= count;
  input.insert(input.end(), plan.n.begin(), plan.n.begin() + plan.rank);
  std::vector<std::uint64_t> output = input;
  const std::uint64_t half = plan.n[plan.rank - 1u] / 2 + 1;
  if (plan.kind == FftKind::c2r) input.back() = half;
  if (plan.kind == FftKind::r2c) output.back() = half;
  problem.plan = plan;
  problem.in_place = in_place;
  // complex data in two arrays of reals have one more dimension, at any position in memory
  problem.split = plan.kind == FftKind::c2c && uniform(random, 0, 2) == 0;
  if (problem.split) {
    input.push_back(2);
    output.push_back(2);
  }
  std::vector<std::size_t> order(input.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const bool real = plan.kind == FftKind::r2c || plan.kind == FftKind::c2r;
  const bool strided = uniform(random, 0, 2) > 0 && !(in_place && real);
  if (strided) std::shuffle(order.begin(), order.end(), random);
  const std::uint32_t parts = problem.split ? 2 : 1;
  const std::uint32_t from = algorithms::element_bytes(plan, true) / parts;
  const std::uint32_t to = algorithms::element_bytes(plan, false) / parts;
  if (in_place && real) {  // rows of half + half complex numbers: FFTW 3.3 manual, section 4.3.4
    std::vector<std::uint64_t> rows = input;
    rows.back() = half;
    HostArray complex(std::max(from, to), rows, order, false, random);
    auto reals = complex.dimensions();
    reals.back() = {plan.n[plan.rank - 1u], static_cast<std::int64_t>(std::min(from, to))};
    const bool forward = plan.kind == FftKind::r2c;
    problem.input = HostArray(from, forward ? reals : complex.dimensions());
    problem.input.memory() = complex.memory();
    problem.output = HostArray(to, forward ? complex.dimensions() : reals);
  } else {
    problem.input = HostArray(from, input, order, strided, random);
    if (strided) std::shuffle(order.begin(), order.end(), random);
    problem.output = in_place ? HostArray(to, problem.input.dimensions())
                              : HostArray(to, output, order, strided, random);
  }
  problem.input.fill(random, single(plan));
  problem.before = problem.input.memory();
  return problem;
}

}  // namespace ob::test
