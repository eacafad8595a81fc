#include "offload/trace.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <clocale>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/temporary_folder.hpp"

namespace ob::offload {
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
  trace.span("dgemm", "remote", 1'234'567'890'123, 1'234'567'891'180, 42);
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

TEST_F(TraceTest, ThreadsDoNotMixTheirLines) {
  Trace trace(folder_.file("trace.json"));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < 500; ++i) trace.span("zgemm", "local", i, i + 5);
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
}  // namespace ob::offload
