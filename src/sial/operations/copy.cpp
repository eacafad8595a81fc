#include "sial/operations/copy.hpp"

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

CopyPlan copy_plan(const View& d, const ConstView& b) { return CopyPlan(copy_axes(d, b)); }

Result<ConstView> apart(const View& d, const ConstView& b, Scratch::Use use, Scratch& scratch) {
  if (!may_overlap(d, b)) return b;
  OB_ASSIGN_OR_RETURN(double* const memory, scratch.take(use, b.elements()));
  const View taken = dense_like(b, memory);
  copy_plan(taken, b).run(memory, b.data, 1, false);
  return read_only(taken);
}

Status copy(const View& d, const ConstView& b, double s, Assign assign, Scratch& scratch) {
  return copy(copy_plan(d, b), d, b, s, assign, scratch);
}

Status copy(const CopyPlan& plan, const View& d, const ConstView& b, double s, Assign assign,
            Scratch& scratch) {
  OB_EXPECT(assign != Assign::multiply);
  const bool add = assign != Assign::set;
  const double alpha = assign == Assign::subtract ? -s : s;
  if (!may_overlap(d, b) || (d.data == b.data && plan.in_place())) {
    plan.run(d.data, b.data, alpha, add);
    return {};
  }
  OB_ASSIGN_OR_RETURN(const ConstView source, apart(d, b, Scratch::Use::alias_first, scratch));
  copy_plan(d, source).run(d.data, source.data, alpha, add);
  return {};
}

Status copy(const View& d, const ConstView& b, Assign assign, Scratch& scratch) {
  return copy(d, b, 1, assign, scratch);
}

}  // namespace ob::sial
