// Checks a transform's output X = F x through one number. X is summed with the weights
// z_1^k_1 z_2^k_2 ... for random z of modulus 1. This sum is equal to a sum of x with weights that
// have a closed form, a geometric series for each dimension. Every weight of X has modulus 1 and
// depends on the position of the element.

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "base/arithmetic.hpp"
#include "verify/pair.hpp"
#include "verify/random.hpp"
#include "verify/verification.hpp"

namespace ob::verify {
namespace {

using detail::Pair;

// For a right result, the mean over z of |error of the sum|^2 is the squared 2-norm of the error of
// the result. A draw above kNormDeviations times that norm has a probability below 1 /
// kNormDeviations^2. kDraws such draws in a row have a probability below 1e-21 (Chebyshev).
constexpr double kNormDeviations = 64;
constexpr int kDraws = 6;
// The relative error of a transform of N points in the 2-norm is c u log2 N for any algorithm of
// stable butterflies. The algorithms of Bluestein and Rader, for prime N, take three transforms of
// up to 4 N points.
constexpr double kErrorPerLevel = 8;
constexpr double kErrorAtLeast = 64;
constexpr double kPi = 3.14159265358979323846;

Pair operator*(const Pair& a, const Pair& b) { return detail::product(a, b); }

// Computes cos and sin of x with their series.  @pre |x| <= pi/4
Pair circle_octant(double x) {
  const double q = -x * x;
  double cosine = 1;
  double sine = 1;
  for (int k = 20; k >= 2; k -= 2) {
    cosine = 1 + cosine * q / (k * (k - 1));
    sine = 1 + sine * q / (k * (k + 1));
  }
  return {cosine, x * sine};
}

// Computes exp(pi i numerator / denominator).  @pre numerator < 2 denominator < 2^62
Pair circle(std::uint64_t numerator, std::uint64_t denominator) {
  // the nearest number of quarters of the circle, and the rest in [-1/4, 1/4] of pi
  const std::uint64_t quarter = (2 * numerator + denominator / 2) / denominator;
  const auto rest = static_cast<double>(static_cast<std::int64_t>(2 * numerator) -
                                        static_cast<std::int64_t>(quarter * denominator));
  const Pair p = circle_octant(kPi / 2 * (rest / static_cast<double>(denominator)));
  switch (quarter % 4) {
    case 0: return p;
    case 1: return {-p.im, p.re};
    case 2: return {-p.re, -p.im};
    default: return {p.im, -p.re};
  }
}

__extension__ using Wide = unsigned __int128;

std::uint64_t product_modulo(std::uint64_t a, std::uint64_t b, std::uint64_t m) {
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b % m);
}

// A sum with compensated summation by Neumaier, which recovers the rounding errors.
// Source: Higham, section 4.3
class Sum {
 public:
  void add(const Pair& v) {
    add(re_, v.re);
    add(im_, v.im);
    magnitude_ += detail::absolute(v);
  }
  Pair value() const { return {re_.sum + re_.rest, im_.sum + im_.rest}; }
  double total_magnitude() const { return magnitude_; }

 private:
  struct Part {
    double sum = 0;
    double rest = 0;
  };
  static void add(Part& part, double v) {
    const double sum = part.sum + v;
    part.rest +=
        __builtin_fabs(part.sum) >= __builtin_fabs(v) ? (part.sum - sum) + v : (v - sum) + part.sum;
    part.sum = sum;
  }
  Part re_;
  Part im_;
  double magnitude_ = 0;
};

// The number z = exp(2 pi i t / n) of one dimension, with t = turn / kParts. It is never near an
// n-th root of unity. Two elements of several dimensions hardly ever have the same weight.
class Series {
 public:
  static constexpr std::uint64_t kParts = 1 << 20;

  Series(std::uint64_t n, Random& random)
      : n_(n), turn_(random.next() % n * kParts + kParts / 4 + random.next() % (kParts / 2)) {}

  // Computes z^k.
  Pair power(std::uint64_t k) const {
    return circle(product_modulo(2 * k, turn_, 2 * n_ * kParts), n_ * kParts);
  }

  // Computes the sum over k < terms of z^k exp(sign 2 pi i j k / n).
  Pair sum(std::uint64_t j, int sign, std::uint64_t terms) const {
    const std::uint64_t denominator = n_ * kParts;
    const std::uint64_t step = (sign > 0 ? j : (n_ - j) % n_) * kParts;
    const std::uint64_t half = (turn_ + step) % denominator;  // half the angle [pi / denominator]
    const std::uint64_t whole = 2 * denominator;
    const double above = circle(product_modulo(terms, half, whole), denominator).im;
    const Pair turned = circle(product_modulo(terms - 1, half, whole), denominator);
    const double ratio = above / circle(half, denominator).im;
    return {turned.re * ratio, turned.im * ratio};
  }

 private:
  std::uint64_t n_;
  std::uint64_t turn_;
};

bool is_single_precision(const FftPlan& plan) {
  return plan.precision == Precision::c || plan.precision == Precision::s;
}

// One side of a transform: the element counts of its dimensions, and access to its elements.
struct Side {
  const FftPlan& plan;
  const FftArray& array;
  std::vector<std::uint64_t> counts;
  bool real;

  std::span<const std::int64_t> strides() const {
    return array.strides.subspan(array.strides.size() - counts.size());
  }
  Pair at(const std::byte* p) const {
    if (is_single_precision(plan)) {
      const auto* re = reinterpret_cast<const float*>(p);
      if (real) return {static_cast<double>(*re), 0};
      return {static_cast<double>(*re),
              static_cast<double>(*reinterpret_cast<const float*>(p + array.imaginary_offset))};
    }
    const auto* re = reinterpret_cast<const double*>(p);
    if (real) return {*re, 0};
    return {*re, *reinterpret_cast<const double*>(p + array.imaginary_offset)};
  }
};

// Calls visit(position, index) for each line along the last dimension.
template <class Visit>
void each_line(const Side& side, const std::byte* base, const Visit& visit) {
  const std::size_t rank = side.counts.size();
  std::vector<std::uint64_t> index(rank, 0);
  const std::byte* at = base;
  for (;;) {
    visit(at, index);
    std::size_t d = rank - 1;
    for (;;) {
      if (d == 0) return;
      --d;
      at += side.strides()[d];
      if (++index[d] < side.counts[d]) break;
      at -= side.strides()[d] * static_cast<std::int64_t>(side.counts[d]);
      index[d] = 0;
    }
  }
}

using Weights = std::vector<std::vector<Pair>>;

Pair of_line(const Weights& weights, const std::vector<std::uint64_t>& index) {
  Pair w{1, 0};
  for (std::size_t d = 0; d + 1 < index.size(); ++d) w = w * weights[d][index[d]];
  return w;
}

class FftTest {
 public:
  FftTest(const FftPlan& plan, const FftArray& input, const FftArray& output)
      : plan_(plan),
        input_{plan, input, counts(plan.kind == FftKind::c2r), plan.kind == FftKind::r2c},
        output_{plan, output, counts(plan.kind == FftKind::r2c), plan.kind == FftKind::c2r} {}

  // Draws new weights, which are the same for all transforms of the batch.
  void draw(Random& random) {
    const std::size_t rank = plan_.rank;
    const int sign = plan_.kind == FftKind::c2c ? plan_.sign : plan_.kind == FftKind::r2c ? -1 : 1;
    in_.assign(rank, {});
    mirrored_.assign(rank, {});
    out_.assign(rank, {});
    for (std::size_t d = 0; d < rank; ++d) {
      const Series series(plan_.n[d], random);
      const std::uint64_t terms = output_.counts[d];
      for (std::uint64_t k = 0; k < terms; ++k) out_[d].push_back(series.power(k));
      for (std::uint64_t j = 0; j < input_.counts[d]; ++j) {
        in_[d].push_back(series.sum(j, sign, terms));
        if (plan_.kind != FftKind::c2r) continue;
        mirrored_[d].push_back(series.sum((plan_.n[d] - j) % plan_.n[d], sign, terms));
      }
    }
  }

  // Checks one transform of the batch with the current weights.
  Verification judge(const std::byte* input, const std::byte* output) const {
    const double largest = largest_of(input);
    if (!is_finite(largest)) return {};
    Sum left;
    Energy energy;
    energy.unit = largest > 0 ? 1 / largest : 0;
    if (!is_finite(energy.unit)) return {};
    add_input(input, left, energy);
    Sum right;
    each_line(output_, output, [&](const std::byte* at, const auto& index) {
      const Pair w = of_line(out_, index);
      for (std::uint64_t k = 0; k < output_.counts.back(); ++k, at += output_.strides().back())
        right.add(w * out_.back()[k] * output_.at(at));
    });
    const Pair a = left.value();
    const Pair b = right.value();
    const double residual = detail::absolute({a.re - b.re, a.im - b.im});
    return compare(residual, largest, energy, left.total_magnitude() + right.total_magnitude());
  }

 private:
  struct Energy {
    double unit = 0;       // the factor that scales the largest element to 1
    double sum = 0;        // sum of squared elements times unit^2; c2r: of the full spectrum
    double asymmetry = 0;  // c2r: the largest error of the weighted sum due to missing symmetry
  };

  std::vector<std::uint64_t> counts(bool half) const {
    std::vector<std::uint64_t> n(plan_.n.begin(), plan_.n.begin() + plan_.rank);
    if (half) n.back() = n.back() / 2 + 1;
    return n;
  }

  double largest_of(const std::byte* input) const {
    double largest = 0;
    bool finite = true;
    each_line(input_, input, [&](const std::byte* at, const auto&) {
      for (std::uint64_t j = 0; j < input_.counts.back(); ++j, at += input_.strides().back()) {
        const double m = detail::absolute(input_.at(at));
        finite = finite && is_finite(m);
        largest = std::max(largest, m);
      }
    });
    return finite ? largest : std::numeric_limits<double>::infinity();
  }

  void add_input(const std::byte* input, Sum& sum, Energy& energy) const {
    const bool half = plan_.kind == FftKind::c2r;
    const std::uint64_t n = plan_.n[plan_.rank - 1U];
    each_line(input_, input, [&](const std::byte* line, const auto& index) {
      const Pair w = of_line(in_, index);
      const Pair m = half ? of_line(mirrored_, index) : w;
      const std::byte* at = line;
      for (std::uint64_t j = 0; j < input_.counts.back(); ++j, at += input_.strides().back()) {
        const Pair x = input_.at(at);
        const Pair weight = w * in_.back()[j];
        sum.add(x * weight);
        const Pair small{x.re * energy.unit, x.im * energy.unit};
        const double square = small.re * small.re + small.im * small.im;
        energy.sum += square;
        if (!half) continue;
        if (j != 0 && 2 * j != n) {
          sum.add(Pair{x.re, -x.im} * m * mirrored_.back()[j]);
          energy.sum += square;
        } else {
          const Pair other = input_.at(mirror_of(input, index, j));
          const double off = detail::absolute({x.re - other.re, x.im + other.im});
          energy.asymmetry += off * detail::absolute(weight);
        }
      }
    });
  }

  // Returns the element at minus the index, in the same half of the spectrum.
  const std::byte* mirror_of(const std::byte* input, const std::vector<std::uint64_t>& index,
                             std::uint64_t last) const {
    const std::byte* at = input + static_cast<std::int64_t>(last) * input_.strides().back();
    for (std::size_t d = 0; d + 1 < index.size(); ++d) {
      const std::uint64_t i = index[d] == 0 ? 0 : plan_.n[d] - index[d];
      at += static_cast<std::int64_t>(i) * input_.strides()[d];
    }
    return at;
  }

  Verification compare(double residual, double largest, const Energy& energy,
                       double magnitudes) const {
    double points = 1;
    double levels = 1;
    for (int d = 0; d < plan_.rank; ++d) {
      const std::uint64_t n = plan_.n[static_cast<std::size_t>(d)];
      points *= static_cast<double>(n);
      levels += static_cast<double>(std::bit_width(n));
    }
    const double roundoff = is_single_precision(plan_) ? 0x1p-24 : 0x1p-53;
    const double smallest = is_single_precision(plan_) ? 0x1p-126 : 0x1p-1022;
    const double overflow = is_single_precision(plan_) ? 0x1p+128 : 0x1p+1020;
    if (!(points * largest < overflow * 0x1p-8)) return {};
    const double norm = square_root(points) * square_root(energy.sum) * largest;
    const double error = (kErrorPerLevel * levels + kErrorAtLeast) * roundoff;
    const double deviations = std::min(kNormDeviations, square_root(points) + 1);
    const double own = 64 * 0x1p-53 * magnitudes;
    const double bound = 2 * deviations * error * norm + own + 4 * points * points * smallest;
    // If the input is not half of a symmetric spectrum, the result depends on the library.
    if (energy.asymmetry > 1e3 * bound) return {};
    if (residual <= bound + energy.asymmetry) return {Verdict::right, 0, 0};
    if (!is_finite(residual)) residual = std::numeric_limits<double>::infinity();
    return {Verdict::wrong, residual, bound + energy.asymmetry};
  }

  const FftPlan& plan_;
  Side input_;
  Side output_;
  Weights in_;
  Weights mirrored_;  // c2r: the weights of the elements that are not in memory
  Weights out_;
};

Verification verify_one(FftTest& test, Random& random, const std::byte* input,
                        const std::byte* output) {
  Verification verification = test.judge(input, output);
  for (int i = 1; i < kDraws && verification.verdict == Verdict::wrong; ++i) {
    test.draw(random);
    verification = test.judge(input, output);
  }
  return verification;
}

}  // namespace

Verification verify_fft(const FftPlan& plan, std::span<const std::uint64_t> batch,
                        const FftArray& input, const FftArray& output, std::uint64_t seed) {
  if (plan.kind == FftKind::r2r || plan.rank == 0 || points(plan) == 0) return {};
  for (int d = 0; d < plan.rank; ++d) {
    // circle() needs 2 n kParts < 2^62
    if (plan.n[static_cast<std::size_t>(d)] >= 1ULL << 41U) return {};
  }
  Random random(seed);
  FftTest test(plan, input, output);
  test.draw(random);
  std::vector<std::uint64_t> index(batch.size(), 0);
  const std::byte* in = input.data;
  const std::byte* out = output.data;
  Verification all{Verdict::right, 0, 0};
  for (;;) {
    const Verification one = verify_one(test, random, in, out);
    if (one.verdict == Verdict::wrong) return one;
    if (one.verdict == Verdict::unchecked) all = one;
    std::size_t d = batch.size();
    for (;;) {
      if (d == 0) return all;
      --d;
      in += input.strides[d];
      out += output.strides[d];
      if (++index[d] < batch[d]) break;
      in -= input.strides[d] * static_cast<std::int64_t>(batch[d]);
      out -= output.strides[d] * static_cast<std::int64_t>(batch[d]);
      index[d] = 0;
    }
  }
}

}  // namespace ob::verify
