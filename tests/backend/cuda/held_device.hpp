#pragma once
// A device on the stand-in. Tests can hold its work.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "backend/cuda/backend.hpp"
#include "device/learnt_times.hpp"
#include "standin_cuda/core/standin_cuda.h"
#include "support/dgemm.hpp"

namespace ob::cuda {

/// Waits until the condition holds; returns false after a time that is too long for any machine.
template <class Condition>
bool eventually(Condition condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

/// A device with small square matrices of doubles, and calls of dgemm.
class HeldDeviceTest : public testing::Test {
 protected:
  static constexpr std::int64_t kN = 8;
  static constexpr std::uint64_t kElements = kN * kN;
  static constexpr std::uint64_t kBytes = kElements * sizeof(double);

  // Uses the second device: the first one is current for threads that choose none.
  void SetUp() override {
    auto made = create({.index = 1,
                        .devices = 2,
                        .memory_bytes = std::uint64_t{64} << 20,
                        .measure = false,
                        .kernels = true,
                        .host = nullptr});
    ASSERT_TRUE(made.ok()) << made.status().message();
    device_ = std::move(*made);
  }
  void TearDown() override {
    finish();
    EXPECT_STREQ(standin_cuda_living(), "");
  }
  void finish() {
    standin_cuda_release();
    written_.clear();
    device_.reset();
    EXPECT_EQ(standin_cuda_violations(), 0U) << standin_cuda_last_violation();
  }

  QueueId queue() {
    auto made = device_->create_queue();
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *made;
  }
  /// Returns a queue that has started the libraries: see warm_up().
  QueueId warm_queue() {
    const QueueId made = queue();
    warm_up(made);
    return made;
  }
  BufferId buffer() {
    auto made = device_->allocate(kBytes);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *made;
  }
  template <std::size_t count>
  std::array<BufferId, count> buffers() {
    std::array<BufferId, count> made;
    for (BufferId& id : made) id = buffer();
    return made;
  }

  /// Returns host memory that the device can access, full of NaN.
  std::shared_ptr<double> pinned() {
    auto made = device_->staging(kBytes);
    EXPECT_TRUE(made.ok()) << made.status().message();
    auto* const data = reinterpret_cast<double*>(made->get());
    std::fill_n(data, kElements, std::numeric_limits<double>::quiet_NaN());
    return {*made, data};
  }
  /// Returns a matrix whose elements are `value`.
  std::shared_ptr<double> filled(double value) {
    auto memory = pinned();
    std::fill_n(memory.get(), kElements, value);
    return memory;
  }

  static Region whole() { return {.rows = kBytes, .cols = 1, .ld = kBytes}; }
  /// Writes a matrix whose elements are `value`.
  void write(QueueId queue, BufferId to, double value) {
    written_.push_back(filled(value));
    auto* const bytes = reinterpret_cast<std::byte*>(written_.back().get());
    EXPECT_TRUE(device_->write(queue, to, whole(), Layout::bytes(bytes, kBytes)).ok());
  }
  void read(QueueId queue, BufferId from, double* to) {
    auto* const bytes = reinterpret_cast<std::byte*>(to);
    EXPECT_TRUE(device_->read(queue, from, whole(), Layout::bytes(bytes, kBytes)).ok());
  }
  /// Reads into host memory that the device can access. The memory holds NaN until then.
  std::shared_ptr<double> read(QueueId queue, BufferId from) {
    auto result = pinned();
    read(queue, from, result.get());
    return result;
  }
  /// C := A B
  void multiply(QueueId queue, BufferId a, BufferId b, BufferId c) {
    Argument arguments[kMaxArguments];
    test::square_dgemm_on_device(kN, a, b, c, arguments);
    EXPECT_TRUE(device_->call(queue, test::dgemm(), arguments).ok());
  }
  /// A := its Cholesky factor. This needs workspace, and the host waits for `info`.
  void factorize(QueueId queue, BufferId a, BufferId info) {
    const Descriptor& potrf = *routines::find("dpotrf");
    Argument arguments[kMaxArguments];
    test::argument_named(arguments, potrf, "uplo").flag = 'L';
    test::argument_named(arguments, potrf, "n").dim = kN;
    test::argument_named(arguments, potrf, "a").device = {a, 0, kN};
    test::argument_named(arguments, potrf, "info").device = {info, 0, 0};
    EXPECT_TRUE(device_->call(queue, potrf, arguments).ok());
  }
  /// Makes the plan of a transform in place that needs workspace.
  PlanId made_plan() {
    FftPlan shape{.precision = Precision::z, .rank = 1};
    shape.n[0] = kN;
    const auto made = device_->make_plan(shape);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *made;
  }
  /// Later commands of `behind` wait for all earlier commands of `before`.
  void order(QueueId before, QueueId behind) {
    const auto event = device_->create_event();
    ASSERT_TRUE(event.ok()) << event.status().message();
    EXPECT_TRUE(device_->record(before, *event).ok());
    EXPECT_TRUE(device_->wait(behind, *event).ok());
  }
  template <class Done>
  void on_reached(QueueId queue, Done done) {
    EXPECT_TRUE(device_->on_reached(queue, false, [=](const QueueReport&) { done(); }).ok());
  }
  /// Waits for the queue, and expects that nothing has failed.
  QueueReport pass(QueueId queue) {
    QueueReport report = device_->synchronize(queue);
    EXPECT_TRUE(report.status.ok()) << report.status.message();
    return report;
  }
  /// Waits until `held` pieces of work are held, and `waiting` of `function` wait for their stream.
  static void expect_held(unsigned long long held, const char* function = "",
                          unsigned long long waiting = 0) {
    EXPECT_TRUE(eventually(
        [&] { return standin_cuda_held() == held && standin_cuda_waiting(function) == waiting; }));
  }
  /// Waits until a function has more than `calls_before` calls.
  static void expect_called(const char* function, unsigned long long calls_before) {
    EXPECT_TRUE(eventually([&] { return standin_cuda_calls(function) > calls_before; }));
  }
  /// Starts the libraries, so that tests hold only the work that they choose. Computes until the
  /// device has learned that a product takes almost no time. @return the commands that this took
  std::uint64_t warm_up(QueueId queue) {
    const BufferId a = buffer();
    const BufferId b = buffer();
    std::uint64_t commands = 0;
    const auto quick = [&] {
      multiply(queue, a, a, b);
      ++commands;
      return static_cast<double>(pass(queue).compute_ns) * 1e-9 < LearntTimes::kShortestSeconds;
    };
    EXPECT_TRUE(eventually(quick));
    EXPECT_TRUE(device_->free(a).ok());
    EXPECT_TRUE(device_->free(b).ok());
    return commands;
  }

  std::unique_ptr<Device> device_;

 private:
  std::vector<std::shared_ptr<double>> written_;  // data of pending writes
};

/// A HeldDeviceTest that makes the device fail: no other test can follow in that process.
class FaultyDeviceTest : public HeldDeviceTest {
 protected:
  // A broken device cannot free memory. This is no leak of the backend.
  void TearDown() override { finish(); }
};

}  // namespace ob::cuda
