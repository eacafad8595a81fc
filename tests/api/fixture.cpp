#include "api/fixture.hpp"

#include <array>
#include <set>

#include "backend/cpu/backend.hpp"
#include "transport/security.hpp"

namespace ob::test {

std::string name_of(const testing::TestParamInfo<Where>& info) {
  switch (info.param) {
    case Where::local_cpu: return "local_cpu";
    case Where::cpu_over_shm: return "cpu_over_shm";
    case Where::cpu_over_tcp: return "cpu_over_tcp";
    default: return "cpu_over_tls";
  }
}

#ifdef OB_TEST_KEYS
daemon::ServerConfig with_key() {
  daemon::ServerConfig config;
  config.security =
      require(transport::load_key(OB_TEST_KEYS "/good", transport::Side::daemon, false));
  return config;
}

ob_device_options options_with_key(const std::string& name) {
  static std::set<std::string> folders;  // options have pointers
  ob_device_options options{};
  options.struct_bytes = sizeof options;
  options.key_folder = folders.insert(OB_TEST_KEYS "/" + name).first->c_str();
  return options;
}
#else
daemon::ServerConfig with_key() { return {}; }
ob_device_options options_with_key(const std::string& /*name*/) {
  ob_device_options options{};
  options.struct_bytes = sizeof options;
  return options;
}
#endif

std::unique_ptr<InProcessDaemon> daemon_at(Where where) {
  if (where == Where::local_cpu) return nullptr;
  // A rate that is given need not be measured for each daemon.
  auto device = require(cpu::create({.memory_bytes = 1 << 28, .threads = 1, .gflops_double = 10}));
  return std::make_unique<InProcessDaemon>(
      where == Where::cpu_over_shm ? Transport::shm : Transport::tcp, one(std::move(device)),
      where == Where::cpu_over_tls ? with_key() : daemon::ServerConfig());
}

std::string device_name(const std::unique_ptr<InProcessDaemon>& daemon) {
  return daemon == nullptr ? "local:cpu" : daemon->address();
}

ob_status open_at(Where where, const std::unique_ptr<InProcessDaemon>& daemon, ob_device* device) {
  const ob_device_options options = options_with_key();
  return ob_device_open(device_name(daemon).c_str(),
                        where == Where::cpu_over_tls ? &options : nullptr, device);
}

ob_error last_error() {
  ob_error error{};
  error.struct_bytes = sizeof error;
  EXPECT_EQ(ob_last_error(&error), OB_OK);
  return error;
}

testing::AssertionResult succeeds(ob_status status) {
  if (status == OB_OK) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "code " << status << ": " << last_error().message;
}

testing::AssertionResult fails(ob_status status, ob_status code, const std::string& words) {
  if (status == OB_OK) return testing::AssertionFailure() << "it succeeded";
  const ob_error error = last_error();
  if (status != code || error.code != code) {
    return testing::AssertionFailure()
           << "code " << status << " (kept: " << error.code << "): " << error.message;
  }
  if (std::string(error.message).find(words) == std::string::npos) {
    return testing::AssertionFailure() << "the message is: " << error.message;
  }
  if (error.origin == OB_FROM_NOBODY) return testing::AssertionFailure() << "there is no origin";
  return testing::AssertionSuccess();
}

void ApiTest::SetUp() {
  daemon = daemon_at(GetParam());
  ASSERT_TRUE(succeeds(open_at(GetParam(), daemon, &device)));
  ASSERT_TRUE(succeeds(ob_queue_create(device, 0, &queue)));
}

void ApiTest::TearDown() {
  if (device != nullptr) {
    EXPECT_TRUE(succeeds(ob_device_close(device)));
  }
}

ob_buffer ApiTest::buffer(std::uint64_t bytes, std::uint32_t flags) const {
  ob_buffer made = nullptr;
  EXPECT_TRUE(succeeds(ob_buffer_create(device, bytes, flags, &made)));
  return made;
}

ob_status multiply(ob_queue queue, std::int64_t n, ob_buffer a, ob_buffer b, ob_buffer c) {
  const std::array operands{flag('N'), flag('N'), number(n), number(n), number(n),
                            real(1),   at(a, n),  at(b, n),  real(0),   at(c, n)};
  return ob_call(queue, "dgemm", operands.data(), operands.size());
}

}  // namespace ob::test
