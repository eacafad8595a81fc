// Labels of block statements. A label is an index of a selector, with or without the cast.
#include <algorithm>
#include <array>
#include <vector>

#include "sial/code/load_problem.hpp"
#include "sial/code/verify.hpp"

namespace ob::sial {
namespace {

using Labels = std::vector<Selected>;

bool same(const Selected& one, const Selected& other) {
  return one.index == other.index && one.as_simple == other.as_simple;
}

bool equal(const Labels& one, const Labels& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), same);
}

std::ptrdiff_t count(const Labels& labels, const Selected& wanted) {
  return std::count_if(labels.begin(), labels.end(),
                       [&](const Selected& label) { return same(label, wanted); });
}

bool are_permuted(const Labels& one, const Labels& other) {
  return one.size() == other.size() &&
         std::all_of(one.begin(), one.end(), [&](const Selected& label) {
           return count(one, label) == 1 && count(other, label) == 1;
         });
}

class LabelCheck {
 public:
  explicit LabelCheck(const Program& program) : program_(program) {}

  // Returns what is wrong with an instruction, null if nothing is.
  const char* problem(const Instruction& instruction) const {
    switch (instruction.op) {
      case Opcode::block_copy: return copy(labels(instruction.a), labels(instruction.b));
      case Opcode::block_add:
      case Opcode::block_subtract:
        return equal(labels(instruction.a), labels(instruction.b)) &&
                       equal(labels(instruction.a), labels(instruction.c))
                   ? nullptr
                   : "the three lists of labels are equal in a sum";
      case Opcode::block_scale:
        return equal_lists(instruction, "the lists of labels are equal in a scaled copy");
      case Opcode::block_slice:
      case Opcode::block_insert:
        return equal_lists(instruction, "the lists of labels are equal in a slice or insert");
      case Opcode::block_contract:
        return contraction({labels(instruction.a), labels(instruction.b), labels(instruction.c)});
      case Opcode::push_contraction:
        return contraction({labels(instruction.a), labels(instruction.b), {}});
      case Opcode::block_outer:
        return outer(labels(instruction.a), labels(instruction.b), labels(instruction.c));
      case Opcode::put_block: return put(labels(instruction.a), labels(instruction.b));
      case Opcode::region_store: return region(instruction.b, instruction.a);
      case Opcode::region_load: return region(instruction.a, instruction.b);
      case Opcode::static_copy:
      case Opcode::collective_static: return statics(instruction.a, instruction.b);
      default: return nullptr;
    }
  }

 private:
  const Labels& labels(std::uint32_t selector) const {
    return program_.selectors[selector].dimensions;
  }

  bool is_simple(const Selected& label) const {
    return label.as_simple || program_.indices[label.index].kind == IndexKind::simple;
  }

  bool all_simple(Labels::const_iterator first, Labels::const_iterator last) const {
    return std::all_of(first, last, [&](const Selected& label) { return is_simple(label); });
  }

  const char* equal_lists(const Instruction& instruction, const char* rule) const {
    return equal(labels(instruction.a), labels(instruction.b)) ? nullptr : rule;
  }

  // Returns whether the lists are equal but for simple labels that the longer one has behind them.
  bool have_equal_prefix(const Labels& one, const Labels& other) const {
    const auto [in_one, in_other] =
        std::mismatch(one.begin(), one.end(), other.begin(), other.end(), same);
    return (in_one == one.end() || in_other == other.end()) && all_simple(in_one, one.end()) &&
           all_simple(in_other, other.end());
  }

  const char* copy(const Labels& to, const Labels& from) const {
    if (are_permuted(to, from) || have_equal_prefix(to, from)) return nullptr;
    return "the labels of a copy are a permutation, or only simple labels are added at the end";
  }

  const char* put(const Labels& to, const Labels& from) const {
    if (have_equal_prefix(to, from)) return nullptr;
    return "a put has the labels of the block in the same order, and may add simple ones";
  }

  // Labels with more than one element occur in exactly two of the operands, once in each.
  const char* contraction(const std::array<Labels, 3>& operands) const {
    for (const Labels& operand : operands) {
      for (const Selected& label : operand) {
        if (is_simple(label)) continue;
        std::ptrdiff_t total = 0;
        for (const Labels& other : operands) {
          const std::ptrdiff_t times = count(other, label);
          if (times > 1) return "a label occurs twice in one operand of a contraction";
          total += times;
        }
        if (total == 1) return "a label occurs in only one operand of a contraction";
        if (total == 3) return "a label occurs in all operands of a contraction";
      }
    }
    return nullptr;
  }

  const char* outer(const Labels& to, const Labels& one, const Labels& other) const {
    std::size_t kept = 0;
    for (const Labels* operand : {&one, &other}) {
      for (const Selected& label : *operand) {
        if (is_simple(label)) continue;
        if (count(one, label) + count(other, label) != 1)
          return "the operands of an outer product have different labels";
        if (count(to, label) != 1)
          return "the result of an outer product has all labels, each once";
        ++kept;
      }
    }
    const auto wanted = std::count_if(to.begin(), to.end(),
                                      [&](const Selected& label) { return !is_simple(label); });
    if (static_cast<std::size_t>(wanted) == kept) return nullptr;
    return "the result of an outer product has no other labels";
  }

  bool same_kind(std::uint32_t one, std::uint32_t other) const {
    const Index& a = program_.indices[one];
    const Index& b = program_.indices[other];
    return a.kind == b.kind && a.table == b.table;
  }

  const char* region(std::uint32_t selector, std::uint32_t array) const {
    const auto& block = program_.arrays[program_.selectors[selector].array].indices;
    const auto& whole = program_.arrays[array].indices;
    const bool fit = std::equal(block.begin(), block.end(), whole.begin(), whole.end(),
                                [&](auto a, auto b) { return same_kind(a, b); });
    return fit ? nullptr : "a block and a region have the same kinds of indices";
  }

  const char* statics(std::uint32_t to, std::uint32_t from) const {
    const auto fits = [&](std::uint32_t a, std::uint32_t b) {
      const auto same_bound = [](const Bound& one, const Bound& other) {
        return one.variable == other.variable && one.value == other.value;
      };
      const Index& one = program_.indices[a];
      const Index& other = program_.indices[b];
      return same_kind(a, b) && same_bound(one.lower, other.lower) &&
             same_bound(one.upper, other.upper);
    };
    const auto& one = program_.arrays[to].indices;
    const auto& other = program_.arrays[from].indices;
    const bool fit = std::equal(one.begin(), one.end(), other.begin(), other.end(), fits);
    return fit ? nullptr : "whole statics have the same kinds and ranges";
  }

  const Program& program_;
};

}  // namespace

Status verify_labels(const Program& program, const std::string& file) {
  const LabelCheck check(program);
  for (std::uint32_t at = 0; at < program.code.size(); ++at) {
    if (const char* problem = check.problem(program.code[at]))
      return bad_instruction(program, file, at, "has labels that do not fit", problem);
  }
  return {};
}

}  // namespace ob::sial
