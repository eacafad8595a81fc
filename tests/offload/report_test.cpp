#include "offload/report.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "support/temporary_folder.hpp"

namespace ob::offload {
namespace {

class ReportTest : public testing::Test {
 protected:
  Config config() {
    Config s;
    s.report_directory = folder_.path();
    s.mode = Mode::remote;
    return s;
  }
  // Reads the report like another process does.
  const ReportBlock* block() {
    const int fd = ::open(file_.c_str(), O_RDONLY);
    if (fd < 0) return nullptr;
    void* at = ::mmap(nullptr, sizeof(ReportBlock), PROT_READ, MAP_SHARED, fd, 0);
    ::close(fd);
    return at == MAP_FAILED ? nullptr : static_cast<const ReportBlock*>(at);
  }
  const test::TemporaryFolder folder_;
  const std::string file_ = folder_.file("report." + std::to_string(::getpid()) + ".bin");
};

TEST_F(ReportTest, LivesInItsFile) {
  Report report(config());
  EXPECT_TRUE(report.wanted());
  const std::string server = "host:1";
  report.set_server(server);
  report.set_notice("lost it");
  add(report.row("dgemm")->calls, 3);
  count_remote(report.row("dgemm"), {10, 20, 1, 2, 3, 4}, 99, 5e6);
  count_remote(nullptr, {}, 0, 0);
  const ReportBlock* seen = block();
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->magic, kReportMagic);
  EXPECT_EQ(seen->version, kReportVersion);
  EXPECT_EQ(seen->rows, kReportRows);
  EXPECT_EQ(seen->pid, static_cast<std::uint64_t>(::getpid()));
  EXPECT_GT(seen->started_unix_ns, 0u);
  EXPECT_STREQ(seen->mode, "remote");
  EXPECT_STREQ(seen->server, "host:1");
  EXPECT_STREQ(seen->notice, "lost it");
  const ReportRow& row = seen->row[0];
  EXPECT_STREQ(row.name, "dgemm");
  EXPECT_EQ(row.calls, 3u);
  EXPECT_EQ(row.remote, 1u);
  EXPECT_EQ(row.bytes_to, 10u);
  EXPECT_EQ(row.bytes_from, 20u);
  EXPECT_EQ(row.to_server_ns + 10 * row.plan_ns + 100 * row.compute_ns + 1000 * row.from_server_ns,
            4321u);
  EXPECT_EQ(row.remote_ns, 99u);
  EXPECT_EQ(row.remote_megaflop, 5u);
  EXPECT_EQ(seen->row[1].name[0], 0);
}

TEST_F(ReportTest, RowsAreFoundAgainUntilTheyRunOut) {
  Report report(Config{});
  EXPECT_FALSE(report.wanted());
  for (std::uint32_t i = 0; i < kReportRows; ++i) {
    const std::string name = "r" + std::to_string(i);
    ReportRow* row = report.row(name);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(report.row(name), row);
  }
  EXPECT_EQ(report.row("one more"), nullptr);
  EXPECT_NE(report.row("r7"), nullptr);
}

TEST_F(ReportTest, LongNamesAreCutNotSpilled) {
  Report report(Config{});
  const std::string longer(100, 'x');
  ReportRow* row = report.row(longer);
  EXPECT_EQ(std::string(row->name), std::string(31, 'x'));
  EXPECT_EQ(report.row(longer), row);
  report.set_notice(std::string(10000, 'n'));
}

TEST_F(ReportTest, ThreadsCountTogether) {
  Report report(Config{});
  const std::string servers[] = {"a:1", "b:2"};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        add(report.row(i % 2 == 0 ? "even" : "odd")->calls, 1);
        report.set_server(servers[i % 2]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(report.row("even")->calls, 2000u);
  EXPECT_EQ(report.row("odd")->calls, 2000u);
}

TEST_F(ReportTest, AFolderThatDoesNotExistCountsInMemory) {
  Config s;
  s.report_directory = folder_.file("missing");
  Report report(s);
  EXPECT_NE(report.row("dgemm"), nullptr);
}

}  // namespace
}  // namespace ob::offload
