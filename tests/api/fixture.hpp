#pragma once
// The places where the cases of the device API run.

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "outboard/device.h"
#include "support/in_process_daemon.hpp"

namespace ob::test {

enum class Where { local_cpu, cpu_over_shm, cpu_over_tcp, cpu_over_tls };

/// The places of a test program. TLS is one of them if the build makes keys.
inline constexpr Where kEverywhere[] = {
    Where::local_cpu,
    Where::cpu_over_shm,
    Where::cpu_over_tcp,
#ifdef OB_TEST_KEYS
    Where::cpu_over_tls,
#endif
};

std::string name_of(const testing::TestParamInfo<Where>& info);

/// Starts a daemon if the place has one.   @returns nullptr for local devices
std::unique_ptr<InProcessDaemon> daemon_at(Where where);
/// Returns the name of a device for ob_device_open().
std::string device_name(const std::unique_ptr<InProcessDaemon>& daemon);
/// Returns the settings of a daemon with the test's key.   @pre the build makes keys
daemon::ServerConfig with_key();
/// Returns options with the key in this folder of the test's keys.   @pre the build makes keys
ob_device_options options_with_key(const std::string& name = "good");
/// Opens the device of a place.
ob_status open_at(Where where, const std::unique_ptr<InProcessDaemon>& daemon, ob_device* device);

/// Returns the last failure of this thread.
ob_error last_error();

/// Fails the test unless a function succeeded; shows its failure.
testing::AssertionResult succeeds(ob_status status);
/// Fails the test unless a function failed with this code, kept that failure for this thread, and
/// says `words`.
testing::AssertionResult fails(ob_status status, ob_status code, const std::string& words);

/// An open device with a queue.
class ApiTest : public testing::TestWithParam<Where> {
 protected:
  void SetUp() override;
  void TearDown() override;

  ob_buffer buffer(std::uint64_t bytes, std::uint32_t flags = 0) const;
  /// Makes a buffer that holds these elements.
  template <class T>
  ob_buffer buffer_of(const std::vector<T>& elements) const {
    const ob_buffer made = buffer(elements.size() * sizeof(T));
    EXPECT_TRUE(succeeds(
        ob_write(queue, {made, 0}, elements.data(), elements.size() * sizeof(T), OB_CAPTURE)));
    return made;
  }
  template <class T>
  std::vector<T> contents(ob_buffer from, std::size_t count) const {
    std::vector<T> elements(count);
    EXPECT_TRUE(succeeds(ob_read(queue, elements.data(), {from, 0}, count * sizeof(T), OB_WAIT)));
    return elements;
  }
  testing::AssertionResult synchronized() const {
    return succeeds(ob_queue_synchronize(queue, OB_FOREVER, nullptr));
  }

  std::unique_ptr<InProcessDaemon> daemon;
  ob_device device = nullptr;
  ob_queue queue = nullptr;
};

/// Arguments of ob_call().
inline ob_operand flag(char value) {
  ob_operand operand{};
  operand.value.flag = value;
  return operand;
}
inline ob_operand number(std::int64_t value) {
  ob_operand operand{};
  operand.value.integer = value;
  return operand;
}
inline ob_operand real(double value) {
  ob_operand operand{};
  operand.value.real = value;
  return operand;
}
inline ob_operand at(ob_buffer buffer, std::int64_t ld = 0, std::uint64_t offset_bytes = 0) {
  ob_operand operand{};
  operand.value.place = {buffer, offset_bytes};
  operand.ld = ld;
  return operand;
}

/// Hands over C = A B of n x n matrices.
ob_status multiply(ob_queue queue, std::int64_t n, ob_buffer a, ob_buffer b, ob_buffer c);

}  // namespace ob::test
