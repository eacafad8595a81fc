#include "device/host_segment.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "support/descriptor_limit.hpp"

namespace ob {
namespace {

TEST(HostSegmentTest, IsWritableAlignedMemoryInItsFile) {
  for (const std::uint64_t size :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4096}, std::uint64_t{5} << 20}) {
    auto made = HostSegment::create(size);
    ASSERT_TRUE(made.ok()) << made.status().message();
    const HostSegment& segment = **made;
    EXPECT_GE(segment.size_bytes(), size);
    EXPECT_EQ(segment.size_bytes() % 4096, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segment.data()) % 4096, 0u);
    std::memset(segment.data(), 0x77, size);
    if (size == 0) continue;
    void* other = mmap(nullptr, segment.size_bytes(), PROT_READ, MAP_SHARED, segment.fd(), 0);
    ASSERT_NE(other, MAP_FAILED);
    EXPECT_EQ(std::memcmp(other, segment.data(), size), 0);
    munmap(other, segment.size_bytes());
  }
}

TEST(HostSegmentTest, BothSidesCanBeRead) {
  for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{4096}, std::uint64_t{5} << 20}) {
    auto made = HostSegment::create(size);
    ASSERT_TRUE(made.ok()) << made.status().message();
    const HostSegment& segment = **made;
    const volatile std::byte* before = segment.data() - HostSegment::kGuardBytes;
    const volatile std::byte* after = segment.data() + segment.size_bytes();
    for (std::uint64_t i = 0; i < HostSegment::kGuardBytes; ++i) {
      EXPECT_TRUE(before[i] == std::byte{0});  // a missing guard page would raise a signal
      EXPECT_TRUE(after[i] == std::byte{0});
    }
  }
}

TEST(HostSegmentTest, NobodyCanChangeTheSizeOfTheFile) {
  auto made = HostSegment::create(8192);
  ASSERT_TRUE(made.ok());
  const HostSegment& segment = **made;
  EXPECT_NE(ftruncate(segment.fd(), 0), 0);
  EXPECT_NE(ftruncate(segment.fd(), 1 << 20), 0);
  EXPECT_NE(fcntl(segment.fd(), F_ADD_SEALS, F_SEAL_WRITE), 0);
  EXPECT_NE(fcntl(segment.fd(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(HostSegmentTest, AnAbsurdSizeIsOutOfMemory) {
  for (const std::uint64_t size : {UINT64_MAX, std::uint64_t{1} << 62}) {
    const auto made = HostSegment::create(size);
    EXPECT_EQ(made.status().code(), Code::out_of_memory);
    EXPECT_NE(made.status().message().find(std::to_string(size)), std::string::npos);
  }
}

TEST(HostSegmentTest, ADestroyedOneGivesItsMemoryBackThoughAProcessHasIt) {
  auto segment = HostSegment::create(1 << 20).value();
  std::memset(segment->data(), 1, segment->size_bytes());
  const Fd file(::dup(segment->fd()));
  segment->map_for({UserId{1}, {}}, 1, nullptr);
  struct stat about {};
  ASSERT_EQ(::fstat(file.get(), &about), 0);
  ASSERT_GT(about.st_blocks, 0);
  segment.reset();
  ASSERT_EQ(::fstat(file.get(), &about), 0);
  EXPECT_EQ(about.st_blocks, 0);
}

TEST(HostSegmentTest, RunningOutOfFileDescriptorsSaysSo) {
  std::vector<std::shared_ptr<HostSegment>> all;
  Status status;
  {
    const test::DescriptorLimit limit(32);
    ASSERT_TRUE(limit.set());
    for (int i = 0; i < 64 && status.ok(); ++i) {
      auto made = HostSegment::create(1);
      status = made.status();
      if (made.ok()) all.push_back(std::move(made).value());
    }
  }
  EXPECT_EQ(status.code(), Code::out_of_memory);
  EXPECT_NE(status.message().find("ulimit -n"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace ob
