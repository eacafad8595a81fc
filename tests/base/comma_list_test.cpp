#include "base/comma_list.hpp"

#include <gtest/gtest.h>

namespace ob {
namespace {

TEST(CommaList, HasNoBlanksAndNoEmptyItems) {
  using Items = std::vector<std::string>;
  EXPECT_EQ(comma_list("a:1"), Items{"a:1"});
  EXPECT_EQ(comma_list(" a:1,\tunix:/x y ,,b:2, "), (Items{"a:1", "unix:/x y", "b:2"}));
  EXPECT_EQ(comma_list(""), Items());
  EXPECT_EQ(comma_list(" , ,"), Items());
}

}  // namespace
}  // namespace ob
