// Runs one long dimension as two short ones, or through a convolution.

#include <string>

#include "algorithms/fft/cut.hpp"
#include "algorithms/fft/split.hpp"
#include "base/host_scratch.hpp"
#include "device/strided_line.hpp"
#include "device/unit_roots.hpp"

namespace ob::algorithms {
namespace detail {

FftTask line_task(const FftPlan& like, int sign, std::uint64_t n) {
  FftTask task;
  task.plan.kind = FftKind::c2c;
  task.plan.precision = like.precision;
  task.plan.sign = static_cast<std::int8_t>(sign);
  task.plan.rank = 1;
  task.plan.n[0] = n;
  const auto element = static_cast<std::int64_t>(element_bytes(task.plan, true));
  task.transform = {{n, n, element, element}};
  return task;
}

}  // namespace detail

namespace {

// Complex numbers in rows of `columns` each.   Units: strides in bytes
struct Rows {
  std::byte* data;
  std::int64_t row_stride;
  std::int64_t stride;
  std::uint64_t columns;
};

// Computes rows[row] [column] *= exp(sign 2 pi i row column / n) for `count` rows from `first` on.
template <class Real>
void twiddle(const Rows& rows, std::uint64_t first, std::uint64_t count, const UnitRoots& roots) {
  for (std::uint64_t row = first; row < first + count; ++row) {
    const StridedLine<Real> line{rows.data + static_cast<std::int64_t>(row) * rows.row_stride,
                                 rows.stride};
    // row < n / columns, so row * column < n
    for (std::uint64_t i = 0; i < rows.columns; ++i) {
      line.set(i, line.complex(i) * roots(row * i));
    }
  }
}

}  // namespace

Status FftSplit::complex_line(const FftTask& task) {
  const std::uint64_t n = task.plan.n[0];
  const std::uint64_t largest = passes_.largest_bytes() / element_bytes(task.plan, true);
  if (largest < 2) {
    hopeless_ = true;
    return {Code::out_of_memory, "the device has no room for transforms (" +
                                     std::to_string(passes_.largest_bytes()) + " bytes)"};
  }
  const std::uint64_t first = divisor_of(n, largest);
  return first > 1 ? factored(task, first) : chirp(task);
}

// With n = first * second, the input has the points second n1 + n2 and the output has the points
// k1 + first k2. The second step writes to the places that it reads:
//   y(k1, n2) = w^(n2 k1) sum over n1 of x(second n1 + n2) w1^(n1 k1), at k1 + first n2
//   X(k1 + first k2) = sum over n2 of y(k1, n2) w2^(n2 k2)
Status FftSplit::factored(const FftTask& task, std::uint64_t first) {
  const std::uint64_t n = task.plan.n[0];
  const std::uint64_t second = n / first;
  const std::uint64_t element = element_bytes(task.plan, true);
  const UnitRoots roots(n, task.plan.sign);
  // the first step permutes all elements, so its input and output cannot be one array
  const HostScratch scratch(task.in_place() ? n * element : 1);
  if (scratch.data() == nullptr) return detail::no_scratch(n * element);
  return detail::each_transform(task, [&](const FftTask& item) -> Status {
    const FftAxis& axis = item.transform[0];
    std::byte* const between = item.in_place() ? scratch.data() : item.output;
    const auto step = item.in_place() ? static_cast<std::int64_t>(element) : axis.output_stride;
    const auto n1 = static_cast<std::int64_t>(first);
    const auto n2 = static_cast<std::int64_t>(second);
    FftTask columns = item;
    columns.output = between;
    columns.plan.n[0] = first;
    columns.transform = {{first, first, n2 * axis.input_stride, step}};
    columns.batch = {{second, second, axis.input_stride, n1 * step}};
    columns.landed = [&](std::uint64_t from, std::uint64_t count) {
      with_real(task.plan, [&](auto real) {
        twiddle<decltype(real)>({between, n1 * step, step, first}, from, count, roots);
      });
    };
    OB_RETURN_IF_ERROR(passes_.run(columns));
    FftTask rows = item;
    rows.input = between;
    rows.plan.n[0] = second;
    rows.transform = {{second, second, n1 * step, n1 * axis.output_stride}};
    rows.batch = {{first, first, step, axis.output_stride}};
    return run(rows);
  });
}

namespace {

// The sequence exp(sign pi i j^2 / n).
class Chirp {
 public:
  Chirp(std::uint64_t n, int sign) : n2_(2 * n), roots_(2 * n, sign) {}
  /// Returns the values for j = 0, 1, 2, ... one after another.
  Complex next() {
    const Complex value = roots_(square_);
    square_ = (square_ + odd_) % n2_;
    odd_ = (odd_ + 2) % n2_;
    return value;
  }

 private:
  std::uint64_t n2_;
  UnitRoots roots_;
  std::uint64_t square_ = 0;  // j^2 mod 2n
  std::uint64_t odd_ = 1;     // 2j + 1 mod 2n
};

template <class Real>
void chirped_input(const FftTask& item, std::byte* points, std::uint64_t padded) {
  const StridedLine<Real> x{item.input, item.transform[0].input_stride};
  const StridedLine<Real> a{points, 2 * sizeof(Real)};
  const std::uint64_t n = item.plan.n[0];
  Chirp w(n, item.plan.sign);
  for (std::uint64_t j = 0; j < n; ++j) a.set(j, x.complex(j) * w.next());
  for (std::uint64_t j = n; j < padded; ++j) a.set(j, {});
}

template <class Real>
void chirp_filter(const FftPlan& plan, std::byte* points, std::uint64_t padded) {
  const StridedLine<Real> b{points, 2 * sizeof(Real)};
  const std::uint64_t n = plan.n[0];
  Chirp w(n, -plan.sign);
  b.set(0, w.next());
  for (std::uint64_t j = n; j <= padded - n; ++j) b.set(j, {});
  for (std::uint64_t j = 1; j < n; ++j) {
    const Complex value = w.next();
    b.set(j, value);
    b.set(padded - j, value);
  }
}

template <class Real>
void multiply(std::byte* points, const std::byte* by, std::uint64_t count) {
  const StridedLine<Real> a{points, 2 * sizeof(Real)};
  const StridedLine<Real> b{const_cast<std::byte*>(by), 2 * sizeof(Real)};
  for (std::uint64_t j = 0; j < count; ++j) a.set(j, a.complex(j) * b.complex(j));
}

template <class Real>
void chirped_output(const FftTask& item, const std::byte* points, std::uint64_t padded) {
  const StridedLine<Real> c{const_cast<std::byte*>(points), 2 * sizeof(Real)};
  const StridedLine<Real> out{item.output, item.transform[0].output_stride};
  const double scale = 1 / static_cast<double>(padded);
  Chirp w(item.plan.n[0], item.plan.sign);
  for (std::uint64_t k = 0; k < item.plan.n[0]; ++k) {
    const Complex value = c.complex(k) * w.next();
    out.set(k, {value.re * scale, value.im * scale});
  }
}

}  // namespace

// Runs a line whose n has no divisor that fits. The identity jk = (j^2 + k^2 - (k - j)^2) / 2 turns
// the transform into a convolution.
// Source: Bluestein 1970
Status FftSplit::chirp(const FftTask& task) {
  const std::uint64_t padded = convolution_points(task.plan.n[0]);
  const std::uint64_t size_bytes = padded * element_bytes(task.plan, true);
  const HostScratch a(size_bytes);
  const HostScratch b(size_bytes);
  const HostScratch filter(size_bytes);
  if (a.data() == nullptr || b.data() == nullptr || filter.data() == nullptr) {
    return detail::no_scratch(3 * size_bytes);
  }
  const auto transform = [&](int sign, std::byte* from, std::byte* to) {
    FftTask line = detail::line_task(task.plan, sign, padded);
    line.input = from;
    line.output = to;
    return run(line);
  };
  return with_real(task.plan, [&](auto real) -> Status {
    using Real = decltype(real);
    chirp_filter<Real>(task.plan, a.data(), padded);
    OB_RETURN_IF_ERROR(transform(-1, a.data(), filter.data()));
    return detail::each_transform(task, [&](const FftTask& item) -> Status {
      chirped_input<Real>(item, a.data(), padded);
      OB_RETURN_IF_ERROR(transform(-1, a.data(), b.data()));
      multiply<Real>(b.data(), filter.data(), padded);
      OB_RETURN_IF_ERROR(transform(+1, b.data(), a.data()));
      chirped_output<Real>(item, a.data(), padded);
      return {};
    });
  });
}

}  // namespace ob::algorithms
