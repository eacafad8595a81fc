// Compares the opcode table with the table of docs/wire.md, section 4, copied here by hand.

#include "wire/opcode.hpp"

#include <gtest/gtest.h>

#include <set>

namespace ob::wire {
namespace {

template <class Predicate>
std::set<int> numbers_if(Predicate predicate) {
  std::set<int> numbers;
  for (const OpcodeFacts& facts : kOpcodes) {
    if (predicate(facts)) numbers.insert(static_cast<int>(facts.opcode));
  }
  return numbers;
}

TEST(Opcode, QueueUseIsThatOfTheSpecification) {
  const auto with = [](QueueUse queue) {
    return numbers_if([&](const OpcodeFacts& facts) { return facts.queue == queue; });
  };
  EXPECT_EQ(with(QueueUse::executes), (std::set<int>{7, 8, 9, 10, 13, 14, 15, 16, 19, 26, 27, 30,
                                                     31, 34, 35, 36, 40, 41, 42}));
  EXPECT_EQ(with(QueueUse::named), (std::set<int>{2, 3, 21, 67, 68, 69, 76, 78}));
  EXPECT_EQ(with(QueueUse::ignored),
            (std::set<int>{4, 5, 6, 11, 12, 32, 33, 37, 38, 39, 66, 79, 81}));
}

TEST(Opcode, CommandsComeFromTheClientAfterItsHandshake) {
  EXPECT_EQ(
      numbers_if([](const OpcodeFacts& facts) { return facts.is_command(); }),
      (std::set<int>{2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21,
                     22, 23, 24, 25, 26, 27, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42}));
  EXPECT_EQ(numbers_if([](const OpcodeFacts& facts) { return facts.opens_stream(); }),
            (std::set<int>{1, 20, 28}));
}

TEST(Opcode, RepliesComeFromTheOtherSide) {
  for (const OpcodeFacts& facts : kOpcodes) {
    if (facts.reply == Opcode::none) continue;
    EXPECT_EQ(facts_of(facts.reply).direction, Direction::daemon_to_client) << facts.name;
  }
  EXPECT_EQ(facts_of(Opcode::synchronize).reply, Opcode::done);
  EXPECT_EQ(facts_of(Opcode::digest).reply, Opcode::data);
  EXPECT_EQ(facts_of(Opcode::write).reply, Opcode::none);
}

TEST(Opcode, TheFirstVersionIsThatOfTheSpecification) {
  EXPECT_EQ(numbers_if([](const OpcodeFacts& facts) { return first_version(facts.opcode) == 7; }),
            (std::set<int>{30, 31, 77, 78}));
  EXPECT_EQ(
      numbers_if([](const OpcodeFacts& facts) { return first_version(facts.opcode) == 8; }),
      (std::set<int>{32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 79, 80, 81, 82, 83}));
  EXPECT_EQ(numbers_if([](const OpcodeFacts& facts) { return first_version(facts.opcode) > 8; }),
            (std::set<int>{}));
}

TEST(Opcode, EveryNumberHasItsNameAndOthersAreUnknown) {
  EXPECT_EQ(to_string(Opcode::execute_plan), "execute_plan");
  EXPECT_EQ(to_string(static_cast<Opcode>(71)), "failed");
  for (const int number : {0, 50, 63, 90, 65535}) {
    const auto opcode = static_cast<Opcode>(number);
    EXPECT_FALSE(facts_of(opcode).known()) << number;
    EXPECT_FALSE(uses_credit(opcode)) << number;
    EXPECT_EQ(to_string(opcode), "unknown") << number;
  }
}

}  // namespace
}  // namespace ob::wire
