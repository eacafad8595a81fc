#include "algorithms/tiles/products_split.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "algorithms/call_context.hpp"

namespace ob::algorithms {
namespace {

enum class SplitForm { none, product, one_side, rank };

SplitForm form_of(const Descriptor& routine) noexcept {
  const std::string_view base = routine.base;
  if (base == "gemm") return SplitForm::product;
  for (const std::string_view one : {"symm", "hemm", "trmm", "trsm"}) {
    if (base == one) return SplitForm::one_side;
  }
  for (const std::string_view one : {"syrk", "herk", "syr2k", "her2k"}) {
    if (base == one) return SplitForm::rank;
  }
  return SplitForm::none;
}

// The position where the share `done` of the work ends: in a rectangle, or in the columns of a
// triangle, which begin with the longest one.
std::uint64_t end_of(std::uint64_t edge, double done, bool is_triangle) {
  const double share = is_triangle ? 1 - std::sqrt(std::max(0.0, 1 - done)) : done;
  return round_cut(edge, share * static_cast<double>(edge));
}

std::vector<Range> cut_by(std::uint64_t edge, std::span<const double> weights, bool is_triangle) {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<Range> ranges;
  double done = 0;
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    done += weights[i] / all;
    const bool last = i + 1 == weights.size();
    const std::uint64_t end = last ? edge : std::max(first, end_of(edge, done, is_triangle));
    if (end > first) ranges.push_back({first, end - first});
    first = end;
  }
  return ranges;
}

// The dimension that is cut, and the matrices that are cut with it.
struct Cut {
  struct Matrix {
    std::string_view name;
    bool by_row;
  };
  std::string_view dim;
  Matrix matrices[2];
  int count = 0;
};

class Splitter {
 public:
  Splitter(const Descriptor& routine, const Argument* arguments)
      : routine_(routine), arguments_(arguments) {}

  std::uint64_t dim(std::string_view name) const {
    return static_cast<std::uint64_t>(named(name).dim);
  }
  // Cuts gemm by rows or by columns of C.
  Cut product(bool by_row) const {
    if (by_row) return {"m", {{"a", is("transa", 'N')}, {"c", true}}, 2};
    return {"n", {{"b", !is("transb", 'N')}, {"c", false}}, 2};
  }
  Cut one_side() const {
    const bool left = is("side", 'L');
    const bool in_place = argument_position(routine_, "c") == routine_.kinds.size();
    return {left ? "n" : "m", {{"b", !left}, {"c", !left}}, in_place ? 1 : 2};
  }

  CallPart whole() const {
    CallPart part;
    std::copy_n(arguments_, routine_.kinds.size(), part.arguments.items);
    return part;
  }
  CallPart narrowed(const Cut& cut, const Range& range) const {
    CallPart part = whole();
    part.arguments.items[argument_position(routine_, cut.dim)].dim =
        static_cast<std::int64_t>(range.count);
    for (int i = 0; i < cut.count; ++i) {
      HostOperand& host =
          part.arguments.items[argument_position(routine_, cut.matrices[i].name)].host;
      const std::uint64_t elements =
          range.first * (cut.matrices[i].by_row ? 1 : static_cast<std::uint64_t>(host.ld));
      host.data = static_cast<std::byte*>(host.data) + elements * element_bytes(routine_.precision);
    }
    return part;
  }

 private:
  bool is(std::string_view flag, char value) const { return named(flag).flag == value; }
  const Argument& named(std::string_view name) const {
    return arguments_[argument_position(routine_, name)];
  }

  const Descriptor& routine_;
  const Argument* const arguments_;
};

// Distributes the devices to the rows of a grid. Each row gets consecutive devices, and the numbers
// are as equal as possible.
std::vector<std::span<const double>> grid_rows(std::span<const double> weights, std::size_t rows) {
  std::vector<std::span<const double>> made;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t first = weights.size() * i / rows;
    made.push_back(weights.subspan(first, weights.size() * (i + 1) / rows - first));
  }
  return made;
}

double sum(std::span<const double> weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

// The elements of op(A) and op(B) that all devices receive, divided by k. The devices of one row of
// the grid all receive the rows of op(A) and divide the columns of op(B) between them.
double grid_traffic(std::span<const double> weights, std::size_t rows, double m, double n) {
  double lines = 0;
  for (const auto& row : grid_rows(weights, rows)) {
    lines += static_cast<double>(row.size()) * m * sum(row) / sum(weights) + n;
  }
  return lines;
}

std::vector<CallPart> split_product(const Descriptor& routine, const Argument* arguments,
                                    std::span<const double> weights) {
  const Splitter whole(routine, arguments);
  const auto m = static_cast<double>(whole.dim("m"));
  const auto n = static_cast<double>(whole.dim("n"));
  std::size_t best = 1;
  for (std::size_t rows = 2; rows <= weights.size(); ++rows) {
    if (grid_traffic(weights, rows, m, n) < grid_traffic(weights, best, m, n)) best = rows;
  }
  const auto rows = grid_rows(weights, best);
  std::vector<double> heights;
  for (const auto& row : rows) heights.push_back(sum(row));
  const std::vector<Range> bands = cut_by(whole.dim("m"), heights, false);
  std::vector<CallPart> parts;
  for (std::size_t i = 0; i < bands.size(); ++i) {
    const CallPart band = whole.narrowed(whole.product(true), bands[i]);
    const Splitter within(routine, band.arguments.items);
    for (const Range& range : cut_by(within.dim("n"), rows[i], false)) {
      parts.push_back(within.narrowed(within.product(false), range));
    }
  }
  return parts;
}

}  // namespace

bool can_be_split(const Descriptor& routine) noexcept {
  return form_of(routine) != SplitForm::none;
}

std::vector<CallPart> split_call(const Descriptor& routine, const Argument* arguments,
                                 std::span<const double> weights) {
  if (form_of(routine) == SplitForm::product) return split_product(routine, arguments, weights);
  const Splitter splitter(routine, arguments);
  std::vector<CallPart> parts;
  if (form_of(routine) == SplitForm::rank) {
    for (const Range& range : cut_by(splitter.dim("n"), weights, true)) {
      parts.push_back(splitter.whole());
      parts.back().diagonal = range;
    }
    return parts;
  }
  const Cut cut = splitter.one_side();
  for (const Range& range : cut_by(splitter.dim(cut.dim), weights, false)) {
    parts.push_back(splitter.narrowed(cut, range));
  }
  return parts;
}

CallPart columns_of_call(const Descriptor& routine, const Argument* arguments, const Range& range) {
  const Splitter splitter(routine, arguments);
  return splitter.narrowed(splitter.one_side(), range);
}

}  // namespace ob::algorithms
