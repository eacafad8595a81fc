// main() of test programs that hold the tests of several ctest entries. The option
// --files=a_test.cpp,b/c_test.cpp runs the tests that these source files define. Without the option
// all tests run.

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr const char* kOption = "--files=";

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

bool is_in(const std::string& path, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (path == file || path.ends_with("/" + file)) return true;
  }
  return false;
}

// Returns a filter that names every test in these files; empty if there is none.
std::string tests_of(const std::vector<std::string>& files) {
  std::string filter;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      if (!is_in(test.file(), files)) continue;
      if (!filter.empty()) filter += ':';
      filter += std::string(suite.name()) + '.' + test.name();
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (!argument.starts_with(kOption)) continue;
    const std::string filter = tests_of(split(argument.substr(std::string(kOption).size())));
    if (filter.empty()) {
      std::fprintf(stderr, "no test is defined in %s\n", argument.c_str());
      return 1;
    }
    if (testing::GTEST_FLAG(filter) == "*") testing::GTEST_FLAG(filter) = filter;
  }
  return RUN_ALL_TESTS();
}
