// Tests cached copies on the device: the traffic, and that an outdated copy is never used.

#include "algorithms/residency/residency.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "backend/null/backend.hpp"
#include "support/forwarding_device.hpp"
#include "support/random.hpp"

namespace ob::algorithms {
namespace {

constexpr std::uint64_t kChunk = 256;

PlacedOperand operand_of(void* data, std::uint64_t rows, std::uint64_t cols, std::uint64_t ld,
                         Triangle triangle = Triangle::full) {
  PlacedOperand operand;
  operand.data = static_cast<std::byte*>(data);
  operand.home = {0, 8, triangle, rows, cols, ld, 8};
  operand.there = {0, 8, triangle, rows, cols, rows, 8};
  operand.read = true;
  return operand;
}

class ResidencyTest : public testing::Test {
 protected:
  // Runs one call that reads one operand, and compares the operand with its copy.
  Residency::Placement look(const PlacedOperand& operand) {
    Residency::Call call(residency);
    auto placed = call.place(queue, operand);
    EXPECT_TRUE(placed.ok() && placed->has_value());
    if (!placed.ok() || !placed->has_value()) return {};
    expect_equal(operand, (*placed)->buffer);
    call.succeeded();
    return **placed;
  }
  // Brings an operand, and returns the number of steps.
  int bring(const PlacedOperand& operand) {
    for (int steps = 1; steps < 1000; ++steps) {
      const auto complete = residency.bring(queue, operand);
      EXPECT_TRUE(complete.ok());
      if (!complete.ok() || *complete) return steps;
    }
    return 0;
  }
  void expect_equal(const PlacedOperand& operand, BufferId buffer) {
    EXPECT_TRUE(device.synchronize(queue).status.ok());
    const Region whole = operand.home;
    EXPECT_EQ(digest_of(device.host_view(buffer), {&operand.there, 1}),
              digest_of(operand.data, {&whole, 1}));
  }

  std::unique_ptr<Device> inner = null::create({.memory_bytes = 1 << 20}).value();
  test::ForwardingDevice device{*inner};
  QueueId queue = device.create_queue().value();
  Residency residency{device,
                      {.capacity_bytes = 1 << 16, .least_bytes = 64, .chunk_bytes = kChunk}};
  std::vector<double> matrix = std::vector<double>(50 * 40, 1.5);
};

TEST_F(ResidencyTest, WhatDoesNotChangeTravelsOnce) {
  const PlacedOperand a = operand_of(matrix.data(), 45, 40, 50);
  const std::uint64_t bytes = packed_bytes(a.there);
  EXPECT_EQ(look(a).sent_bytes, bytes);
  for (int i = 0; i < 10; ++i) {
    const Residency::Placement again = look(a);
    EXPECT_EQ(again.sent_bytes, 0u);
    EXPECT_EQ(again.kept_bytes, bytes);
  }
}

TEST_F(ResidencyTest, OperandsThatAreBroughtDoNotTravelAgain) {
  const PlacedOperand a = operand_of(matrix.data(), 45, 40, 50);
  EXPECT_EQ(bring(a), 40);  // a column is larger than the size of a chunk
  EXPECT_EQ(bring(a), 1);   // nothing is left to send
  EXPECT_EQ(look(a).sent_bytes, 0u);
  const PlacedOperand upper = operand_of(matrix.data(), 40, 40, 50, Triangle::upper);
  EXPECT_EQ(bring(upper), 40);
  EXPECT_EQ(look(upper).sent_bytes, 0u);
}

TEST_F(ResidencyTest, OperandsThatChangeWhileTheyAreBroughtAreSentAgain) {
  const PlacedOperand a = operand_of(matrix.data(), 45, 40, 50);
  for (int i = 0; i < 20; ++i) ASSERT_FALSE(residency.bring(queue, a).value());
  matrix[3 * 50] = -1;   // was sent
  matrix[30 * 50] = -2;  // was not
  EXPECT_EQ(bring(a), 20);
  EXPECT_EQ(look(a).sent_bytes, 45u * 8);
}

TEST_F(ResidencyTest, ACallTakesOverAnOperandThatIsBeingBrought) {
  const PlacedOperand a = operand_of(matrix.data(), 45, 40, 50);
  for (int i = 0; i < 20; ++i) ASSERT_FALSE(residency.bring(queue, a).value());
  EXPECT_EQ(look(a).sent_bytes, packed_bytes(a.there));
  EXPECT_EQ(bring(a), 1);
  EXPECT_EQ(look(a).sent_bytes, 0u);
}

TEST_F(ResidencyTest, MemoryThatDisappearsIsNoFault) {
  constexpr std::size_t kBytes = 1 << 15;
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const PlacedOperand a = operand_of(memory, 32, kBytes / 256, 32);
  ASSERT_FALSE(residency.bring(queue, a).value());
  ASSERT_EQ(munmap(memory, kBytes), 0);
  EXPECT_EQ(residency.bring(queue, a).status().code(), Code::invalid_argument);
  EXPECT_EQ(residency.copies(), 0u);
  EXPECT_TRUE(device.synchronize(queue).status.ok());
}

TEST_F(ResidencyTest, WhatChangesTravelsByChunks) {
  const PlacedOperand a = operand_of(matrix.data(), 45, 40, 50);
  look(a);
  auto random = test::fresh_random();
  for (int i = 0; i < 200; ++i) {
    matrix[test::uniform<std::size_t>(random, 0, 39) * 50 +
           test::uniform<std::size_t>(random, 0, 44)] += 1;
    EXPECT_EQ(look(a).sent_bytes, 45u * 8);  // a column is larger than the size of a chunk
  }
  matrix[49] = -1;  // belongs to the array but not to the operand
  EXPECT_EQ(look(a).sent_bytes, 0u);
}

TEST_F(ResidencyTest, AnArrayFilledAnewEachTimeIsLookedAtEverMoreRarely) {
  const PlacedOperand a = operand_of(matrix.data(), 50, 40, 50);
  const std::uint64_t bytes = packed_bytes(a.there);
  int before = device.operations();
  std::vector<int> operations;
  for (int i = 0; i < 140; ++i) {
    for (double& x : matrix) x = i;
    EXPECT_EQ(look(a).sent_bytes, bytes);
    operations.push_back(device.operations() - before);
    before = device.operations();
  }
  // A call without comparison has two operations: one write and the test's own synchronize().
  const auto unseen = std::count(operations.begin(), operations.end(), 2);
  EXPECT_GE(unseen, 125);
  EXPECT_LT(unseen, 140);
  // an array that no longer changes is found again
  for (int i = 0; i < 64; ++i) look(a);
  EXPECT_EQ(look(a).sent_bytes, 0u);
}

TEST_F(ResidencyTest, ResultsStay) {
  PlacedOperand c = operand_of(matrix.data(), 50, 40, 50);
  c.read = false;
  c.written = true;
  {
    Residency::Call call(residency);
    const auto placed = call.place(queue, c).value();
    ASSERT_TRUE(placed);
    EXPECT_EQ(placed->sent_bytes + placed->kept_bytes, 0u);
    auto* there = reinterpret_cast<double*>(device.host_view(placed->buffer));
    for (std::size_t i = 0; i < matrix.size(); ++i) there[i] = matrix[i] = 3.0 * double(i);
    call.succeeded();
  }
  c.read = true;
  c.written = false;
  EXPECT_EQ(look(c).sent_bytes, 0u);
}

TEST_F(ResidencyTest, AFailedCallLeavesNoCopy) {
  const PlacedOperand a = operand_of(matrix.data(), 50, 40, 50);
  look(a);
  {
    Residency::Call call(residency);
    ASSERT_TRUE(call.place(queue, a).ok());
  }
  EXPECT_EQ(residency.copies(), 0u);
  EXPECT_EQ(device.buffers(), 0);
  EXPECT_EQ(look(a).sent_bytes, packed_bytes(a.there));
}

TEST_F(ResidencyTest, OneCopyServesTwoThatOnlyLook) {
  const PlacedOperand a = operand_of(matrix.data(), 50, 40, 50);
  PlacedOperand c = a;
  c.written = true;
  Residency::Call call(residency);
  const auto first = call.place(queue, a).value();
  const auto second = call.place(queue, a).value();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->buffer, second->buffer);
  EXPECT_EQ(second->sent_bytes, 0u);
  EXPECT_FALSE(call.place(queue, c).value());  // an operand that changes needs its own place
  call.succeeded();
  Residency::Call next(residency);
  ASSERT_TRUE(next.place(queue, c).value());
  EXPECT_FALSE(next.place(queue, a).value());
}

// This call has compared the lower triangle but not the upper one.
TEST_F(ResidencyTest, ASharedCopyIsComparedWholly) {
  const PlacedOperand full = operand_of(matrix.data(), 40, 40, 50);
  look(full);
  matrix[30 * 50 + 2] += 1;  // above the diagonal
  Residency::Call call(residency);
  ASSERT_TRUE(call.place(queue, operand_of(matrix.data(), 40, 40, 50, Triangle::lower)).value());
  const PlacedOperand upper = operand_of(matrix.data(), 40, 40, 50, Triangle::upper);
  EXPECT_FALSE(call.place(queue, upper).value());
}

TEST_F(ResidencyTest, MemoryIsBoundedAndTheLeastUsefulGoesFirst) {
  std::vector<std::vector<double>> arrays(10, std::vector<double>(2000, 2.0));  // 16000 bytes each
  for (auto& array : arrays) {
    look(operand_of(array.data(), 2000, 1, 2000));
    EXPECT_LE(residency.resident_bytes(), 1u << 16);
    look(operand_of(arrays[0].data(), 2000, 1, 2000));
  }
  EXPECT_EQ(look(operand_of(arrays[0].data(), 2000, 1, 2000)).sent_bytes, 0u);
  EXPECT_GT(look(operand_of(arrays[3].data(), 2000, 1, 2000)).sent_bytes, 0u);
  std::vector<double> large(10000);
  Residency::Call call(residency);
  EXPECT_FALSE(call.place(queue, operand_of(large.data(), 10000, 1, 10000)).value());
  EXPECT_FALSE(call.place(queue, operand_of(large.data(), 7, 1, 7)).value());
}

TEST_F(ResidencyTest, GivesItsMemoryToACallThatNeedsIt) {
  look(operand_of(matrix.data(), 50, 40, 50));
  EXPECT_EQ(device.buffers(), 1);
  EXPECT_TRUE(residency.release().ok());
  EXPECT_EQ(device.buffers(), 0);
  EXPECT_EQ(residency.resident_bytes(), 0u);
}

TEST_F(ResidencyTest, ALinkFasterThanDigestsIsUsed) {
  Residency eager(device, {.capacity_bytes = 1 << 16, .least_bytes = 64, .link_bytes_per_s = 1e12});
  Residency::Call call(eager);
  EXPECT_FALSE(call.place(queue, operand_of(matrix.data(), 50, 40, 50)).value());
}

}  // namespace
}  // namespace ob::algorithms
