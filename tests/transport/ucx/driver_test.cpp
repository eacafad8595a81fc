// Tests the end of a driver, also in a program that has closed its descriptors.

#include "transport/ucx/driver.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <thread>

namespace ob::transport::ucx {
namespace {

std::set<int> open_descriptors() {
  std::set<int> numbers;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    numbers.insert(std::stoi(entry.path().filename()));
  }
  // The iterator has read its own descriptor, too.
  std::erase_if(numbers, [](int number) { return ::fcntl(number, F_GETFD) < 0; });
  return numbers;
}

TEST(Driver, StopsWithoutABellWhoseNumberBelongsToAnotherFile) {
  const std::set<int> before = open_descriptors();
  std::atomic<int> steps{0};
  auto driver = Driver::start([&] {
    ++steps;
    return Driver::Next();
  });
  ASSERT_NE(driver, nullptr);
  std::set<int> added = open_descriptors();
  std::erase_if(added, [&](int number) { return before.count(number) != 0; });
  ASSERT_EQ(added.size(), 1u);
  const int bell = *added.begin();
  const int other = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  ASSERT_EQ(::dup2(other, bell), bell);
  driver->stop_without_bell();
  driver.reset();
  EXPECT_EQ(steps, 0);  // nobody has rung
  EXPECT_EQ(::fcntl(bell, F_GETFD), 0);
  std::uint64_t rings = 0;
  EXPECT_EQ(::read(bell, &rings, sizeof rings), -1);
  EXPECT_EQ(errno, EAGAIN) << rings;
  ::close(bell);
  ::close(other);
}

TEST(Driver, CallsNoStepOnceItHasStopped) {
  std::atomic<int> steps{0};
  auto driver = Driver::start([&] {
    ++steps;
    return Driver::Next{Driver::Next::When::later, -1};
  });
  ASSERT_NE(driver, nullptr);
  driver->wake();
  while (steps == 0) std::this_thread::yield();
  driver->stop_without_bell();
  const int last = steps;
  driver.reset();
  EXPECT_EQ(steps, last);
}

}  // namespace
}  // namespace ob::transport::ucx
