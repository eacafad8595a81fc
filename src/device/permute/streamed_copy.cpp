#include "device/permute/streamed_copy.hpp"

#include <algorithm>
#include <numeric>

#include "device/permute/moves.hpp"

namespace ob {
namespace {

enum Side : std::size_t { kD = 0, kB = 1, kGathered = 2 };

constexpr std::int64_t kLineElements = 8;  // of a cache line
// Elements that are written between two groups of prefetches.
constexpr std::int64_t kWrittenAtOnce = 128;

using ByStride = std::array<unsigned, kMaxAxes>;

// The parts of a box that are contiguous on one side.
struct Runs {
  std::int64_t length = 1;
  Axes<3> starts;  // from run to run
};

Runs runs_of(const Axes<3>& box, const ByStride& by_stride, Side side) {
  Runs found;
  for (unsigned i = 0; i < box.rank; ++i) {
    const Axis<3>& axis = box.axis[by_stride[i]];
    if (found.starts.rank == 0 && axis.strides[side] == found.length) {
      found.length *= axis.extent;
    } else {
      found.starts.axis[found.starts.rank++] = axis;
    }
  }
  return found;
}

}  // namespace

// Prefetches the cache lines of a box of B, some at a time.
struct StreamedCopy::Fetch {
  explicit Fetch(const double* first, const Runs& of)
      : runs(of), at(first), left(first != nullptr) {}

  void lines(std::int64_t count) {
    for (; left && count > 0; --count) {
      __builtin_prefetch(at + done, 0, 2);
      done += kLineElements;
      if (done < runs.length) continue;
      __builtin_prefetch(at + runs.length - 1, 0, 2);  // a run that begins inside a line
      done = 0;
      next_run();
    }
  }

  void next_run() {
    for (unsigned i = 0; i < runs.starts.rank; ++i) {
      const Axis<3>& axis = runs.starts.axis[i];
      at += axis.strides[kB];
      if (++index[i] < axis.extent) return;
      at -= axis.strides[kB] * axis.extent;
      index[i] = 0;
    }
    left = false;
  }

  const Runs runs;
  const double* at;
  bool left;
  std::int64_t done = 0;  // elements of the run
  std::array<std::int64_t, kMaxAxes> index{};
};

StreamedCopy::StreamedCopy(const Axis<2>& row, const Axis<2>& column, const Axes<2>& outer,
                           double alpha)
    : alpha_(alpha) {
  axes_.rank = 2;
  axes_.axis[0] = row;
  axes_.axis[1] = column;
  for (unsigned i = 0; i < outer.rank; ++i) axes_.axis[axes_.rank++] = outer.axis[i];
  for (const Side side : {kD, kB}) {
    ByStride& order = by_stride_[side];
    std::iota(order.begin(), order.end(), 0U);
    // Axes of extent 1 have any stride, so they come last.
    std::stable_sort(order.begin(), order.begin() + axes_.rank, [&](unsigned one, unsigned two) {
      const Axis<2>& a = axes_.axis[one];
      const Axis<2>& b = axes_.axis[two];
      if (a.extent == 1 || b.extent == 1) return a.extent != 1 && b.extent == 1;
      return a.strides[side] < b.strides[side];
    });
  }
  grow_boxes();
}

// Makes boxes with long runs on both sides: the side with the shorter runs gets longer ones, until
// the box is large enough.
void StreamedCopy::grow_boxes() {
  most_.fill(1);
  std::int64_t elements = 1;
  const auto first_that_grows = [&](Side side, std::int64_t& run) {
    run = 1;
    for (unsigned i = 0; i < axes_.rank; ++i) {
      const unsigned axis = by_stride_[side][i];
      run *= most_[axis];
      if (most_[axis] < axes_.axis[axis].extent) return axis;
    }
    return axes_.rank;
  };
  while (true) {
    std::int64_t run_d = 1, run_b = 1;
    const unsigned in_d = first_that_grows(kD, run_d);
    const unsigned in_b = first_that_grows(kB, run_b);
    if (in_d == axes_.rank) return;
    const unsigned axis = run_d <= run_b ? in_d : in_b;
    const std::int64_t extent = axes_.axis[axis].extent;
    const std::int64_t others = elements / most_[axis];
    std::int64_t grown = 2 * most_[axis];
    if (grown * 3 / 2 > extent) grown = extent;  // rather than leave a small rest
    const bool last = others * grown > kBoxElements;
    if (last) grown = kBoxElements / others;
    const std::int64_t parts = (extent + grown - 1) / grown;
    most_[axis] = last ? (extent + parts - 1) / parts : grown;
    if (last) return;
    elements = others * grown;
  }
}

void StreamedCopy::run(double* d, const double* b) {
  Box whole;
  for (unsigned i = 0; i < axes_.rank; ++i) whole.extents[i] = axes_.axis[i].extent;
  whole.d = d;
  whole.b = b;
  split(whole);
  copy(pending_, {});
  moves().drain();
}

// Halves the axis that reaches farthest, down to boxes, so that lines and pages that are used in
// part are used again soon.
void StreamedCopy::split(Box part) {
  std::int64_t farthest = 0;
  unsigned axis = 0;
  for (unsigned i = 0; i < axes_.rank; ++i) {
    if (part.extents[i] <= most_[i]) continue;
    const auto& strides = axes_.axis[i].strides;
    const std::int64_t reach = std::max(strides[kD], strides[kB]) * part.extents[i];
    if (reach > farthest) {
      farthest = reach;
      axis = i;
    }
  }
  if (farthest == 0) {
    if (pending_.d != nullptr) copy(pending_, part);
    pending_ = part;
    return;
  }
  const std::int64_t whole = part.extents[axis];
  const std::int64_t boxes = (whole + most_[axis] - 1) / most_[axis];
  const std::int64_t half = (boxes + 1) / 2 * most_[axis];
  part.extents[axis] = half;
  split(part);
  part.extents[axis] = whole - half;
  part.d += half * axes_.axis[axis].strides[kD];
  part.b += half * axes_.axis[axis].strides[kB];
  split(part);
}

// Returns the axes of a box on all sides. It is dense where it is gathered, in the order of D.
Axes<3> StreamedCopy::layout(const Box& box) const {
  Axes<3> made;
  made.rank = axes_.rank;
  std::int64_t stride = 1;
  for (unsigned i = 0; i < axes_.rank; ++i) {
    const unsigned axis = by_stride_[kD][i];
    const auto& strides = axes_.axis[axis].strides;
    made.axis[axis] = {box.extents[axis], {strides[kD], strides[kB], stride}};
    stride *= box.extents[axis];
  }
  return made;
}

void StreamedCopy::copy(const Box& box, const Box& next) {
  const Axes<3> axes = layout(box);
  gather(box, axes);
  Fetch fetch(next.b, runs_of(layout(next), by_stride_[kB], kB));
  const Runs written = runs_of(axes, by_stride_[kD], kD);
  for_each(written.starts, 0, [&](const std::array<std::int64_t, 3>& at) {
    for (std::int64_t done = 0; done < written.length; done += kWrittenAtOnce) {
      const std::int64_t count = std::min(written.length - done, kWrittenAtOnce);
      // Runs of B that begin inside a line have more lines than those of D.
      fetch.lines(count / kLineElements * 5 / 4 + 2);
      moves().stream(box.d + at[kD] + done, gathered_ + at[kGathered] + done, count);
    }
  });
}

void StreamedCopy::gather(const Box& box, const Axes<3>& axes) {
  const Axis<3>& row = axes.axis[0];
  const Axis<3>& column = axes.axis[1];
  const bool transposed = row.strides[kB] != 1;
  const auto loop = transposed ? moves().transpose : moves().runs;
  const std::int64_t ldb = transposed ? row.strides[kB] : column.strides[kB];
  const auto store = static_cast<int>(alpha_ == 1 ? Store::copy : Store::scale);
  for_each(axes, 2, [&](const std::array<std::int64_t, 3>& at) {
    loop(gathered_ + at[kGathered], column.strides[kGathered], box.b + at[kB], ldb, row.extent,
         column.extent, alpha_, store);
  });
}

}  // namespace ob
