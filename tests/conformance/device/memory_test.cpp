// Buffers and copies: a copy moves exactly the described bytes, and no access goes beyond a buffer.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "conformance/device/fixture.hpp"

namespace ob::test {
namespace {

class MemoryTest : public DeviceTest {};

constexpr Triangle kTriangles[] = {Triangle::full, Triangle::upper, Triangle::lower,
                                   Triangle::upper_strict, Triangle::lower_strict};

// This code is independent of Layout, which the device uses.
bool referenced(Triangle triangle, std::uint64_t row, std::uint64_t column) {
  switch (triangle) {
    case Triangle::full: return true;
    case Triangle::upper: return row <= column;
    case Triangle::lower: return row >= column;
    case Triangle::upper_strict: return row < column;
    case Triangle::lower_strict: return row > column;
  }
  return false;
}

std::uint64_t place(const Region& region, std::uint64_t row, std::uint64_t column) {
  return region.offset_bytes + (column * region.ld + row) * region.element_bytes;
}

std::uint64_t end_of(const Region& region) {
  return place(region, region.rows, std::max<std::uint64_t>(1, region.cols) - 1);
}

// Copies the elements one by one, column by column.
void move_elements(const Region& from, const Bytes& source, const Region& to, Bytes& destination) {
  for (std::uint64_t j = 0; j < from.cols; ++j) {
    for (std::uint64_t i = 0; i < from.rows; ++i) {
      if (!referenced(from.triangle, i, j)) continue;
      std::copy_n(source.data() + place(from, i, j), from.element_bytes,
                  destination.data() + place(to, i, j));
    }
  }
}

Bytes packed(const Region& region, const Bytes& source) {
  Bytes all;
  for (std::uint64_t j = 0; j < region.cols; ++j) {
    for (std::uint64_t i = 0; i < region.rows; ++i) {
      if (!referenced(region.triangle, i, j)) continue;
      const auto first = source.begin() + static_cast<std::ptrdiff_t>(place(region, i, j));
      all.insert(all.end(), first, first + region.element_bytes);
    }
  }
  return all;
}

class RegionTest : public MemoryTest {
 protected:
  // Returns two regions with the same elements, for two memories.
  std::tuple<Region, Region> random_regions(Triangle triangle) {
    constexpr std::uint32_t kSizes[] = {1, 4, 8, 16};
    Region a{.element_bytes = kSizes[random(0, 3)], .triangle = triangle};
    a.rows = random(1, 40);
    a.cols = random(1, 40);
    Region b = a;
    for (Region* region : {&a, &b}) {
      region->ld = region->rows + random(0, 1) * random(0, 7);
      region->offset_bytes = random(0, 1) * random(0, 200);
    }
    return {a, b};
  }
};

TEST_P(RegionTest, WritesExactlyTheReferencedElements) {
  for (int round = 0; round < 60; ++round) {
    const auto [on_host, on_device] = random_regions(kTriangles[round % 5]);
    Bytes host = random_bytes(end_of(on_host));
    Bytes expected(end_of(on_device) + 77, kPoison);
    const BufferId buffer = allocate(expected);
    const Status status =
        outcome(device().write(queue(), buffer, on_device, Layout::matrix(host.data(), on_host)));
    ASSERT_TRUE(status.ok()) << status.message();
    move_elements(on_host, host, on_device, expected);
    ASSERT_EQ(download(buffer, expected.size()), expected) << "triangle " << round % 5;
    ASSERT_TRUE(device().free(buffer).ok());
  }
}

TEST_P(RegionTest, ReadsExactlyTheReferencedElements) {
  for (int round = 0; round < 60; ++round) {
    const auto [on_host, on_device] = random_regions(kTriangles[round % 5]);
    const Bytes contents = random_bytes(end_of(on_device) + 13);
    const BufferId buffer = allocate(contents);
    Bytes host(end_of(on_host) + 9, kPoison);
    Bytes expected = host;
    const Status status =
        outcome(device().read(queue(), buffer, on_device, Layout::matrix(host.data(), on_host)));
    ASSERT_TRUE(status.ok()) << status.message();
    move_elements(on_device, contents, on_host, expected);
    ASSERT_EQ(host, expected) << "triangle " << round % 5;
    ASSERT_TRUE(device().free(buffer).ok());
  }
}

TEST_P(RegionTest, ElementsTravelColumnByColumn) {
  for (const Triangle triangle : kTriangles) {
    const auto [unused, on_device] = random_regions(triangle);
    const Bytes contents = random_bytes(end_of(on_device));
    const BufferId buffer = allocate(contents);
    const Bytes expected = packed(on_device, contents);
    Bytes host(expected.size());
    const Layout destination = Layout::bytes(host.data(), host.size());
    const Status status = outcome(device().read(queue(), buffer, on_device, destination));
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(host, expected);
  }
}

TEST_P(RegionTest, CopiesExactlyTheReferencedElements) {
  for (int round = 0; round < 40; ++round) {
    const auto [from, to] = random_regions(kTriangles[round % 5]);
    const Bytes contents = random_bytes(end_of(from));
    Bytes expected(end_of(to) + 31, kPoison);
    const BufferId source = allocate(contents);
    const BufferId destination = allocate(expected);
    const Status status = outcome(device().copy(queue(), source, from, destination, to));
    ASSERT_TRUE(status.ok()) << status.message();
    move_elements(from, contents, to, expected);
    ASSERT_EQ(download(destination, expected.size()), expected);
    ASSERT_EQ(download(source, contents.size()), contents);
    ASSERT_TRUE(device().free(source).ok());
    ASSERT_TRUE(device().free(destination).ok());
  }
}

TEST_P(RegionTest, LargeStridedRegionsSurvive) {
  const Region on_device{
      .element_bytes = 8, .triangle = Triangle::lower, .rows = 1500, .cols = 1200, .ld = 1500};
  Region on_host = on_device;
  on_host.ld = 1511;
  Bytes host(end_of(on_host));
  for (std::size_t i = 0; i < host.size(); ++i)
    host[i] = static_cast<std::byte>(i * 2654435761u >> 11);
  const BufferId buffer = allocate(end_of(on_device));
  const Layout source = Layout::matrix(host.data(), on_host);
  ASSERT_TRUE(device().write(queue(), buffer, on_device, source).ok());
  Bytes back(host.size(), kPoison);
  const Layout destination = Layout::matrix(back.data(), on_host);
  const Status status = outcome(device().read(queue(), buffer, on_device, destination));
  ASSERT_TRUE(status.ok()) << status.message();
  Bytes expected(host.size(), kPoison);
  move_elements(on_host, host, on_host, expected);
  EXPECT_TRUE(back == expected);
}

TEST_P(RegionTest, EmptyRegionsAreNothing) {
  const BufferId buffer = allocate(Bytes(64, kPoison));
  for (const auto& [rows, cols] : {std::pair<std::uint64_t, std::uint64_t>{0, 5}, {5, 0}, {0, 0}}) {
    const Region region{
        .offset_bytes = 64, .element_bytes = 8, .rows = rows, .cols = cols, .ld = 5};
    EXPECT_TRUE(outcome(device().write(queue(), buffer, region, Layout())).ok());
    EXPECT_TRUE(outcome(device().read(queue(), buffer, region, Layout())).ok());
  }
  EXPECT_EQ(download(buffer, 64), Bytes(64, kPoison));
}

TEST_P(MemoryTest, RegionsOutsideTheBufferAreRefused) {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 62;
  const Region bad[] = {
      byte_region(101),
      byte_region(1, 100),
      byte_region(8, UINT64_MAX - 4),  // the end overflows
      {.element_bytes = 8, .rows = 2, .cols = 7, .ld = 2},
      {.element_bytes = 8, .rows = 3, .cols = 2, .ld = 2},      // ld < rows
      {.element_bytes = 8, .rows = 1, .cols = 2, .ld = kHuge},  // extent overflows
      {.element_bytes = 16, .rows = kHuge, .cols = kHuge, .ld = kHuge},
  };
  const Bytes contents = random_bytes(100);
  const BufferId buffer = allocate(contents);
  Bytes host(256, kPoison);
  for (const Region& region : bad) {
    const Layout layout =
        Layout::bytes(host.data(), std::min<std::uint64_t>(packed_bytes(region), 200));
    EXPECT_EQ(outcome(device().write(queue(), buffer, region, layout)).code(),
              Code::invalid_argument);
    EXPECT_EQ(outcome(device().read(queue(), buffer, region, layout)).code(),
              Code::invalid_argument);
    EXPECT_EQ(outcome(device().copy(queue(), buffer, region, buffer, region)).code(),
              Code::invalid_argument);
  }
  EXPECT_EQ(host, Bytes(256, kPoison));
  EXPECT_EQ(download(buffer, 100), contents);
}

TEST_P(MemoryTest, UnknownBuffersAreRefused) {
  Bytes host(8);
  const Layout layout = Layout::bytes(host.data(), host.size());
  const BufferId freed = allocate(8);
  ASSERT_TRUE(device().free(freed).ok());
  for (const BufferId buffer : {freed, BufferId{}, BufferId{987654}}) {
    EXPECT_FALSE(outcome(device().write(queue(), buffer, byte_region(8), layout)).ok());
    EXPECT_FALSE(outcome(device().read(queue(), buffer, byte_region(8), layout)).ok());
  }
}

TEST_P(MemoryTest, MoreThanTheDeviceHasIsOutOfMemory) {
  const auto buffer = device().allocate(kMemoryBytes + 1);
  Status status = buffer.status();
  if (buffer.ok()) {  // a remote device may report it only at the buffer's use
    Bytes host(8);
    status =
        outcome(device().write(queue(), *buffer, byte_region(8), Layout::bytes(host.data(), 8)));
    (void)device().free(*buffer);
  }
  EXPECT_EQ(status.code(), Code::out_of_memory);
  EXPECT_NE(status.message().find(std::to_string(kMemoryBytes)), std::string::npos)
      << status.message();
}

TEST_P(MemoryTest, FreedMemoryCanBeAllocatedAgain) {
  for (int round = 0; round < 20; ++round) {
    const BufferId first = allocate(kMemoryBytes / 2);
    const BufferId second = allocate(kMemoryBytes / 2);
    ASSERT_TRUE(first && second);
    upload(second, random_bytes(100));
    ASSERT_TRUE(device().free(first).ok());
    ASSERT_TRUE(device().free(second).ok());
  }
}

TEST_P(MemoryTest, ABufferFreedWhileInUseServesItsCommands) {
  const Bytes contents = random_bytes(4 * kMiB);
  const BufferId source = allocate(contents);
  const BufferId destination = allocate(contents.size());
  const Region all = byte_region(contents.size());
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(device().copy(queue(), source, all, destination, all).ok());
    ASSERT_TRUE(device().copy(queue(), destination, all, source, all).ok());
  }
  ASSERT_TRUE(device().copy(queue(), source, all, destination, all).ok());
  ASSERT_TRUE(device().free(source).ok());
  // This allocation needs the freed memory, too.
  const BufferId large = allocate(kMemoryBytes - contents.size());
  EXPECT_TRUE(large);
  EXPECT_TRUE(download(destination, contents.size()) == contents);
}

TEST_P(MemoryTest, AnEmptyBufferIsABuffer) {
  const BufferId buffer = allocate(0);
  EXPECT_TRUE(outcome(device().write(queue(), buffer, byte_region(0), Layout())).ok());
  EXPECT_TRUE(device().free(buffer).ok());
}

TEST_P(MemoryTest, HostViewShowsTheContents) {
  if (!device().info().host_visible) GTEST_SKIP() << "memory is not visible here";
  const Bytes contents = random_bytes(5000);
  const BufferId buffer = allocate(contents);
  std::byte* view = device().host_view(buffer);
  ASSERT_NE(view, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view) % 64, 0u);
  EXPECT_EQ(Bytes(view, view + contents.size()), contents);
  EXPECT_EQ(device().host_view(BufferId{}), nullptr);
}

TEST_P(MemoryTest, ASegmentCanBeMappedAndNotShrunk) {
  const Bytes contents = random_bytes(3 * kMiB);
  const BufferId buffer = allocate(contents);
  const auto segment = device().segment(buffer);
  if (!segment.ok()) {
    EXPECT_EQ(segment.status().code(), Code::unsupported) << segment.status().message();
    return;
  }
  const SegmentView& view = segment.value();
  ASSERT_GE(view.segment_bytes, view.offset_bytes + contents.size());
  void* at = mmap(nullptr, view.segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, view.fd, 0);
  ASSERT_NE(at, MAP_FAILED);
  std::byte* mapped = static_cast<std::byte*>(at) + view.offset_bytes;
  EXPECT_TRUE(std::equal(contents.begin(), contents.end(), mapped));
  mapped[17] = std::byte{0xA5};
  EXPECT_EQ(download(buffer, 1, 17)[0], std::byte{0xA5});
  EXPECT_NE(ftruncate(view.fd, 0), 0);
  munmap(at, view.segment_bytes);
}

OB_OVER_ALL_DEVICES(MemoryTest);
OB_OVER_ALL_DEVICES(RegionTest);

}  // namespace
}  // namespace ob::test
