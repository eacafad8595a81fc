#include "device/permute/copy_plan.hpp"

#include <algorithm>

#include "device/permute/moves.hpp"
#include "device/permute/streamed_copy.hpp"

namespace ob {
namespace {

constexpr std::int64_t kBoxElements = StreamedCopy::kBoxElements;  // on each side
constexpr std::int64_t kShortestInner =
    32;  // measured: rows this long keep the prefetchers running
// 1 MiB: both sides together exceed a second-level cache, and the last level belongs to all cores.
constexpr std::int64_t kStreamedElements = 131072;

}  // namespace

// The part of a copy that remains after splits. The axes are those of the inner loop, row first,
// and then the outer ones.
struct CopyPlan::Work {
  std::array<std::int64_t, kMaxAxes + 2> extents{};
  double alpha = 1;
  Store store = Store::copy;
};

CopyPlan::CopyPlan(Axes<2> axes) : outer_(axes) {
  outer_.fuse();
  if (outer_.rank == 0) {
    row_.strides = {1, 1};
    return;
  }
  row_ = outer_.axis[0];
  outer_.remove(0);
  unsigned taken = outer_.rank;  // the axis of the columns: the one with the smallest stride in B
  for (unsigned i = 0; i < outer_.rank; ++i) {
    if (taken == outer_.rank || outer_.axis[i].strides[1] < outer_.axis[taken].strides[1]) {
      taken = i;
    }
  }
  if (taken < outer_.rank) {
    column_ = outer_.axis[taken];
    outer_.remove(taken);
  }
  if (row_.strides[0] != 1) {
    inner_ = Inner::strided;
  } else if (row_.strides[1] != 1) {
    inner_ = column_.strides[1] == 1 ? Inner::transpose : Inner::strided;
  }
  elements_ = row_.extent * column_.extent;
  for (unsigned i = 0; i < outer_.rank; ++i) elements_ *= outer_.axis[i].extent;
}

bool CopyPlan::in_place() const noexcept {
  for (unsigned i = 0; i < outer_.rank; ++i) {
    if (outer_.axis[i].strides[0] != outer_.axis[i].strides[1]) return false;
  }
  return row_.strides[0] == row_.strides[1] && column_.strides[0] == column_.strides[1];
}

void CopyPlan::run(double* d, const double* b, double alpha, bool add) const {
  const Store store = add ? Store::add : alpha == 1 ? Store::copy : Store::scale;
  if (!add && inner_ != Inner::strided && elements_ >= kStreamedElements) {
    StreamedCopy(row_, column_, outer_, alpha).run(d, b);
    return;
  }
  // Nothing is split, as with most small blocks.
  if (inner_ == Inner::runs && outer_.rank == 0 && row_.extent * column_.extent <= kBoxElements) {
    moves().runs(d, column_.strides[0], b, column_.strides[1], row_.extent, column_.extent, alpha,
                 static_cast<int>(store));
    return;
  }
  Work work;
  work.extents[0] = row_.extent;
  work.extents[1] = column_.extent;
  for (unsigned i = 0; i < outer_.rank; ++i) work.extents[i + 2] = outer_.axis[i].extent;
  work.alpha = alpha;
  work.store = store;
  split(work, d, b);
}

// Halves the axis that reaches farthest until both sides of a part fit the caches and the TLB, so
// that lines and pages that are used in part are used again soon.
void CopyPlan::split(Work& work, double* d, const double* b) const {
  std::int64_t elements = 1;
  std::int64_t farthest = 0;
  unsigned axis = 0;
  for (unsigned i = 0; i < outer_.rank + 2; ++i) {
    const Axis<2>& a = i == 0 ? row_ : i == 1 ? column_ : outer_.axis[i - 2];
    elements *= work.extents[i];
    // The inner loop needs some length; whole cache lines, too.
    if (work.extents[i] < (i < 2 ? 2 * kShortestInner : 2)) continue;
    const std::int64_t reach = std::max(a.strides[0], a.strides[1]) * work.extents[i];
    if (reach > farthest) {
      farthest = reach;
      axis = i;
    }
  }
  if (elements <= kBoxElements || farthest == 0) return run_box(work, d, b);
  const Axis<2>& a = axis == 0 ? row_ : axis == 1 ? column_ : outer_.axis[axis - 2];
  const std::int64_t whole = work.extents[axis];
  std::int64_t half = whole / 2;
  if (axis < 2) half = (half + 7) / 8 * 8;  // parts begin at cache lines, as far as the whole does
  work.extents[axis] = half;
  split(work, d, b);
  work.extents[axis] = whole - half;
  split(work, d + half * a.strides[0], b + half * a.strides[1]);
  work.extents[axis] = whole;
}

void CopyPlan::run_box(const Work& work, double* d, const double* b) const {
  const Moves& loops = moves();
  const int store = static_cast<int>(work.store);
  const std::int64_t rows = work.extents[0];
  const std::int64_t columns = work.extents[1];
  Axes<2> box = outer_;
  for (unsigned i = 0; i < box.rank; ++i) box.axis[i].extent = work.extents[i + 2];
  for_each(box, 0, [&](const std::array<std::int64_t, 2>& at) {
    double* const to = d + at[0];
    const double* const from = b + at[1];
    if (inner_ == Inner::runs) {
      loops.runs(to, column_.strides[0], from, column_.strides[1], rows, columns, work.alpha,
                 store);
    } else if (inner_ == Inner::transpose) {
      loops.transpose(to, column_.strides[0], from, row_.strides[1], rows, columns, work.alpha,
                      store);
    } else {
      for (std::int64_t j = 0; j < columns; ++j) {
        for (std::int64_t i = 0; i < rows; ++i) {
          double& element = to[i * row_.strides[0] + j * column_.strides[0]];
          const double value = work.alpha * from[i * row_.strides[1] + j * column_.strides[1]];
          element = work.store == Store::add ? element + value : value;
        }
      }
    }
  });
}

}  // namespace ob
