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

/// Loads a module with one variant.
ob_module load_module(ob_device device, const char* source, std::int32_t kind = OB_PORTABLE,
                      const char* options = nullptr);
/// Makes a kernel, and sets its arguments.
ob_kernel make_kernel(ob_module module, const char* name,
                      const std::vector<ob_argument>& arguments);

/// The places of kernels: the names of local devices, and of ways to a daemon with the cpu backend.
/// TLS is one of them if the build makes keys.
inline constexpr const char* kKernelPlaces[] = {
    "local:cpu",  "local:opencl", "local:cuda", "daemon:shm", "daemon:tcp",
#ifdef OB_TEST_KEYS
    "daemon:tls",
#endif
};
std::string kernel_place_name(const testing::TestParamInfo<const char*>& info);

/// Starts a daemon whose sessions run kernels in processes of their own.
std::unique_ptr<InProcessDaemon> kernel_daemon(Transport transport, daemon::ServerConfig config,
                                               double longest_kernel_s = 60);

/// A device that runs kernels, with a queue. The tests of a device whose libraries are missing are
/// skipped.
class ApiKernelTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override;
  virtual bool needs_kernels() const { return true; }
  void TearDown() override {
    if (device != nullptr) {
      EXPECT_TRUE(succeeds(ob_device_close(device)));
    }
  }

  ob_module load(const char* source, const char* options = nullptr) const {
    return load_module(device, source, OB_PORTABLE, options);
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

  std::unique_ptr<InProcessDaemon> daemon;
  ob_device device = nullptr;
  ob_queue queue = nullptr;
  bool runs_kernels = false;
};

}  // namespace ob::test
