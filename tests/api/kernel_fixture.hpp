#pragma once
// Devices that run kernels, through the library.

#include <string>
#include <vector>

#include "api/fixture.hpp"

namespace ob::test {

/// An argument of a kernel; `value` lives until it is set.
template <class T>
ob_argument number_of(const T& value) {
  ob_argument argument{};
  argument.kind = OB_ARGUMENT_SCALAR;
  argument.bytes = sizeof value;
  argument.as.value = &value;
  return argument;
}
inline ob_argument buffer_at(ob_buffer buffer, std::uint64_t offset_bytes = 0,
                             std::uint64_t extent_bytes = 0) {
  ob_argument argument{};
  argument.kind = OB_ARGUMENT_BUFFER;
  argument.as.place = {buffer, offset_bytes};
  argument.extent_bytes = extent_bytes;
  return argument;
}
inline ob_argument local_of(std::uint32_t bytes) {
  ob_argument argument{};
  argument.kind = OB_ARGUMENT_LOCAL;
  argument.bytes = bytes;
  return argument;
}

inline constexpr std::uint32_t kOne[3] = {1, 1, 1};

/// A local device with a queue. The tests of a device whose libraries are missing are skipped.
class ApiKernelTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const ob_status opened = ob_device_open(GetParam(), nullptr, &device);
    if (opened == OB_UNAVAILABLE || opened == OB_UNSUPPORTED) {
      GTEST_SKIP() << last_error().message;
    }
    ASSERT_TRUE(succeeds(opened));
    ASSERT_TRUE(succeeds(ob_queue_create(device, 0, &queue)));
    ob_device_facts facts{};
    facts.struct_bytes = sizeof facts;
    ASSERT_TRUE(succeeds(ob_device_get_facts(device, &facts)));
    if (facts.kernels == 0) GTEST_SKIP() << "no kernels here (is PoCL installed?)";
  }
  void TearDown() override {
    if (device != nullptr) {
      EXPECT_TRUE(succeeds(ob_device_close(device)));
    }
  }

  ob_module load(const char* source, const char* options = nullptr) const {
    const ob_variant variant{OB_PORTABLE, 0, source, 0, nullptr};
    ob_module module = nullptr;
    EXPECT_TRUE(succeeds(ob_module_load(device, &variant, 1, options, &module)));
    return module;
  }
  ob_kernel kernel(ob_module module, const char* name,
                   const std::vector<ob_argument>& arguments) const {
    ob_kernel made = nullptr;
    EXPECT_TRUE(succeeds(ob_kernel_create(module, name, &made)));
    for (std::uint32_t i = 0; i < arguments.size(); ++i) {
      EXPECT_TRUE(succeeds(ob_kernel_set(made, i, &arguments[i])));
    }
    return made;
  }
  template <class T>
  ob_buffer buffer_of(const std::vector<T>& elements) const {
    ob_buffer made = nullptr;
    const std::uint64_t bytes = elements.size() * sizeof(T);
    EXPECT_TRUE(succeeds(ob_buffer_create(device, bytes, 0, &made)));
    EXPECT_TRUE(succeeds(ob_write(queue, {made, 0}, elements.data(), bytes, OB_CAPTURE)));
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
  static std::string log_of(ob_module module) {
    std::size_t bytes = 0;
    EXPECT_TRUE(succeeds(ob_module_log(module, nullptr, &bytes)));
    std::string text(bytes, 'x');
    EXPECT_TRUE(succeeds(ob_module_log(module, text.data(), &bytes)));
    EXPECT_EQ(text.size(), bytes);
    EXPECT_EQ(text.back(), '\0');
    text.pop_back();
    return text;
  }

  ob_device device = nullptr;
  ob_queue queue = nullptr;
};

}  // namespace ob::test
