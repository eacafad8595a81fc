#include "sial/operations/contraction_layout.hpp"

#include <algorithm>
#include <utility>

namespace ob::sial {
namespace {

// The groups of D, B1 and B2, rows first.
constexpr std::array<std::array<Group, 2>, 3> kGroups{
    {{Group::m, Group::n}, {Group::m, Group::k}, {Group::k, Group::n}}};
// The operands that have the groups m, n and k.
constexpr std::array<std::array<ContractionOperand, 2>, 3> kOwners{
    {{kD, kB1}, {kD, kB2}, {kB1, kB2}}};

std::size_t number(Group group) { return static_cast<std::size_t>(group); }

using Order = std::array<unsigned, kMaxLabels>;

// The labels of a group, in one order.
struct Sequence {
  unsigned count = 0;
  Order labels{};
};

// A choice: the order of each group, and the labels of the loops around gemm.
struct Choice {
  std::array<Sequence, 3> groups{};
  unsigned outer = 0;
  std::array<unsigned, kMaxOuter> outer_labels{};
};

bool neighbours(const ContractionLabel& inner, const ContractionLabel& outer) {
  if (inner.group != outer.group) return false;
  for (const ContractionOperand operand : kOwners[number(inner.group)]) {
    if (outer.strides[operand] != inner.strides[operand] * inner.extent) return false;
  }
  return true;
}

// Joins labels that are neighbours in both of their operands.
void join_neighbours(ContractionLabels& labels) {
  for (unsigned i = 0; i < labels.count; ++i) {
    for (unsigned j = 0; j < labels.count; ++j) {
      if (i == j || !neighbours(labels.label[i], labels.label[j])) continue;
      labels.label[i].extent *= labels.label[j].extent;
      labels.label[j] = labels.label[--labels.count];
      return join_neighbours(labels);
    }
  }
}

Sequence sequence(const ContractionLabels& labels, const Choice& choice, Group group,
                  ContractionOperand by) {
  Sequence found;
  for (unsigned i = 0; i < labels.count; ++i) {
    const auto* const end = choice.outer_labels.data() + choice.outer;
    if (labels.label[i].group != group || std::find(choice.outer_labels.data(), end, i) != end) {
      continue;
    }
    found.labels[found.count++] = i;
  }
  std::sort(found.labels.begin(), found.labels.begin() + found.count, [&](unsigned a, unsigned b) {
    return labels.label[a].strides[by] < labels.label[b].strides[by];
  });
  return found;
}

struct Fused {
  bool possible = true;
  std::int64_t extent = 1;
  std::int64_t stride = 0;  // 0 if the extent is 1
};

Fused fuse_group(const ContractionLabels& labels, const Sequence& group,
                 ContractionOperand operand) {
  Fused fused;
  for (unsigned i = 0; i < group.count; ++i) {
    const ContractionLabel& label = labels.label[group.labels[i]];
    if (i == 0) fused.stride = label.strides[operand];
    if (label.strides[operand] != fused.stride * fused.extent) fused.possible = false;
    fused.extent *= label.extent;
  }
  return fused;
}

// Lets gemm work on the operand where it is, if its groups are the rows and columns of a matrix.
bool place_directly(OperandLayout& layout, const Fused& rows, const Fused& columns) {
  if (!rows.possible || !columns.possible) return false;
  const auto fits = [](const Fused& inner, const Fused& outer) {
    return (inner.extent == 1 || inner.stride == 1) &&
           (outer.extent == 1 || outer.stride >= inner.extent);
  };
  const bool plain = fits(rows, columns);
  if (!plain && !fits(columns, rows)) return false;
  layout.second_first = !plain;
  const Fused& inner = plain ? rows : columns;
  const Fused& outer = plain ? columns : rows;
  layout.ld = outer.extent == 1 ? inner.extent : outer.stride;
  return true;
}

// Gives the operand a dense copy. The group that has its smallest stride comes first there too.
void place_copy(OperandLayout& layout, const ContractionLabels& labels, const Choice& choice,
                ContractionOperand operand) {
  std::array<const Sequence*, 2> order{&choice.groups[number(kGroups[operand][0])],
                                       &choice.groups[number(kGroups[operand][1])]};
  const auto smallest = [&](const Sequence& group) {
    std::int64_t least = INT64_MAX;
    for (unsigned i = 0; i < group.count; ++i) {
      least = std::min(least, labels.label[group.labels[i]].strides[operand]);
    }
    return least;
  };
  layout.permuted = true;
  layout.second_first = smallest(*order[1]) < smallest(*order[0]);
  if (layout.second_first) std::swap(order[0], order[1]);
  std::int64_t stride = 1;
  const auto append = [&](unsigned i) {
    const ContractionLabel& label = labels.label[i];
    const std::int64_t own = label.strides[operand];
    layout.axes.insert(operand == kD ? Axis<2>{label.extent, {own, stride}}
                                     : Axis<2>{label.extent, {stride, own}});
    stride *= label.extent;
  };
  for (unsigned i = 0; i < order[0]->count; ++i) append(order[0]->labels[i]);
  layout.ld = stride;
  for (unsigned i = 0; i < order[1]->count; ++i) append(order[1]->labels[i]);
  for (unsigned i = 0; i < choice.outer; ++i) {
    if (labels.label[choice.outer_labels[i]].strides[operand] == 0) continue;
    layout.outer_strides[i] = stride;
    append(choice.outer_labels[i]);
  }
  layout.elements = stride;
}

double seconds_of(const ContractionLayout& layout, const ContractionRates& rates) {
  const auto m = static_cast<double>(layout.m);
  const auto n = static_cast<double>(layout.n);
  const auto k = static_cast<double>(layout.k);
  // gemm itself reads its operands and writes its result, which counts where one side is short.
  const double product = rates.gemm_start_s + 2 * m * n * k / rates.flops_per_s +
                         8 * (m * k + k * n + 2 * m * n) / rates.bytes_per_s;
  double seconds = product * static_cast<double>(layout.outer_extents[0] * layout.outer_extents[1]);
  for (const OperandLayout& operand : layout.operands) {
    if (!operand.permuted) continue;
    seconds += rates.copy_start_s + 16 * static_cast<double>(operand.elements) / rates.bytes_per_s;
  }
  return seconds;
}

ContractionLayout lay_out(const ContractionLabels& labels, const Choice& choice,
                          const ContractionRates& rates) {
  ContractionLayout layout;
  layout.outer = choice.outer;
  for (unsigned i = 0; i < choice.outer; ++i) {
    const ContractionLabel& label = labels.label[choice.outer_labels[i]];
    layout.outer_extents[i] = label.extent;
    layout.outer_sums[i] = label.group == Group::k;
  }
  for (const ContractionOperand operand : {kD, kB1, kB2}) {
    OperandLayout& placed = layout.operands[operand];
    const Fused rows = fuse_group(labels, choice.groups[number(kGroups[operand][0])], operand);
    const Fused columns = fuse_group(labels, choice.groups[number(kGroups[operand][1])], operand);
    if (operand == kD) {
      layout.m = rows.extent;
      layout.n = columns.extent;
    } else if (operand == kB1) {
      layout.k = columns.extent;
    }
    if (!place_directly(placed, rows, columns)) {
      place_copy(placed, labels, choice, operand);
      continue;
    }
    for (unsigned i = 0; i < choice.outer; ++i) {
      placed.outer_strides[i] = labels.label[choice.outer_labels[i]].strides[operand];
    }
  }
  layout.seconds = seconds_of(layout, rates);
  return layout;
}

// Tries all orders of the groups for one set of loops.
void try_orders(const ContractionLabels& labels, Choice choice, const ContractionRates& rates,
                ContractionLayout& best) {
  for (unsigned order = 0; order < 8; ++order) {
    bool repeated = false;
    for (const Group group : {Group::m, Group::n, Group::k}) {
      const unsigned owner = (order >> number(group)) & 1;
      Sequence& chosen = choice.groups[number(group)];
      chosen = sequence(labels, choice, group, kOwners[number(group)][owner]);
      if (owner == 1) {
        repeated |=
            chosen.labels == sequence(labels, choice, group, kOwners[number(group)][0]).labels;
      }
    }
    if (repeated) continue;
    const ContractionLayout layout = lay_out(labels, choice, rates);
    if (best.seconds == 0 || layout.seconds < best.seconds) best = layout;
  }
}

bool permutes(const ContractionLayout& layout) {
  return std::any_of(layout.operands.begin(), layout.operands.end(),
                     [](const OperandLayout& operand) { return operand.permuted; });
}

template <class One, class Other>
void add_labels(ContractionLabels& labels, const BasicView<One>& one, const BasicView<Other>& other,
                Group group) {
  const LongDimensions long_one = long_dimensions(one);
  const LongDimensions long_other = long_dimensions(other);
  for (unsigned i = 0; i < long_one.rank; ++i) {
    const unsigned d = long_one.dimension[i];
    const unsigned e = find_label(other, long_other, one.labels[d], kMaxRank);
    if (e == kMaxRank) continue;
    OB_EXPECT(one.extents[d] == other.extents[e] && labels.count < kMaxLabels);
    ContractionLabel& label = labels.label[labels.count++];
    label.extent = one.extents[d];
    label.group = group;
    label.strides[kOwners[number(group)][0]] = one.strides[d];
    label.strides[kOwners[number(group)][1]] = other.strides[e];
  }
}

}  // namespace

ContractionLabels ContractionLabels::of(const View& d, const ConstView& b1, const ConstView& b2) {
  ContractionLabels labels;
  add_labels(labels, d, b1, Group::m);
  add_labels(labels, d, b2, Group::n);
  add_labels(labels, b1, b2, Group::k);
  OB_EXPECT(2 * labels.count ==
            long_dimensions(d).rank + long_dimensions(b1).rank + long_dimensions(b2).rank);
  join_neighbours(labels);
  return labels;
}

ContractionLayout ContractionLayout::choose(const ContractionLabels& labels,
                                            const ContractionRates& rates) {
  ContractionLayout best;
  try_orders(labels, Choice(), rates, best);
  if (!permutes(best)) return best;
  for (unsigned i = 0; i < labels.count; ++i) {
    Choice choice;
    choice.outer = 1;
    choice.outer_labels[0] = i;
    try_orders(labels, choice, rates, best);
    for (unsigned j = i + 1; j < labels.count; ++j) {
      choice.outer = 2;
      choice.outer_labels[1] = j;
      try_orders(labels, choice, rates, best);
    }
  }
  return best;
}

}  // namespace ob::sial
