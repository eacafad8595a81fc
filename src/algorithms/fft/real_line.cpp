// Runs one long dimension of real data. An even length runs as half as many complex points, an odd
// one as the same number of complex points.
// Source: FFTW 3.3 manual, section 4.8.3 for the half spectrum; Cooley, Lewis, Welch 1970 for the
// even lengths.

#include "algorithms/fft/split.hpp"
#include "algorithms/strided_copy.hpp"
#include "base/host_scratch.hpp"
#include "device/strided_line.hpp"
#include "device/unit_roots.hpp"

namespace ob::algorithms {
namespace {

constexpr Complex kI{0, 1};
constexpr Complex kMinusI{0, -1};

// Turns Z, the spectrum of x(2j) + i x(2j + 1), into X, the spectrum of x. With n = 2m and
// w = exp(-2 pi i / n):
//   X(k) = (Z(k) + Z*(m - k)) / 2 - i w^k (Z(k) - Z*(m - k)) / 2
template <class Real>
void halves_to_spectrum(const StridedLine<Real>& line, std::uint64_t m) {
  const UnitRoots w(2 * m, -1);
  const Complex zero = line.complex(0);
  line.set(0, {zero.re + zero.im, 0});
  line.set(m, {zero.re - zero.im, 0});
  for (std::uint64_t k = 1; k <= m / 2; ++k) {
    const Complex a = line.complex(k);
    const Complex b = conjugate(line.complex(m - k));
    const Complex even{(a.re + b.re) / 2, (a.im + b.im) / 2};
    const Complex odd = kMinusI * w(k) * Complex{(a.re - b.re) / 2, (a.im - b.im) / 2};
    line.set(m - k, conjugate(even - odd));
    line.set(k, even + odd);
  }
}

// Computes the inverse of halves_to_spectrum(), times two. The imaginary parts of the two ends are
// ignored, as FFTW does.
template <class Real>
void spectrum_to_halves(const StridedLine<Real>& spectrum, const StridedLine<Real>& halves,
                        std::uint64_t m) {
  const UnitRoots w(2 * m, +1);
  const double first = spectrum.complex(0).re;
  const double last = spectrum.complex(m).re;
  halves.set(0, {first + last, first - last});
  for (std::uint64_t k = 1; k <= m / 2; ++k) {
    const Complex a = spectrum.complex(k);
    const Complex b = conjugate(spectrum.complex(m - k));
    const Complex even = a + b;
    const Complex odd = kI * w(k) * (a - b);
    halves.set(m - k, conjugate(even - odd));
    halves.set(k, even + odd);
  }
}

// Copies real numbers with stride `from_stride` to places with stride `to_stride`.
void copy_reals(std::byte* to, std::int64_t to_stride, const std::byte* from,
                std::int64_t from_stride, std::uint64_t count, std::uint32_t real_bytes) {
  const CopyAxis axis{count, to_stride, from_stride};
  copy_strided(to, from, real_bytes, {&axis, 1});
}

}  // namespace

Status FftSplit::real_forward(const FftTask& task) {
  const std::uint64_t n = task.plan.n[0];
  if (n % 2 != 0) return odd_forward(task);
  const std::uint32_t real_bytes = element_bytes(task.plan, true);
  const std::int64_t stride = task.transform[0].input_stride;
  const bool dense = stride == static_cast<std::int64_t>(real_bytes);
  const HostScratch scratch(dense ? 1 : n * real_bytes);
  if (scratch.data() == nullptr) return detail::no_scratch(n * real_bytes);
  return detail::each_transform(task, [&](const FftTask& item) -> Status {
    FftTask half = detail::line_task(item.plan, -1, n / 2);
    half.transform[0].output_stride = item.transform[0].output_stride;
    half.input = dense ? item.input : scratch.data();
    half.output = item.output;
    if (!dense) copy_reals(scratch.data(), real_bytes, item.input, stride, n, real_bytes);
    OB_RETURN_IF_ERROR(run(half));
    with_real(task.plan, [&](auto real) {
      halves_to_spectrum<decltype(real)>({item.output, item.transform[0].output_stride}, n / 2);
    });
    return {};
  });
}

Status FftSplit::real_backward(const FftTask& task) {
  const std::uint64_t n = task.plan.n[0];
  if (n % 2 != 0) return odd_backward(task);
  const std::uint32_t real_bytes = element_bytes(task.plan, false);
  const std::int64_t stride = task.transform[0].output_stride;
  const bool dense = stride == static_cast<std::int64_t>(real_bytes);
  const HostScratch halves(n * real_bytes);
  const HostScratch result(dense ? 1 : n * real_bytes);
  if (halves.data() == nullptr || result.data() == nullptr)
    return detail::no_scratch(2 * n * real_bytes);
  return detail::each_transform(task, [&](const FftTask& item) -> Status {
    with_real(task.plan, [&](auto real) {
      using Line = StridedLine<decltype(real)>;
      spectrum_to_halves(Line{item.input, item.transform[0].input_stride},
                         Line{halves.data(), 2 * static_cast<std::int64_t>(real_bytes)}, n / 2);
    });
    FftTask half = detail::line_task(item.plan, +1, n / 2);
    half.input = halves.data();
    half.output = dense ? item.output : result.data();
    OB_RETURN_IF_ERROR(run(half));
    if (!dense) copy_reals(item.output, stride, result.data(), real_bytes, n, real_bytes);
    return {};
  });
}

Status FftSplit::odd_forward(const FftTask& task) {
  const std::uint64_t n = task.plan.n[0];
  const std::uint64_t size_bytes = n * element_bytes(task.plan, false);
  const HostScratch points(size_bytes);
  const HostScratch spectrum(size_bytes);
  if (points.data() == nullptr || spectrum.data() == nullptr)
    return detail::no_scratch(2 * size_bytes);
  return with_real(task.plan, [&](auto real) -> Status {
    using Line = StridedLine<decltype(real)>;
    const Line wide{points.data(), 2 * sizeof real};
    const Line found{spectrum.data(), 2 * sizeof real};
    return detail::each_transform(task, [&](const FftTask& item) -> Status {
      const Line x{item.input, item.transform[0].input_stride};
      for (std::uint64_t j = 0; j < n; ++j) wide.set(j, {x.real(j), 0});
      FftTask line = detail::line_task(item.plan, -1, n);
      line.input = points.data();
      line.output = spectrum.data();
      OB_RETURN_IF_ERROR(run(line));
      const Line out{item.output, item.transform[0].output_stride};
      out.set(0, {found.complex(0).re, 0});
      for (std::uint64_t k = 1; k <= n / 2; ++k) out.set(k, found.complex(k));
      return {};
    });
  });
}

Status FftSplit::odd_backward(const FftTask& task) {
  const std::uint64_t n = task.plan.n[0];
  const std::uint64_t size_bytes = n * element_bytes(task.plan, true);
  const HostScratch spectrum(size_bytes);
  const HostScratch points(size_bytes);
  if (points.data() == nullptr || spectrum.data() == nullptr)
    return detail::no_scratch(2 * size_bytes);
  return with_real(task.plan, [&](auto real) -> Status {
    using Line = StridedLine<decltype(real)>;
    const Line whole{spectrum.data(), 2 * sizeof real};
    const Line found{points.data(), 2 * sizeof real};
    return detail::each_transform(task, [&](const FftTask& item) -> Status {
      const Line half{item.input, item.transform[0].input_stride};
      whole.set(0, {half.complex(0).re, 0});
      for (std::uint64_t k = 1; k <= n / 2; ++k) {
        whole.set(k, half.complex(k));
        whole.set(n - k, conjugate(half.complex(k)));
      }
      FftTask line = detail::line_task(item.plan, +1, n);
      line.input = spectrum.data();
      line.output = points.data();
      OB_RETURN_IF_ERROR(run(line));
      const Line x{item.output, item.transform[0].output_stride};
      for (std::uint64_t j = 0; j < n; ++j) x.set_real(j, found.complex(j).re);
      return {};
    });
  });
}

}  // namespace ob::algorithms
