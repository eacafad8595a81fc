#include "sial/operations/elements.hpp"

#include "sial/operations/axes.hpp"
#include "sial/operations/copy.hpp"

namespace ob::sial {
namespace {

using Offsets1 = std::array<std::int64_t, 1>;
using Offsets2 = std::array<std::int64_t, 2>;
using Offsets3 = std::array<std::int64_t, 3>;

// Takes the innermost axis out of `axes`.
template <std::size_t N>
Axis<N> take_inner(Axes<N>& axes) {
  Axis<N> inner;
  if (axes.rank == 0) return inner;
  inner = axes.axis[0];
  axes.remove(0);
  return inner;
}

template <class Change>
void change_each(const View& d, Change change) {
  if (is_dense(d)) {
    const std::int64_t elements = d.elements();
    for (std::int64_t i = 0; i < elements; ++i) change(d.data[i]);
    return;
  }
  Axes<1> axes;
  for (unsigned i = 0; i < d.rank; ++i) axes.insert({d.extents[i], {d.strides[i]}});
  axes.fuse();
  const Axis<1> inner = take_inner(axes);
  for_each(axes, 0, [&](const Offsets1& at) {
    double* const to = d.data + at[0];
    if (inner.strides[0] == 1) {
      for (std::int64_t i = 0; i < inner.extent; ++i) change(to[i]);
    } else {
      for (std::int64_t i = 0; i < inner.extent; ++i) change(to[i * inner.strides[0]]);
    }
  });
}

// Calls change(d, b1, b2) for each element of the axes of (d, b1, b2).
template <class Change>
void combine(Axes<3> axes, double* d, const double* b1, const double* b2, Change change) {
  axes.fuse();
  const Axis<3> inner = take_inner(axes);
  const auto [step, step1, step2] = inner.strides;
  for_each(axes, 0, [&, s = step, s1 = step1, s2 = step2](const Offsets3& at) {
    double* const to = d + at[0];
    const double* const from1 = b1 + at[1];
    const double* const from2 = b2 + at[2];
    if (s == 1 && s1 == 1 && s2 == 1) {
      for (std::int64_t i = 0; i < inner.extent; ++i) change(to[i], from1[i], from2[i]);
    } else if (s == 1 && s1 == 1 && s2 == 0) {
      const double factor = *from2;
      for (std::int64_t i = 0; i < inner.extent; ++i) change(to[i], from1[i], factor);
    } else if (s == 1 && s1 == 0 && s2 == 1) {
      const double factor = *from1;
      for (std::int64_t i = 0; i < inner.extent; ++i) change(to[i], factor, from2[i]);
    } else {
      for (std::int64_t i = 0; i < inner.extent; ++i) {
        change(to[i * s], from1[i * s1], from2[i * s2]);
      }
    }
  });
}

Axes<3> equal_axes(const View& d, const ConstView& b1, const ConstView& b2) {
  OB_EXPECT(equal_labels(d, b1) && equal_labels(d, b2));
  const LongDimensions long_d = long_dimensions(d);
  const LongDimensions long1 = long_dimensions(b1);
  const LongDimensions long2 = long_dimensions(b2);
  Axes<3> axes;
  for (unsigned i = 0; i < long_d.rank; ++i) {
    axes.insert({d.extents[long_d.dimension[i]],
                 {d.strides[long_d.dimension[i]], b1.strides[long1.dimension[i]],
                  b2.strides[long2.dimension[i]]}});
  }
  return axes;
}

// True if B is at the same addresses as D, element by element, or nowhere near.
bool harmless(const View& d, const ConstView& b) {
  if (!may_overlap(d, b)) return true;
  if (d.data != b.data) return false;
  return (is_dense(d) && is_dense(b)) || copy_plan(d, b).in_place();
}

template <class Change>
Status element_by_element(const View& d, ConstView b1, ConstView b2, Scratch& scratch,
                          Change change) {
  if (!harmless(d, b1)) {
    OB_ASSIGN_OR_RETURN(b1, apart(d, b1, Scratch::Use::first, scratch));
  }
  if (!harmless(d, b2)) {
    OB_ASSIGN_OR_RETURN(b2, apart(d, b2, Scratch::Use::second, scratch));
  }
  if (is_dense(d) && is_dense(b1) && is_dense(b2)) {  // the labels are equal
    const std::int64_t elements = d.elements();
    for (std::int64_t i = 0; i < elements; ++i) change(d.data[i], b1.data[i], b2.data[i]);
    return {};
  }
  combine(equal_axes(d, b1, b2), d.data, b1.data, b2.data, change);
  return {};
}

void add_outer_axes(Axes<3>& axes, const View& d, const LongDimensions& long_d, const ConstView& b,
                    std::size_t operand) {
  const LongDimensions long_b = long_dimensions(b);
  for (unsigned i = 0; i < long_b.rank; ++i) {
    const unsigned from = long_b.dimension[i];
    const unsigned to = find_label(d, long_d, b.labels[from], kMaxRank);
    OB_EXPECT(to < kMaxRank && d.extents[to] == b.extents[from]);
    Axis<3> axis{b.extents[from], {d.strides[to], 0, 0}};
    axis.strides[operand] = b.strides[from];
    axes.insert(axis);
  }
}

}  // namespace

void fill(const View& d, double s, Assign assign) {
  switch (assign) {
    case Assign::set: return change_each(d, [s](double& element) { element = s; });
    case Assign::add: return change_each(d, [s](double& element) { element += s; });
    case Assign::subtract: return change_each(d, [s](double& element) { element -= s; });
    case Assign::multiply: return change_each(d, [s](double& element) { element *= s; });
  }
}

Status add(const View& d, const ConstView& b1, const ConstView& b2, Scratch& scratch) {
  return element_by_element(d, b1, b2, scratch, [](double& to, double x, double y) { to = x + y; });
}

Status subtract(const View& d, const ConstView& b1, const ConstView& b2, Scratch& scratch) {
  return element_by_element(d, b1, b2, scratch, [](double& to, double x, double y) { to = x - y; });
}

Status multiply_elements(const View& d, const ConstView& b1, const ConstView& b2,
                         Scratch& scratch) {
  return element_by_element(d, b1, b2, scratch, [](double& to, double x, double y) { to = x * y; });
}

Status outer(const View& d, const ConstView& b1, const ConstView& b2, Assign assign,
             Scratch& scratch) {
  OB_ASSIGN_OR_RETURN(const ConstView first, apart(d, b1, Scratch::Use::first, scratch));
  OB_ASSIGN_OR_RETURN(const ConstView second, apart(d, b2, Scratch::Use::second, scratch));
  const LongDimensions long_d = long_dimensions(d);
  Axes<3> axes;
  add_outer_axes(axes, d, long_d, first, 1);
  add_outer_axes(axes, d, long_d, second, 2);
  OB_EXPECT(axes.rank == long_d.rank);
  const auto run = [&](auto change) { combine(axes, d.data, first.data, second.data, change); };
  if (assign == Assign::set) {
    run([](double& to, double x, double y) { to = x * y; });
  } else if (assign == Assign::add) {
    run([](double& to, double x, double y) { to += x * y; });
  } else {
    OB_EXPECT(assign == Assign::subtract);
    run([](double& to, double x, double y) { to -= x * y; });
  }
  return {};
}

double inner_product(const ConstView& b1, const ConstView& b2) {
  const LongDimensions long1 = long_dimensions(b1);
  const LongDimensions long2 = long_dimensions(b2);
  OB_EXPECT(long1.rank == long2.rank);
  const bool equal = equal_labels(b1, b2);
  Axes<2> axes;
  for (unsigned i = 0; i < long1.rank; ++i) {
    const unsigned d = long1.dimension[i];
    axes.insert({b1.extents[d], {b1.strides[d], matching_stride(b1, long1, b2, long2, equal, i)}});
  }
  axes.fuse();
  const Axis<2> inner = take_inner(axes);
  double sum = 0;
  for_each(axes, 0, [&](const Offsets2& at) {
    const double* const x = b1.data + at[0];
    const double* const y = b2.data + at[1];
    const auto [s1, s2] = inner.strides;
    std::array<double, 4> parts{};  // chains that do not wait for each other
    std::int64_t i = 0;
    for (; i + 4 <= inner.extent; i += 4) {
      for (int p = 0; p < 4; ++p) parts[p] += x[(i + p) * s1] * y[(i + p) * s2];
    }
    for (; i < inner.extent; ++i) parts[0] += x[i * s1] * y[i * s2];
    sum += (parts[0] + parts[1]) + (parts[2] + parts[3]);
  });
  return sum;
}

}  // namespace ob::sial
