#include "device/permute/permute.hpp"

#include <algorithm>
#include <numeric>

#include "device/permute/copy_plan.hpp"
#include "device/permute/moves.hpp"

namespace ob {
namespace {

// The places of the row's arguments.
enum : std::size_t { kExtents = 0, kPositions = 8, kAlpha = 16, kA = 17, kBeta = 18, kB = 19 };

// The dimensions of a block in the order in which its elements lie, the fastest first.
std::array<unsigned, kMaxAxes> sorted(unsigned rank, const Order& extents, const Order& strides) {
  std::array<unsigned, kMaxAxes> dimensions{};
  std::iota(dimensions.begin(), dimensions.end(), 0U);
  // Dimensions of extent 1 have any stride, so they come last.
  std::stable_sort(dimensions.begin(), dimensions.begin() + rank, [&](unsigned one, unsigned two) {
    const bool one_is_long = extents[one] != 1;
    const bool two_is_long = extents[two] != 1;
    if (!one_is_long || !two_is_long) return one_is_long && !two_is_long;
    return strides[one] < strides[two];
  });
  return dimensions;
}

void scale(double* b, std::int64_t count, double beta) {
  if (beta == 0) {
    std::fill_n(b, count, 0.0);
  } else if (beta != 1) {
    moves().runs(b, count, b, count, count, 1, beta, static_cast<int>(Store::scale));
  }
}

}  // namespace

bool is_permute(const Descriptor& routine) noexcept { return routine.base == "permute"; }

Permutation Permutation::of(const Argument* arguments) noexcept {
  Permutation made;
  made.alpha = arguments[kAlpha].scalar.re;
  made.beta = arguments[kBeta].scalar.re;
  made.a = static_cast<const double*>(arguments[kA].host.data);
  made.b = static_cast<double*>(arguments[kB].host.data);
  const bool empty = std::any_of(arguments + kExtents, arguments + kExtents + kMaxAxes,
                                 [](const Argument& extent) { return extent.dim == 0; });
  if (empty) return made;  // the product of the others may not be a number of 64 bits
  std::array<std::int64_t, kMaxAxes> strides{};
  std::int64_t stride = 1;
  for (unsigned i = 0; i < kMaxAxes; ++i) {
    strides[i] = stride;
    stride *= arguments[kExtents + i].dim;
  }
  made.elements = stride;
  stride = 1;
  for (unsigned i = 0; i < kMaxAxes; ++i) {
    const auto from = static_cast<std::size_t>(arguments[kPositions + i].dim - 1);
    const std::int64_t extent = arguments[kExtents + from].dim;
    made.axes.insert({extent, {stride, strides[from]}});
    stride *= extent;
  }
  made.axes.fuse();
  return made;
}

void permute(const Argument* arguments) noexcept {
  const Permutation call = Permutation::of(arguments);
  if (call.elements == 0) return;
  const bool reads_b = call.beta != 0;
  if (reads_b || call.alpha == 0) scale(call.b, call.elements, call.beta);
  if (call.alpha != 0) CopyPlan(call.axes).run(call.b, call.a, call.alpha, reads_b);
}

CallArguments permutation(unsigned rank, const Order& extents, const Order& from, const Order& to,
                          const DeviceOperand& a, const DeviceOperand& b) {
  const auto in_a = sorted(rank, extents, from);
  const auto in_b = sorted(rank, extents, to);
  CallArguments call;
  for (unsigned i = 0; i < kMaxAxes; ++i) {
    call.items[kExtents + i].dim = i < rank ? extents[in_a[i]] : 1;
    const auto place = std::ranges::find(in_a, in_b[i]) - in_a.begin();
    call.items[kPositions + i].dim = place + 1;
  }
  call.items[kAlpha].scalar = {1, 0};
  call.items[kA].device = a;
  call.items[kBeta].scalar = {0, 0};
  call.items[kB].device = b;
  return call;
}

}  // namespace ob
