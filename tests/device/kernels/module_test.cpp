#include "device/kernels/module.hpp"

#include <gtest/gtest.h>

#include <string>

namespace ob {
namespace {

TEST(ModuleOptions, AreDefinitions) {
  const auto options = parse_options("  -DA -D B=2.5e+3\t-DC_1=-x.y -DD=\n");
  ASSERT_TRUE(options.ok()) << options.status().message();
  ASSERT_EQ(options->size(), 4u);
  const char* const expected[4][2] = {{"A", "1"}, {"B", "2.5e+3"}, {"C_1", "-x.y"}, {"D", ""}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ((*options)[i].name, expected[i][0]);
    EXPECT_EQ((*options)[i].value, expected[i][1]);
  }
  EXPECT_TRUE(parse_options("")->empty());
}

// Other options could make a compiler read or write files.
TEST(ModuleOptions, AreNothingElse) {
  for (const char* wrong : {"-I/etc", "-D", "-D 1A", "-DA=$(x)", "-DA=\"x\"", "-DA=1;", "A", "-w",
                            "-DA -o f", "--D A", "-DA=a/b", "-D=1", "-DA,B"}) {
    const auto options = parse_options(wrong);
    ASSERT_FALSE(options.ok()) << wrong;
    EXPECT_EQ(options.status().code(), Code::invalid_argument) << wrong;
  }
}

TEST(ModuleSources, HaveLimits) {
  const auto check = [](std::vector<ModuleVariant> variants) {
    return check_source({std::move(variants), ""}).ok();
  };
  EXPECT_FALSE(check({}));
  EXPECT_FALSE(check({{SourceKind::portable, "", ""}}));
  EXPECT_TRUE(check({{SourceKind::portable, std::string(kMostSourceBytes, ' '), ""}}));
  EXPECT_FALSE(check({{SourceKind::portable, std::string(kMostSourceBytes + 1, ' '), ""}}));
  EXPECT_TRUE(check({{SourceKind::cubin, std::string(kMostSourceBytes + 1, '\0'), "sm_90"}}));
  EXPECT_FALSE(check({{SourceKind::portable, std::string("a\0b", 3), ""}}));
  EXPECT_FALSE(check({{static_cast<SourceKind>(6), "x", ""}}));
  EXPECT_FALSE(check({{static_cast<SourceKind>(0), "x", ""}}));
  EXPECT_FALSE(
      check(std::vector<ModuleVariant>(kMostVariants + 1, {SourceKind::portable, "x", ""})));
  EXPECT_FALSE(check_source({{{SourceKind::portable, "x", ""}}, std::string(5000, ' ')}).ok());
}

TEST(ModuleLogs, KeepBothEnds) {
  EXPECT_EQ(shorten_log("short\n"), "short");
  const std::string log = "first" + std::string(kMostLogBytes, 'x') + "last";
  const std::string shortened = shorten_log(log);
  EXPECT_LE(shortened.size(), kMostLogBytes);
  EXPECT_GT(shortened.size(), kMostLogBytes - 16);
  EXPECT_TRUE(shortened.starts_with("first"));
  EXPECT_TRUE(shortened.ends_with("last"));
}

}  // namespace
}  // namespace ob
