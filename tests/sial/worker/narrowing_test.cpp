// Loops are narrowed to the tuples that pass their where clauses, and to no fewer. The oracle
// evaluates the clauses for all tuples.

#include "sial/worker/narrowing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace ob::sial {
namespace {

constexpr std::uint32_t kOwn = 3, kOuter = 1, kInts = 2;
constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

// A loop over `kOwn` indices, index number kOwn and the ints have values from outside. Clauses are
// written in postfix form: `i0`..`i3` indices, `n0` `n1` ints, numbers, `+ - * ~`, comparisons.
class Loops {
 public:
  void clause(std::vector<std::string> words) { clauses_.push_back(std::move(words)); }

  void build(std::uint32_t level = 1) {
    program_.optimisation = level;
    Loop loop;
    for (std::uint32_t i = 0; i < kOwn; ++i) loop.indices.push_back(i);
    code(Opcode::loop_begin);
    for (const auto& words : clauses_) {
      for (const std::string& word : words) write(word);
      code(Opcode::where);
    }
    loop.body = static_cast<std::uint32_t>(program_.code.size());
    program_.loops.push_back(loop);
    for (std::uint32_t i = 0; i < kOwn + kOuter; ++i) {
      active_.lower.push_back(lower[i]);
      active_.upper.push_back(upper[i]);
      Layout::IndexRange range;
      range.lower = lower[i];
      range.upper = upper[i];
      layout_.indices.push_back(range);
      if (i < kOwn) {
        const std::int64_t count = upper[i] - lower[i] + 1;
        active_.total *= static_cast<std::uint64_t>(count);
      }
    }
    active_.lower.resize(kOwn);
    active_.upper.resize(kOwn);
    narrowing_.emplace(program_, layout_);
  }

  // Returns the raw numbers that the narrowed loop visits.
  std::vector<std::uint64_t> visited() {
    std::vector<std::uint64_t> found;
    IndexValues values(kOwn + kOuter, -1000);
    values[kOwn] = outer;
    for (active_.candidate = 0;; ++active_.candidate) {
      active_.candidate = narrowing_->next(active_, values, ints);
      if (active_.candidate >= active_.total) return found;
      found.push_back(active_.candidate);
    }
  }
  // Returns those that pass the clauses, evaluated one by one.
  std::vector<std::uint64_t> survivors() const {
    std::vector<std::uint64_t> found;
    for (std::uint64_t raw = 0; raw < active_.total; ++raw) {
      if (std::ranges::all_of(clauses_, [&](const auto& one) { return holds(one, raw); })) {
        found.push_back(raw);
      }
    }
    return found;
  }
  bool complete() const { return narrowing_->complete(0); }
  std::uint64_t total() const { return active_.total; }

  std::array<std::int64_t, kOwn + kOuter> lower{1, 1, 1, 1}, upper{3, 3, 3, 3};
  std::int64_t outer = 1;
  std::vector<std::int64_t> ints{0, 0};

 private:
  void code(Opcode op, std::uint32_t a = 0, std::uint16_t x = 0) {
    program_.code.push_back({op, x, a, 0, 0});
  }
  static std::optional<std::uint16_t> relation(const std::string& word) {
    const std::array<std::string, 6> names{"<", "<=", ">", ">=", "==", "!="};
    const auto found = std::ranges::find(names, word);
    if (found == names.end()) return std::nullopt;
    return static_cast<std::uint16_t>(found - names.begin());
  }
  void write(const std::string& word) {
    if (word[0] == 'i') return code(Opcode::push_index, static_cast<std::uint32_t>(word[1] - '0'));
    if (word[0] == 'n') {
      return code(Opcode::push_int_variable, static_cast<std::uint32_t>(word[1] - '0'));
    }
    if (word == "+") return code(Opcode::int_add);
    if (word == "-") return code(Opcode::int_subtract);
    if (word == "*") return code(Opcode::int_multiply);
    if (word == "/") return code(Opcode::int_divide);
    if (word == "~") return code(Opcode::int_negate);
    if (const auto x = relation(word)) return code(Opcode::compare_ints, 0, *x);
    program_.int_constants.push_back(std::stoll(word));
    code(Opcode::push_int, static_cast<std::uint32_t>(program_.int_constants.size() - 1));
  }
  std::int64_t index_value(std::uint32_t index, std::uint64_t raw) const {
    if (index == kOwn) return outer;
    for (std::uint32_t i = 0; i < index; ++i) {
      raw /= static_cast<std::uint64_t>(upper[i] - lower[i] + 1);
    }
    const auto count = static_cast<std::uint64_t>(upper[index] - lower[index] + 1);
    return lower[index] + static_cast<std::int64_t>(raw % count);
  }
  bool holds(const std::vector<std::string>& words, std::uint64_t raw) const {
    std::vector<std::int64_t> stack;
    for (const std::string& word : words) {
      if (word[0] == 'i') {
        stack.push_back(index_value(static_cast<std::uint32_t>(word[1] - '0'), raw));
      } else if (word[0] == 'n') {
        stack.push_back(ints[static_cast<std::size_t>(word[1] - '0')]);
      } else if (word == "~") {
        stack.back() = -stack.back();
      } else if (word.size() > 1 || (word[0] >= '0' && word[0] <= '9')) {
        if (!relation(word)) {
          stack.push_back(std::stoll(word));
          continue;
        }
        compute(stack, word);
      } else {
        compute(stack, word);
      }
    }
    return stack.back() != 0;
  }
  static void compute(std::vector<std::int64_t>& stack, const std::string& word) {
    const std::int64_t right = stack.back();
    stack.pop_back();
    std::int64_t& left = stack.back();
    if (word == "+") left += right;
    if (word == "-") left -= right;
    if (word == "*") left *= right;
    if (word == "/") left /= right;
    if (word == "<") left = left < right ? 1 : 0;
    if (word == "<=") left = left <= right ? 1 : 0;
    if (word == ">") left = left > right ? 1 : 0;
    if (word == ">=") left = left >= right ? 1 : 0;
    if (word == "==") left = left == right ? 1 : 0;
    if (word == "!=") left = left != right ? 1 : 0;
  }

  Program program_;
  Layout layout_;
  static ActiveLoop one_tuple() {
    ActiveLoop loop;
    loop.total = 1;
    return loop;
  }

  ActiveLoop active_ = one_tuple();
  std::vector<std::vector<std::string>> clauses_;
  std::optional<Narrowing> narrowing_;
};

class RandomClauses {
 public:
  explicit RandomClauses(std::uint64_t seed) : random_(seed) {}
  std::int64_t number(std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random_);
  }
  std::vector<std::string> clause() {
    std::vector<std::string> words;
    side(words);
    side(words);
    const std::array<std::string, 6> names{"<", "<=", ">", ">=", "==", "!="};
    words.push_back(names[static_cast<std::size_t>(number(0, 5))]);
    return words;
  }

 private:
  void side(std::vector<std::string>& words) {
    if (number(0, 5) == 0) {
      words.push_back("n" + std::to_string(number(0, 1)));
      return;
    }
    for (std::int64_t term = 0, terms = number(1, 3); term < terms; ++term) {
      words.push_back(number(0, 3) == 0 ? std::to_string(number(-4, 4))
                                        : "i" + std::to_string(number(0, kOwn)));
      if (number(0, 3) == 0) words.insert(words.end(), {std::to_string(number(-3, 3)), "*"});
      if (number(0, 4) == 0) words.push_back("~");
      if (term > 0) words.push_back(number(0, 1) == 0 ? "+" : "-");
    }
  }
  std::mt19937_64 random_;
};

TEST(NarrowingTest, RandomClausesLeaveTheSurvivors) {
  const auto seed = static_cast<std::uint64_t>(std::random_device{}());
  std::cout << "seed " << seed << "\n";
  RandomClauses random(seed);
  for (int round = 0; round < 3000; ++round) {
    Loops loops;
    for (std::size_t i = 0; i < loops.lower.size(); ++i) {
      loops.lower[i] = random.number(-3, 3);
      loops.upper[i] = loops.lower[i] + random.number(0, 6);
    }
    loops.outer = random.number(loops.lower[kOwn], loops.upper[kOwn]);
    loops.ints = {random.number(-9, 9), random.number(0, 1) == 0 ? kHuge : -kHuge};
    for (std::int64_t left = random.number(1, 4); left > 0; --left) loops.clause(random.clause());
    loops.build();
    const auto survivors = loops.survivors();
    const auto visited = loops.visited();
    ASSERT_TRUE(std::ranges::includes(visited, survivors)) << "round " << round;
    if (loops.complete()) {
      ASSERT_EQ(visited, survivors) << "round " << round;
    }
  }
}

TEST(NarrowingTest, ATriangleIsComplete) {
  Loops loops;
  loops.clause({"i0", "i1", "<"});
  loops.clause({"i2", "2", "=="});
  loops.build();
  EXPECT_TRUE(loops.complete());
  EXPECT_EQ(loops.visited(), loops.survivors());
  EXPECT_EQ(loops.visited().size(), 3U);
}

TEST(NarrowingTest, ABandOfABillionTuplesIsSearchedInItsOwnSize) {
  Loops loops;
  loops.upper = {30000, 30000, 1, 1};
  loops.clause({"i0", "i1", "<="});
  loops.clause({"i1", "i0", "32", "+", "<="});
  loops.build();
  EXPECT_TRUE(loops.complete());
  EXPECT_EQ(loops.visited().size(), 30000U * 33U - 32U * 33U / 2U);
}

TEST(NarrowingTest, NothingBehindAClauseThatMayFailIsUsed) {
  for (const char* operation : {"/", "+"}) {
    Loops loops;
    loops.clause({"i0", "n0", operation, "0", ">"});  // n0 may be 0, or too large
    loops.clause({"i0", "i1", "<"});
    loops.ints = {1, 0};
    loops.build();
    EXPECT_FALSE(loops.complete());
    EXPECT_EQ(loops.visited().size(), loops.total());
  }
}

TEST(NarrowingTest, ClausesInFrontOfOneThatMayFailAreUsed) {
  Loops loops;
  loops.clause({"i0", "i1", "<"});
  loops.clause({"i0", "n0", "/", "0", ">"});
  loops.ints = {1, 0};
  loops.build();
  EXPECT_FALSE(loops.complete());
  EXPECT_EQ(loops.visited().size(), 9U);
}

TEST(NarrowingTest, LargeNumbersAreNotReadAsSums) {
  Loops loops;
  loops.clause({"i0", std::to_string(kHuge), "+", "0", ">"});  // overflows: R07
  loops.clause({"i0", "i1", "<"});
  loops.build();
  EXPECT_FALSE(loops.complete());
  EXPECT_EQ(loops.visited().size(), loops.total());
}

TEST(NarrowingTest, LevelZeroVisitsAll) {
  Loops loops;
  loops.clause({"i0", "i1", "<"});
  loops.build(0);
  EXPECT_FALSE(loops.complete());
  EXPECT_EQ(loops.visited().size(), loops.total());
}

}  // namespace
}  // namespace ob::sial
