// The memory of the daemon's process during a transfer holds the device buffer; no other part grows
// with the transfer.

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/child_process.hpp"
#include "client/remote_device.hpp"

namespace ob {
namespace {

constexpr std::uint64_t kBytes = 128ULL << 20;
constexpr std::uint64_t kPieceBytes = 1 << 20;
constexpr std::uint64_t kCapBytes = 256ULL << 20;
// The daemon's memory without that of its device: code, stacks, 128 KiB for each connection.
constexpr std::uint64_t kConstantKb = 32 << 10;
// This limit is far below the transfers and above allocator noise.
constexpr std::uint64_t kAllowedGrowthKb = 8 << 10;

// Returns the peak resident memory of a process so far [KiB].
std::uint64_t peak_kb(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;) {
    std::uint64_t value = 0;
    if (word == "VmHWM:" && status >> value) return value;
  }
  return 0;
}

class DaemonMemory : public ::testing::Test {
 protected:
  DaemonMemory()
      : daemon_({OB_DAEMON, "--listen", "127.0.0.1:0", "--backend", "null", "--device-memory",
                 std::to_string(kCapBytes), "--exit-with-parent"},
                {}) {
    const std::string prefix = "listening on ";
    const std::string line = daemon_.line();
    if (line.rfind(prefix, 0) == 0) address_ = line.substr(prefix.size());
  }
  ~DaemonMemory() override {
    if (daemon_.pid() > 0) ::kill(daemon_.pid(), SIGTERM);
  }

  bench::ChildProcess daemon_;
  std::string address_;
};

TEST_F(DaemonMemory, DoesNotGrowWithTheSizeOfATransfer) {
  ASSERT_FALSE(address_.empty());
  auto device = client::RemoteDevice::open(address_);
  ASSERT_TRUE(device.ok()) << device.status().message();
  auto& remote = **device;
  const QueueId queue = *remote.create_queue();
  const BufferId buffer = *remote.allocate(kBytes);
  std::vector<std::byte> host(kBytes, std::byte{7});
  for (std::uint64_t at = 0; at < kBytes; at += kPieceBytes) {  // touches the device buffer
    const Region piece{at, 1, Triangle::full, kPieceBytes, 1, kPieceBytes};
    const Layout from = Layout::bytes(host.data() + at, kPieceBytes);
    ASSERT_TRUE(remote.write(queue, buffer, piece, from).ok());
    ASSERT_TRUE(remote.read(queue, buffer, piece, from).ok());
  }
  ASSERT_TRUE(remote.synchronize(queue).status.ok());
  const std::uint64_t before = peak_kb(daemon_.pid());
  ASSERT_GT(before, kBytes >> 10) << "the buffer should be resident by now";

  const Region whole{0, 1, Triangle::full, kBytes, 1, kBytes};
  const Region triangle{0, 8, Triangle::lower, 4096, 4096, 4096};  // the same size, in short pieces
  std::vector<std::byte> packed(packed_bytes(triangle));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(remote.write(queue, buffer, whole, Layout::bytes(host.data(), kBytes)).ok());
    ASSERT_TRUE(remote.read(queue, buffer, whole, Layout::bytes(host.data(), kBytes)).ok());
    ASSERT_TRUE(
        remote.read(queue, buffer, triangle, Layout::bytes(packed.data(), packed.size())).ok());
    ASSERT_TRUE(remote.synchronize(queue).status.ok());
  }
  EXPECT_LE(peak_kb(daemon_.pid()), before + kAllowedGrowthKb);
}

// Clients allocate and free buffers. All of them together fit on the device at any time.
// OB_PUSHED_BYTES sets the bytes that each client sends.
TEST_F(DaemonMemory, StaysUnderItsCapWhateverClientsSend) {
  ASSERT_FALSE(address_.empty());
  constexpr unsigned kClients = 8;
  constexpr std::uint64_t kBufferBytes = kCapBytes / 2 / kClients;
  const char* wanted = std::getenv("OB_PUSHED_BYTES");
  const std::uint64_t pushed =
      wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 256ULL << 20;
  std::atomic<std::uint64_t> arrived{0};
  std::vector<std::thread> clients;
  for (unsigned c = 0; c < kClients; ++c) {
    clients.emplace_back([&, c] {
      auto device = client::RemoteDevice::open(address_, {.timeouts = {.connect_ms = 30000}});
      ASSERT_TRUE(device.ok()) << device.status().message();
      auto& remote = **device;
      const QueueId queue = *remote.create_queue();
      std::vector<std::byte> host(kBufferBytes, static_cast<std::byte>(c));
      for (std::uint64_t sent = 0; sent < pushed; sent += kBufferBytes) {
        const auto buffer = remote.allocate(kBufferBytes);
        ASSERT_TRUE(buffer.ok()) << buffer.status().message();
        const Region whole{0, 1, Triangle::full, kBufferBytes, 1, kBufferBytes, 1};
        const Layout elements = Layout::bytes(host.data(), kBufferBytes);
        ASSERT_TRUE(remote.write(queue, *buffer, whole, elements).ok());
        ASSERT_TRUE(remote.read(queue, *buffer, whole, elements).ok());
        const QueueReport report = remote.synchronize(queue);
        ASSERT_TRUE(report.status.ok()) << report.status.message();
        ASSERT_TRUE(remote.free(*buffer).ok());
        arrived += kBufferBytes;
      }
      for (const std::byte b : host) ASSERT_EQ(b, static_cast<std::byte>(c));
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_GE(arrived, kClients * pushed);
  const std::uint64_t peak = peak_kb(daemon_.pid());
  EXPECT_LE(peak, (kCapBytes >> 10) + kConstantKb);
  std::printf("%.1f GiB pushed, peak %.1f MiB\n",
              static_cast<double>(arrived) / static_cast<double>(1ULL << 30),
              static_cast<double>(peak) / 1024);
}

}  // namespace
}  // namespace ob
