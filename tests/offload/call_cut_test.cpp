// Tests the choice of calls that are sent in panels, and the work that the decision gets for them.

#include "offload/call_cut.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>
#include <utility>

#include "routines/cost.hpp"

namespace ob::offload {
namespace {

// A legal call with these dimensions, alpha and beta 1.
struct Given {
  const Descriptor& routine;
  Argument arguments[kMaxArguments];

  Given(std::string_view name, std::initializer_list<std::pair<std::string_view, int>> dims)
      : routine(*routines::find(name)) {
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      const std::string_view argument = routine.argument_names[i];
      if (routine.kinds[i] == Kind::flag) arguments[i].flag = routine.values[i].front();
      if (argument == "side") arguments[i].flag = 'L';
      if (argument == "alpha" || argument == "beta") arguments[i].scalar = {1, 0};
      for (const auto& [dim, value] : dims) {
        if (argument == dim) arguments[i].dim = value;
      }
    }
  }
  std::optional<double> bytes() const { return bytes_in_panels(routine, arguments); }
  double bytes_whole() const { return cost_of(routine, arguments).bytes_to; }
};

TEST(CallCut, LargeCallsLeaveCHere) {
  const double n = 600;
  const double k = 700;
  const double triangle = n * (n + 1) / 2;
  EXPECT_EQ(Given("dgemm", {{"m", 600}, {"n", 600}, {"k", 700}}).bytes(), 8 * 2 * n * k);
  EXPECT_EQ(Given("zhemm", {{"m", 600}, {"n", 700}}).bytes(), 16 * (triangle + n * k));
  EXPECT_EQ(Given("dsyrk", {{"n", 600}, {"k", 700}}).bytes(), 8 * n * k);
  EXPECT_EQ(Given("cher2k", {{"n", 600}, {"k", 700}}).bytes(), 8 * 2 * n * k);
  const Given whole("dsyrk", {{"n", 600}, {"k", 700}});
  EXPECT_EQ(whole.bytes_whole() - *whole.bytes(), 8 * triangle);
  const Given in_place("strsm", {{"m", 600}, {"n", 700}});
  EXPECT_EQ(in_place.bytes(), in_place.bytes_whole());
}

TEST(CallCut, ShortEdgesAreNotCut) {
  EXPECT_FALSE(Given("dgemm", {{"m", 600}, {"n", 600}, {"k", 511}}).bytes());
  // the edge that is cut has 512, the other one 128
  EXPECT_TRUE(Given("dsyr2k", {{"n", 512}, {"k", 128}}).bytes());
  EXPECT_FALSE(Given("dsyr2k", {{"n", 511}, {"k", 5000}}).bytes());
  EXPECT_FALSE(Given("dsyr2k", {{"n", 5000}, {"k", 127}}).bytes());
  // either operand may be cut
  EXPECT_TRUE(Given("dtrsm", {{"m", 128}, {"n", 512}}).bytes());
  EXPECT_TRUE(Given("dtrsm", {{"m", 512}, {"n", 128}}).bytes());
  EXPECT_FALSE(Given("dtrsm", {{"m", 511}, {"n", 511}}).bytes());
  EXPECT_FALSE(Given("dtrsm", {{"m", 127}, {"n", 5000}}).bytes());
}

TEST(CallCut, OtherRoutinesGoWhole) {
  EXPECT_FALSE(Given("dgemmt", {{"n", 5000}, {"k", 5000}}).bytes());
  EXPECT_FALSE(Given("dpotrf", {{"n", 5000}}).bytes());
  EXPECT_FALSE(Given("dgemv", {{"m", 5000}, {"n", 5000}}).bytes());
}

}  // namespace
}  // namespace ob::offload
