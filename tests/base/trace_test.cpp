#include "base/trace.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <clocale>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/temporary_folder.hpp"

namespace ob {
namespace {

class TraceTest : public testing::Test {
 protected:
  std::vector<std::string> lines() {
    std::ifstream in(file_);
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }
  const test::TemporaryFolder folder_;
  const std::string file_ = folder_.file("trace.json." + std::to_string(::getpid()));
};

TEST_F(TraceTest, ASpanIsOneEvent) {
  Trace trace(folder_.file("trace.json"));
  ASSERT_TRUE(trace.wanted());
  // The decimal sign of the program's locale must not matter (if that locale is installed here).
  (void)std::setlocale(LC_NUMERIC, "de_DE.UTF-8");
  trace.span("dgemm", "remote", 1'234'567'890'123, 1'234'567'891'180, {{"bytes", 42}});
  (void)std::setlocale(LC_NUMERIC, "C");
  const auto all = lines();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0], "[");
  EXPECT_EQ(all[1],
            "{\"name\":\"dgemm\",\"cat\":\"remote\",\"ph\":\"X\",\"ts\":1234567890.123,\"dur\":1."
            "057,\"pid\":" +
                std::to_string(::getpid()) + ",\"tid\":" + std::to_string(::gettid()) +
                ",\"args\":{\"bytes\":42}},");
}

TEST_F(TraceTest, TextsAreQuoted) {
  Trace trace(folder_.file("trace.json"));
  trace.span("a \"b\\c\n", "x", 0, 0, {{"plan", "u\t"}, {"rank", -1}});
  const auto all = lines();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[1].starts_with(R"({"name":"a \"b\\c\u000a","cat":"x")")) << all[1];
  EXPECT_TRUE(all[1].ends_with(R"("args":{"plan":"u\u0009","rank":-1}},)")) << all[1];
}

TEST_F(TraceTest, TheEndsOfAFlowAndOfAnIntervalHaveOneNumber) {
  Trace trace(folder_.file("trace.json"));
  trace.flow("run", "x", {1'000, 7}, {2'000, 8});
  trace.interval("to 1", "x", 3'000, 4'000, {{"bytes", 5}});
  const auto all = lines();
  ASSERT_EQ(all.size(), 5u);
  const auto id = [&](std::size_t line) {
    const std::size_t begin = all[line].find("\"id\":");
    return all[line].substr(begin, all[line].find(',', begin) - begin);
  };
  EXPECT_EQ(id(1), id(2));
  EXPECT_EQ(id(3), id(4));
  EXPECT_NE(id(1), id(3));
  const auto ends = [&](std::size_t line, const std::string& end) {
    EXPECT_TRUE(all[line].ends_with(end + "},")) << all[line];
  };
  const std::string here = ",\"pid\":" + std::to_string(::getpid()) + ",\"tid\":";
  const std::string own = here + std::to_string(::gettid());
  ends(1, ",\"ts\":1.000" + here + "7");
  ends(2, ",\"ts\":2.000" + here + "8");
  ends(3, ",\"ts\":3.000" + own + ",\"args\":{\"bytes\":5}");
  ends(4, ",\"ts\":4.000" + own);
}

TEST_F(TraceTest, AnEventThatIsTooLongIsLeftOut) {
  Trace trace(folder_.file("trace.json"));
  trace.span(std::string(2000, 'a'), "x", 0, 1);
  trace.name_process("rank 3");
  const auto all = lines();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[1].starts_with(R"({"name":"process_name","ph":"M","pid":)")) << all[1];
  EXPECT_TRUE(all[1].ends_with(R"("args":{"name":"rank 3"}},)")) << all[1];
}

TEST_F(TraceTest, ThreadsDoNotMixTheirLines) {
  Trace trace(folder_.file("trace.json"));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < 500; ++i)
        trace.span("zgemm", "local", i, i + 5, {{"bytes", 0}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto all = lines();
  ASSERT_EQ(all.size(), 2001u);
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_TRUE(all[i].starts_with("{\"name\":\"zgemm\"") && all[i].ends_with("}},")) << all[i];
  }
}

TEST_F(TraceTest, WithoutAFileNothingIsTraced) {
  Trace none("");
  EXPECT_FALSE(none.wanted());
  none.span("dgemm", "local", 1, 2);
  Trace impossible(folder_.file("missing/trace"));
  EXPECT_FALSE(impossible.wanted());
  impossible.span("dgemm", "local", 1, 2);
}

}  // namespace
}  // namespace ob
