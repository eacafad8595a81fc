// The oracle is the table of conflicts as the specification prints it, one line per state.

#include "sial/server/races.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <vector>

namespace ob::sial {
namespace {

using enum AccessState;

// Columns: get, put, accumulate by the same worker; then by another one. `untouched` means a race.
struct Row {
  AccessState state;
  std::array<AccessState, 6> after;
};
constexpr AccessState kRace = untouched;
constexpr std::array kTable{
    Row{read, {read, mixed, mixed, read_by_many, kRace, kRace}},
    Row{read_by_many, {read_by_many, kRace, kRace, read_by_many, kRace, kRace}},
    Row{written, {mixed, mixed, mixed, kRace, kRace, kRace}},
    Row{accumulated, {mixed, mixed, accumulated, kRace, kRace, accumulated_by_many}},
    Row{accumulated_by_many, {kRace, kRace, accumulated_by_many, kRace, kRace, accumulated_by_many}},
    Row{mixed, {mixed, mixed, mixed, kRace, kRace, kRace}},
};

TEST(Races, TheTableOfStatesAndAccesses) {
  for (const Row& row : kTable) {
    for (int column = 0; column < 6; ++column) {
      const auto access = static_cast<BlockAccess>(column % 3);
      const auto got = after_access(row.state, access, column < 3);
      EXPECT_EQ(got.value_or(kRace), row.after[static_cast<std::size_t>(column)])
          << "state " << static_cast<int>(row.state) << ", column " << column;
    }
  }
}

TEST(Races, TheFirstAccessIsNeverARace) {
  for (const bool same : {false, true}) {
    EXPECT_EQ(after_access(untouched, BlockAccess::get, same), read);
    EXPECT_EQ(after_access(untouched, BlockAccess::put, same), written);
    EXPECT_EQ(after_access(untouched, BlockAccess::accumulate, same), accumulated);
  }
}

struct Event {
  int worker;
  BlockAccess access;
};

// Accesses by several workers conflict unless all of them read or all of them accumulate.
bool conflict(const std::vector<Event>& events) {
  std::set<int> workers;
  std::set<BlockAccess> kinds;
  for (const Event& event : events) {
    workers.insert(event.worker);
    kinds.insert(event.access);
  }
  if (workers.size() == 1) return false;
  return kinds.size() != 1 || *kinds.begin() == BlockAccess::put;
}

TEST(Races, EveryTripleOfAccessesByThreeWorkers) {
  constexpr int kEvents = 9;  // three workers, three kinds of access
  const auto event = [](int number) {
    return Event{number / 3, static_cast<BlockAccess>(number % 3)};
  };
  for (int a = 0; a < kEvents; ++a) {
    for (int b = 0; b < kEvents; ++b) {
      for (int c = 0; c < kEvents; ++c) {
        const std::vector<Event> events{event(a), event(b), event(c)};
        AccessState state = untouched;
        bool race = false;
        for (const Event& next : events) {
          const auto after = after_access(state, next.access, next.worker == events[0].worker);
          race = race || !after;
          state = after.value_or(state);
        }
        EXPECT_EQ(race, conflict(events)) << a << " " << b << " " << c;
      }
    }
  }
}

}  // namespace
}  // namespace ob::sial
