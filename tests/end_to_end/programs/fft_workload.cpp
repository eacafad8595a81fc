#include "fft_workload.hpp"

#include <fftw3.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <mutex>
#include <numbers>

namespace workload {
namespace {

struct Double {
  using Real = double;
  using Plan = fftw_plan;
  using Complex = fftw_complex;
  static constexpr auto many = fftw_plan_many_dft;
  static constexpr auto one = fftw_plan_dft_1d;
  static constexpr auto two = fftw_plan_dft_2d;
  static constexpr auto three = fftw_plan_dft_3d;
  static constexpr auto execute = fftw_execute;
  static constexpr auto execute_on = fftw_execute_dft;
  static constexpr auto destroy = fftw_destroy_plan;
};
struct Single {
  using Real = float;
  using Plan = fftwf_plan;
  using Complex = fftwf_complex;
  static constexpr auto many = fftwf_plan_many_dft;
  static constexpr auto one = fftwf_plan_dft_1d;
  static constexpr auto two = fftwf_plan_dft_2d;
  static constexpr auto three = fftwf_plan_dft_3d;
  static constexpr auto execute = fftwf_execute;
  static constexpr auto execute_on = fftwf_execute_dft;
  static constexpr auto destroy = fftwf_destroy_plan;
};

// FFTW's planner is not thread-safe. Execution is.
std::mutex g_planner;

/// The problem is `batch` transforms of n[0] x ... x n[rank-1]. Element (b, k) lies at
/// b*distance + k*stride.
struct Problem {
  int rank;
  int n[3];
  int batch;
  int stride_in, distance_in, stride_out, distance_out;
  bool in_place;
  bool simple;  // made with plan_dft_1d, 2d or 3d
  int sign;
  unsigned flags;
  int points() const { return n[0] * (rank > 1 ? n[1] : 1) * (rank > 2 ? n[2] : 1); }
};

int between(Rng& rng, int least, int most) {
  return least + static_cast<int>(rng() % static_cast<std::uint64_t>(most - least + 1));
}

Problem choose(int size, Rng& rng) {
  Problem p{};
  p.rank = between(rng, 1, 3);
  // Every rank has about size^2 / 4 points, so that the work is similar to the other routines'.
  const double points = std::max(4.0, size * size / 4.0);
  const int edge = std::max(2, static_cast<int>(std::pow(points, 1.0 / p.rank)));
  for (int d = 0; d < p.rank; ++d) p.n[d] = between(rng, std::max(1, edge / 2), edge);
  p.in_place = rng() % 2 == 0;
  p.simple = rng() % 2 == 0;
  p.batch = p.simple ? 1 : between(rng, 1, 4);
  const bool interleaved = !p.simple && rng() % 2 == 0;
  const auto place = [&](int& stride, int& distance) {
    const int gap = p.simple ? 0 : between(rng, 0, 2);
    stride = interleaved ? p.batch + gap : 1 + gap;
    distance = interleaved ? 1 : p.points() * stride + gap;
  };
  place(p.stride_in, p.distance_in);
  place(p.stride_out, p.distance_out);
  if (p.in_place) {
    p.stride_out = p.stride_in;
    p.distance_out = p.distance_in;
  }
  p.sign = rng() % 2 == 0 ? FFTW_FORWARD : FFTW_BACKWARD;
  // With MEASURE, large sizes would spend seconds in the planner.
  p.flags = p.points() <= 512 && rng() % 2 == 0 ? FFTW_MEASURE : FFTW_ESTIMATE;
  return p;
}

template <class F>
using Value = std::complex<typename F::Real>;

template <class F>
typename F::Plan make(const Problem& p, Value<F>* in, Value<F>* out) {
  auto* from = reinterpret_cast<typename F::Complex*>(in);
  auto* to = reinterpret_cast<typename F::Complex*>(out);
  const std::scoped_lock lock(g_planner);
  if (!p.simple)
    return F::many(p.rank, p.n, p.batch, from, nullptr, p.stride_in, p.distance_in, to, nullptr,
                   p.stride_out, p.distance_out, p.sign, p.flags);
  if (p.rank == 1) return F::one(p.n[0], from, to, p.sign, p.flags);
  if (p.rank == 2) return F::two(p.n[0], p.n[1], from, to, p.sign, p.flags);
  return F::three(p.n[0], p.n[1], p.n[2], from, to, p.sign, p.flags);
}

/// Computes one output value by the definition, with a sum in long double: half a million terms
/// would lose too many digits of a double.
template <class F>
std::complex<double> definition(const Problem& p, const std::vector<Value<F>>& in, int b,
                                const int* k) {
  std::complex<long double> sum = 0;
  const int n1 = p.rank > 1 ? p.n[1] : 1, n2 = p.rank > 2 ? p.n[2] : 1;
  for (int j0 = 0, at = 0; j0 < p.n[0]; ++j0)
    for (int j1 = 0; j1 < n1; ++j1)
      for (int j2 = 0; j2 < n2; ++j2, ++at) {
        // The product is reduced modulo n before the division: the phase stays exact for large
        // sizes.
        const auto turn = [](int j, int f, int n) {
          return static_cast<double>(static_cast<std::int64_t>(j) * f % n) / n;
        };
        const double phase = turn(j0, k[0], p.n[0]) + turn(j1, k[1], n1) + turn(j2, k[2], n2);
        const auto w = std::polar(1.0, p.sign * 2 * std::numbers::pi * phase);
        const auto x = std::complex<double>(
            in[static_cast<std::size_t>(b * p.distance_in + at * p.stride_in)]);
        sum += std::complex<long double>(x * w);
      }
  return std::complex<double>(sum);
}

/// Compares a few random output values with the definition.
template <class F>
std::string compare(const Problem& p, const std::vector<Value<F>>& in,
                    const std::vector<Value<F>>& out, Rng& rng) {
  // The error of an FFT grows like log N in the root mean square (Schatzman 1996). The bound here
  // is per element, with inputs below sqrt(2): sqrt(N) times 16 eps log2 N is larger than needed
  // and still far below the error of a wrong value.
  const double n = p.points();
  const double limit =
      16 * std::numeric_limits<typename F::Real>::epsilon() * std::sqrt(n) * (1 + std::log2(n));
  const int checks = n > 50000 ? 2 : 24;
  for (int check = 0; check < checks; ++check) {
    const int b = between(rng, 0, p.batch - 1);
    int k[3] = {between(rng, 0, p.n[0] - 1), p.rank > 1 ? between(rng, 0, p.n[1] - 1) : 0,
                p.rank > 2 ? between(rng, 0, p.n[2] - 1) : 0};
    const int at = (k[0] * (p.rank > 1 ? p.n[1] : 1) + k[1]) * (p.rank > 2 ? p.n[2] : 1) + k[2];
    const std::complex<double> got(
        out[static_cast<std::size_t>(b * p.distance_out + at * p.stride_out)]);
    const double error = std::abs(got - definition<F>(p, in, b, k));
    if (!(error <= limit))
      return "output " + std::to_string(at) + " of transform " + std::to_string(b) +
             " is wrong by " + number(error) + " (limit " + number(limit) + ")";
  }
  return "";
}

/// Fills the input of the plan; all other memory keeps its poison.
template <class F>
void fill(const Problem& p, std::vector<Value<F>>& in, Rng& rng) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  using R = typename F::Real;
  for (int b = 0; b < p.batch; ++b)
    for (int at = 0; at < p.points(); ++at) {
      const R re = static_cast<R>(uniform(rng));
      in[static_cast<std::size_t>(b * p.distance_in + at * p.stride_in)] =
          Value<F>(re, static_cast<R>(uniform(rng)));
    }
}

template <class F>
std::string unchanged(const Problem& p, const std::vector<Value<F>>& before,
                      const std::vector<Value<F>>& after, bool results) {
  std::vector<bool> written(after.size(), false);
  for (int b = 0; results && b < p.batch; ++b)
    for (int at = 0; at < p.points(); ++at)
      written[static_cast<std::size_t>(b * p.distance_out + at * p.stride_out)] = true;
  for (std::size_t i = 0; i < after.size(); ++i)
    if (!written[i] && std::memcmp(&before[i], &after[i], sizeof(before[i])) != 0)
      return "changed memory it does not own at element " + std::to_string(i);
  return "";
}

template <class F>
std::string transform(int size, Rng& rng) {
  const Problem p = choose(size, rng);
  using R = typename F::Real;
  const Value<F> nan(std::numeric_limits<R>::quiet_NaN(), std::numeric_limits<R>::quiet_NaN());
  const auto extent = [&](int stride, int distance) {
    return static_cast<std::size_t>(p.batch) * distance +
           static_cast<std::size_t>(p.points()) * stride + 16;
  };
  std::vector<Value<F>> in(extent(p.stride_in, p.distance_in), nan);
  std::vector<Value<F>> out(p.in_place ? 0 : extent(p.stride_out, p.distance_out), nan);
  std::vector<Value<F>> other_in(in), other_out(out);
  typename F::Plan plan = make<F>(p, in.data(), p.in_place ? in.data() : out.data());
  if (plan == nullptr) return "no plan";
  std::string problem;
  // Two rounds use the plan's arrays, the third uses other arrays: a plan must work more than once.
  for (int round = 0; round < 3 && problem.empty(); ++round) {
    auto& from = round < 2 ? in : other_in;
    auto& to = p.in_place ? from : round < 2 ? out : other_out;
    std::fill(from.begin(), from.end(), nan);
    std::fill(to.begin(), to.end(), nan);
    fill<F>(p, from, rng);
    const auto from0 = from, to0 = to;
    if (round < 2) {
      F::execute(plan);
    } else if (reinterpret_cast<std::uintptr_t>(in.data()) % 16 ==
               reinterpret_cast<std::uintptr_t>(other_in.data()) % 16) {
      F::execute_on(plan, reinterpret_cast<typename F::Complex*>(from.data()),
                    reinterpret_cast<typename F::Complex*>(to.data()));
    } else {
      break;  // the plan may need the alignment of its own arrays
    }
    problem = compare<F>(p, from0, to, rng);
    if (problem.empty()) problem = unchanged<F>(p, to0, to, true);
    if (problem.empty() && !p.in_place) problem = unchanged<F>(p, from0, from, false);
  }
  const std::scoped_lock lock(g_planner);
  F::destroy(plan);
  return problem;
}

}  // namespace

std::string fft_double(int size, Rng& rng) { return transform<Double>(size, rng); }
std::string fft_single(int size, Rng& rng) { return transform<Single>(size, rng); }

}  // namespace workload
