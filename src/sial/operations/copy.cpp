#include "sial/operations/copy.hpp"

#include "sial/operations/kernels.hpp"

namespace ob::sial {
namespace {

Axes<2> copy_axes(const View& d, const ConstView& b) {
  const LongDimensions long_d = long_dimensions(d);
  const LongDimensions long_b = long_dimensions(b);
  OB_EXPECT(long_d.rank == long_b.rank);
  const bool equal = equal_labels(d, b);
  Axes<2> axes;
  for (unsigned i = 0; i < long_d.rank; ++i) {
    const unsigned dimension = long_d.dimension[i];
    axes.insert({d.extents[dimension],
                 {d.strides[dimension], matching_stride(d, long_d, b, long_b, equal, i)}});
  }
  return axes;
}

}  // namespace

CopyPlan CopyPlan::make(const View& d, const ConstView& b) { return CopyPlan(copy_axes(d, b)); }

CopyPlan::CopyPlan(Axes<2> axes) : outer_(axes) {
  outer_.fuse();
  if (outer_.rank == 0) {
    row_.strides = {1, 1};
    return;
  }
  row_ = outer_.axis[0];
  outer_.remove(0);
  if (row_.strides[0] == 1 && row_.strides[1] == 1) return;
  unsigned unit = kMaxRank;
  for (unsigned i = 0; i < outer_.rank; ++i) {
    if (outer_.axis[i].strides[1] == 1) unit = i;
  }
  if (row_.strides[0] != 1 || unit == kMaxRank) {
    inner_ = Inner::strided;
    return;
  }
  inner_ = Inner::transpose;
  column_ = outer_.axis[unit];
  outer_.remove(unit);
}

bool CopyPlan::in_place() const noexcept {
  for (unsigned i = 0; i < outer_.rank; ++i) {
    if (outer_.axis[i].strides[0] != outer_.axis[i].strides[1]) return false;
  }
  return inner_ != Inner::transpose && row_.strides[0] == row_.strides[1];
}

void CopyPlan::run(double* d, const double* b, double alpha, bool add) const {
  const Kernels& loops = kernels();
  const int store = static_cast<int>(add ? Store::add : alpha == 1 ? Store::copy : Store::scale);
  if (inner_ == Inner::run) {
    for_each(outer_, 0, [&](const std::array<std::int64_t, 2>& at) {
      loops.run(d + at[0], b + at[1], row_.extent, alpha, store);
    });
  } else if (inner_ == Inner::transpose) {
    for_each(outer_, 0, [&](const std::array<std::int64_t, 2>& at) {
      loops.transpose(d + at[0], column_.strides[0], b + at[1], row_.strides[1], row_.extent,
                      column_.extent, alpha, store);
    });
  } else {
    for_each(outer_, 0, [&](const std::array<std::int64_t, 2>& at) {
      double* to = d + at[0];
      const double* from = b + at[1];
      for (std::int64_t i = 0; i < row_.extent; ++i) {
        const double value = alpha * *from;
        *to = add ? *to + value : value;
        to += row_.strides[0];
        from += row_.strides[1];
      }
    });
  }
}

Result<ConstView> apart(const View& d, const ConstView& b, Scratch::Use use, Scratch& scratch) {
  if (!may_overlap(d, b)) return b;
  OB_ASSIGN_OR_RETURN(double* const memory, scratch.take(use, b.elements()));
  const View taken = dense_like(b, memory);
  CopyPlan::make(taken, b).run(memory, b.data, 1, false);
  return read_only(taken);
}

Status copy(const View& d, const ConstView& b, double s, Assign assign, Scratch& scratch) {
  OB_EXPECT(assign != Assign::multiply);
  const bool add = assign != Assign::set;
  const double alpha = assign == Assign::subtract ? -s : s;
  CopyPlan plan = CopyPlan::make(d, b);
  if (!may_overlap(d, b) || (d.data == b.data && plan.in_place())) {
    plan.run(d.data, b.data, alpha, add);
    return {};
  }
  OB_ASSIGN_OR_RETURN(const ConstView source, apart(d, b, Scratch::Use::alias_first, scratch));
  CopyPlan::make(d, source).run(d.data, source.data, alpha, add);
  return {};
}

Status copy(const View& d, const ConstView& b, Assign assign, Scratch& scratch) {
  return copy(d, b, 1, assign, scratch);
}

}  // namespace ob::sial
