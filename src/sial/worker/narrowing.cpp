#include "sial/worker/narrowing.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "sial/code/instruction_table.hpp"
#include "sial/operations/elements.hpp"

namespace ob::sial {
namespace {

__extension__ using Wide = __int128;

constexpr std::size_t kMostClauses = 16;  // of a loop; the others are evaluated
// Sums below it do not overflow, nor do their differences. An int may have any value.
constexpr Wide kMostSum = Wide{1} << 61;
constexpr Wide kAnyInt = Wide{1} << 63;

Wide floor_divide(Wide left, Wide right) noexcept {
  if (right == 1) return left;
  if (right == -1) return -left;
  const Wide quotient = left / right;
  return quotient - (left % right != 0 && (left < 0) != (right < 0) ? 1 : 0);
}

}  // namespace

// Reads the clauses of one loop from its code, with sums in place of numbers on the stack.
class ClauseReader {
 public:
  ClauseReader(const Program& program, const Layout& layout, const Loop& loop)
      : program_(program), layout_(layout), loop_(loop) {}

  Narrowing::LoopClauses read() {
    for (std::uint32_t at = loop_.begin + 1; at < loop_.body && !may_fail_; ++at) {
      const Instruction& now = program_.code[at];
      if (now.op == Opcode::where) {
        take(std::move(stack_.back()));
        stack_.pop_back();
      } else if (!expression(now)) {
        other(now);
      }
    }
    return std::move(found_);
  }

 private:
  using Clause = Narrowing::Clause;
  struct Sum {
    Clause parts;
    Wide most = 0;  // neither it nor a factor in it has a larger magnitude
  };
  // A value on the stack: a sum, a comparison, or nothing that is known.
  struct Entry {
    std::optional<Sum> sum;
    std::vector<Clause> clauses;  // that hold if the comparison does
  };

  Sum& push_sum(Wide most) {
    Entry& entry = stack_.emplace_back();
    entry.sum.emplace();
    entry.sum->parts.own.resize(loop_.indices.size());
    entry.sum->most = most;
    return *entry.sum;
  }

  void push_index(std::uint32_t index) {
    const Layout::IndexRange& range = layout_.range(index);
    // At least 1, so that factors are not larger than the sum.
    const Wide most = std::max(
        {Wide{1}, Wide{range.lower}, -Wide{range.lower}, Wide{range.upper}, -Wide{range.upper}});
    Sum& sum = push_sum(most);
    const auto own = std::ranges::find(loop_.indices, index);
    if (own == loop_.indices.end()) {
      sum.parts.outer.push_back({1, index});
    } else {
      sum.parts.own[static_cast<std::size_t>(own - loop_.indices.begin())] = 1;
    }
  }

  // Executes what only makes sums or compares them. Returns false for other operations.
  bool expression(const Instruction& now) {
    switch (now.op) {
      case Opcode::push_int: {
        const std::int64_t value = program_.int_constants[now.a];
        const Wide most = value < 0 ? -Wide{value} : Wide{value};
        push_sum(std::max(most, Wide{1})).parts.constant = value;
        return true;
      }
      case Opcode::push_int_variable:
        push_sum(kAnyInt).parts.ints.push_back({1, now.a});
        return true;
      case Opcode::push_index: push_index(now.a); return true;
      case Opcode::int_negate: return negate();
      case Opcode::int_add:
      case Opcode::int_subtract:
      case Opcode::int_multiply: return combine(now.op);
      case Opcode::compare_ints: compare(static_cast<Relation>(now.x)); return true;
      default: return false;
    }
  }

  void other(const Instruction& now) {
    const InstructionRow& row = *find_row(now.op);
    stack_.resize(stack_.size() - std::string_view(row.pops).size());
    stack_.resize(stack_.size() + std::string_view(row.pushes).size());
    may_fail_ = now.op != Opcode::push_scalar && now.op != Opcode::push_scalar_variable &&
                now.op != Opcode::compare_scalars;
    if (may_fail_) found_.complete = false;
  }

  static void scale(Sum& sum, std::int64_t factor) noexcept {
    for (std::int64_t& own : sum.parts.own) own *= factor;
    for (auto* terms : {&sum.parts.outer, &sum.parts.ints}) {
      for (auto& term : *terms) term.factor *= factor;
    }
    sum.parts.constant *= factor;
  }

  static void add_to(Clause& sum, const Clause& more) {
    for (std::size_t i = 0; i < sum.own.size(); ++i) sum.own[i] += more.own[i];
    sum.outer.insert(sum.outer.end(), more.outer.begin(), more.outer.end());
    sum.ints.insert(sum.ints.end(), more.ints.begin(), more.ints.end());
    sum.constant += more.constant;
  }

  bool negate() {
    std::optional<Sum>& sum = stack_.back().sum;
    if (!sum || sum->most > kMostSum) return refuse();
    scale(*sum, -1);
    return true;
  }

  // Reads no further: the operation may fail.
  bool refuse() {
    may_fail_ = true;
    found_.complete = false;
    return true;
  }

  bool combine(Opcode op) {
    Entry right = std::move(stack_.back());
    stack_.pop_back();
    Entry& left = stack_.back();
    if (!left.sum || !right.sum) return refuse();
    const bool product = op == Opcode::int_multiply;
    Wide most = left.sum->most + right.sum->most;
    if (product) {
      const bool small = left.sum->most <= kMostSum && right.sum->most <= kMostSum;
      most = small ? left.sum->most * right.sum->most : kMostSum + 1;
      if (!is_number(*right.sum)) std::swap(*left.sum, *right.sum);
      if (!is_number(*right.sum)) return refuse();
    }
    if (most > kMostSum) return refuse();
    if (product) {
      scale(*left.sum, right.sum->parts.constant);
    } else {
      if (op == Opcode::int_subtract) scale(*right.sum, -1);
      add_to(left.sum->parts, right.sum->parts);
    }
    left.sum->most = most;
    return true;
  }

  static bool is_number(const Sum& sum) {
    return sum.parts.outer.empty() && sum.parts.ints.empty() &&
           std::ranges::all_of(sum.parts.own, [](std::int64_t own) { return own == 0; });
  }

  // Returns `left - right + more`, which is at most zero if a comparison holds.
  static Clause difference(const Sum& left, Sum right, std::int64_t more) {
    scale(right, -1);
    add_to(right.parts, left.parts);
    right.parts.constant += more;
    return std::move(right.parts);
  }

  void compare(Relation relation) {
    const Entry right = std::move(stack_.back());
    stack_.pop_back();
    const Entry left = std::move(stack_.back());
    stack_.back() = {};
    if (!left.sum || !right.sum) return;
    for (const Entry* side : {&left, &right}) {
      const Wide constant = side->sum->parts.constant;
      if (constant > kMostSum || constant < -kMostSum) return;
    }
    std::vector<Clause>& clauses = stack_.back().clauses;
    const bool strict = relation == Relation::less || relation == Relation::greater;
    if (relation == Relation::not_equal) return;
    if (relation != Relation::greater && relation != Relation::greater_equal) {
      clauses.push_back(difference(*left.sum, *right.sum, strict ? 1 : 0));
    }
    if (relation != Relation::less && relation != Relation::less_equal) {
      clauses.push_back(difference(*right.sum, *left.sum, strict ? 1 : 0));
    }
  }

  // Takes the value that a `where` tests.
  void take(Entry entry) {
    const std::size_t count = found_.clauses.size() + entry.clauses.size();
    if (entry.clauses.empty() || count > kMostClauses) {
      found_.complete = false;
      return;
    }
    for (Clause& clause : entry.clauses) found_.clauses.push_back(std::move(clause));
  }

  const Program& program_;
  const Layout& layout_;
  const Loop& loop_;
  std::vector<Entry> stack_;
  bool may_fail_ = false;
  Narrowing::LoopClauses found_;
};

Narrowing::Narrowing(const Program& program, const Layout& layout) {
  for (const Loop& loop : program.loops) {
    LoopClauses& clauses = loops_.emplace_back();
    if (program.optimisation > 0) {
      clauses = ClauseReader(program, layout, loop).read();
    } else {
      clauses.complete = loop.begin + 1 == loop.body;
    }
  }
}

// A search through the tuples, the slowest index first. An index is tried only from the least value
// to the largest one that the clauses leave it, whatever values the faster indices take.
class TupleSearch {
 public:
  TupleSearch(const ActiveLoop& loop, const std::vector<Narrowing::Clause>& clauses,
              const IndexValues& values, const std::vector<std::int64_t>& ints)
      : loop_(loop), clauses_(clauses) {
    for (std::size_t c = 0; c < clauses.size(); ++c) {
      Wide sum = clauses[c].constant;
      for (const auto& term : clauses[c].outer) sum += Wide{term.factor} * values[term.number];
      for (const auto& term : clauses[c].ints) sum += Wide{term.factor} * ints[term.number];
      fixed_[c] = sum;
      const auto& own = clauses[c].own;
      const bool none = std::ranges::all_of(own, [](std::int64_t one) { return one == 0; });
      possible_ = possible_ && (!none || sum <= 0);
    }
  }

  std::uint64_t first() {
    if (!possible_) return loop_.total;
    std::array<std::int64_t, kMaxLoopIndices> start{};
    std::uint64_t rest = loop_.candidate;
    const std::size_t count = loop_.lower.size();
    for (std::size_t p = 0; p < count; ++p) {
      const std::uint64_t extent = extent_of(p);
      start[p] = loop_.lower[p] + static_cast<std::int64_t>(rest % extent);
      rest /= extent;
    }
    bool equal = true;  // so far, the values are those of the candidate
    for (std::size_t p = count - 1;;) {
      set_bounds(p);
      values_[p] = equal ? std::max(lowest_[p], start[p]) : lowest_[p];
      while (values_[p] > highest_[p]) {
        if (++p == count) return loop_.total;
        ++values_[p];
        equal = false;
      }
      equal = equal && values_[p] == start[p];
      if (p == 0) return raw();
      --p;
    }
  }

 private:
  std::uint64_t extent_of(std::size_t p) const noexcept {
    return static_cast<std::uint64_t>(loop_.upper[p] - loop_.lower[p] + 1);
  }

  void set_bounds(std::size_t p) noexcept {
    Wide low = loop_.lower[p];
    Wide high = loop_.upper[p];
    for (std::size_t c = 0; c < clauses_.size(); ++c) {
      const std::vector<std::int64_t>& own = clauses_[c].own;
      if (own[p] == 0) continue;
      Wide least = fixed_[c];  // of the other parts of the sum
      for (std::size_t q = 0; q < own.size(); ++q) {
        if (q > p) least += Wide{own[q]} * values_[q];
        if (q < p) least += Wide{own[q]} * (own[q] > 0 ? loop_.lower[q] : loop_.upper[q]);
      }
      if (own[p] > 0) {
        high = std::min(high, floor_divide(-least, own[p]));
      } else {
        low = std::max(low, -floor_divide(-least, -Wide{own[p]}));
      }
    }
    if (low > high) {  // there are none; the bounds must fit into their type
      low = loop_.lower[p] + 1;
      high = loop_.lower[p];
    }
    lowest_[p] = static_cast<std::int64_t>(low);
    highest_[p] = static_cast<std::int64_t>(high);
  }

  std::uint64_t raw() const noexcept {
    std::uint64_t number = 0;
    for (std::size_t p = loop_.lower.size(); p-- > 0;) {
      number = number * extent_of(p) + static_cast<std::uint64_t>(values_[p] - loop_.lower[p]);
    }
    return number;
  }

  const ActiveLoop& loop_;
  const std::vector<Narrowing::Clause>& clauses_;
  std::array<Wide, kMostClauses> fixed_{};
  bool possible_ = true;  // no clause about other values excludes all
  std::array<std::int64_t, kMaxLoopIndices> values_{}, lowest_{}, highest_{};
};

std::uint64_t Narrowing::next(const ActiveLoop& loop, const IndexValues& values,
                              const std::vector<std::int64_t>& ints) const {
  const std::vector<Clause>& clauses = loops_[loop.loop].clauses;
  if (clauses.empty() || loop.candidate >= loop.total) return loop.candidate;
  return TupleSearch(loop, clauses, values, ints).first();
}

}  // namespace ob::sial
