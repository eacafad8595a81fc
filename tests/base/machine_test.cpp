#include "base/machine.hpp"

#include <gtest/gtest.h>

namespace ob {
namespace {

TEST(Machine, HasOneNameAndProcessors) {
  EXPECT_NE(machine_id(), 0u);
  EXPECT_EQ(machine_id(), machine_id());
  EXPECT_TRUE(have_common_processor(usable_processors(), usable_processors()));
  EXPECT_TRUE(have_common_processor(usable_processors(), "0-1023"));
}

TEST(Machine, HasACoreForThisProcess) { EXPECT_GE(usable_cores(), 1u); }

TEST(Machine, ListsOfProcessorsAreCompared) {
  EXPECT_TRUE(have_common_processor("3", "3"));
  EXPECT_TRUE(have_common_processor("0-3,8", "5,8-9"));
  EXPECT_TRUE(have_common_processor("0-1023", "700"));
  EXPECT_FALSE(have_common_processor("0-3,8", "4-7,9"));
  EXPECT_FALSE(have_common_processor("0-3", "32-35"));
}

TEST(Machine, TextsThatAreNoListsHaveNothingInCommon) {
  for (const char* text : {"", "x", "3-1", "-1", "1 2", ",", "99999999999999"}) {
    EXPECT_FALSE(have_common_processor(text, "0-1023")) << text;
    EXPECT_FALSE(have_common_processor("0-1023", text)) << text;
  }
}

}  // namespace
}  // namespace ob
