// The rights to kernels behind a daemon: what certificates, settings and sockets permit.

#include "api/kernel_fixture.hpp"

namespace ob::test {
namespace {

constexpr const char* kNine = "__kernel void nine(__global int* out) { out[0] = 9; }";

struct Asked {
  ob_status status = OB_OK;
  std::string message;
  std::uint32_t kernels = 0;  // of the device's facts
};

// Opens a device and runs a kernel of one variant.
Asked ask(const InProcessDaemon& daemon, std::int32_t kind, const char* key = nullptr) {
  ob_device_options options{};
  options.struct_bytes = sizeof options;
  if (key != nullptr) options.key_folder = options_with_key(key).key_folder;
  ob_device device = nullptr;
  EXPECT_TRUE(succeeds(ob_device_open(daemon.address().c_str(), &options, &device)));
  ob_device_facts facts{};
  facts.struct_bytes = sizeof facts;
  EXPECT_TRUE(succeeds(ob_device_get_facts(device, &facts)));
  Asked asked{OB_OK, {}, facts.kernels};
  ob_queue queue = nullptr;
  ob_buffer out = nullptr;
  ob_module module = nullptr;
  ob_kernel nine = nullptr;
  EXPECT_TRUE(succeeds(ob_queue_create(device, 0, &queue)));
  EXPECT_TRUE(succeeds(ob_buffer_create(device, 4, 0, &out)));
  const ob_variant variant{kind, 0, kNine, 0, nullptr};
  asked.status = ob_module_load(device, &variant, 1, nullptr, &module);
  if (asked.status == OB_OK) asked.status = ob_module_wait(module, OB_FOREVER);
  if (asked.status != OB_OK) {
    asked.message = last_error().message;
  } else {
    const ob_argument argument = buffer_at(out);
    int number = 0;
    EXPECT_TRUE(succeeds(ob_kernel_create(module, "nine", &nine)));
    EXPECT_TRUE(succeeds(ob_kernel_set(nine, 0, &argument)));
    EXPECT_TRUE(succeeds(ob_kernel_run(nine, queue, kOne, kOne)));
    EXPECT_TRUE(succeeds(ob_read(queue, &number, {out, 0}, 4, OB_WAIT)));
    EXPECT_EQ(number, 9);
  }
  EXPECT_TRUE(succeeds(ob_device_close(device)));
  return asked;
}

class KernelRightsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto daemon = kernel_daemon(Transport::shm, {});
    const Asked asked = ask(*daemon, OB_PORTABLE);
    if (asked.kernels == 0) GTEST_SKIP() << asked.message;
  }
  static void expect_may(const Asked& asked) {
    EXPECT_EQ(asked.status, OB_OK) << asked.message;
    EXPECT_EQ(asked.kernels, 1u);
  }
  static void expect_refused(const Asked& asked, const std::string& words) {
    EXPECT_EQ(asked.status, OB_UNSUPPORTED) << asked.message;
    EXPECT_NE(asked.message.find(words), std::string::npos) << asked.message;
  }
};

TEST_F(KernelRightsTest, WithoutAKeyTheSettingsDecide) {
  daemon::ServerConfig config;
  const auto none = kernel_daemon(Transport::tcp, config);
  const Asked refused = ask(*none, OB_PORTABLE);
  expect_refused(refused, "nobody proves who runs kernels");
  EXPECT_EQ(refused.kernels, 0u);
  config.kernels.without_key = daemon::KernelRights::portable;
  const auto portable = kernel_daemon(Transport::tcp, config);
  expect_may(ask(*portable, OB_PORTABLE));
  expect_refused(ask(*portable, OB_OPENCL), "takes none of the module's variants");
}

TEST_F(KernelRightsTest, TheDaemonMayAllowLess) {
  daemon::ServerConfig config;
  config.kernels.most = daemon::KernelRights::off;
  const auto off = kernel_daemon(Transport::shm, config);
  expect_refused(ask(*off, OB_PORTABLE), "--kernels off");
  config.kernels.most = daemon::KernelRights::portable;
  const auto portable = kernel_daemon(Transport::shm, config);
  expect_may(ask(*portable, OB_PORTABLE));
  expect_refused(ask(*portable, OB_OPENCL), "takes none of the module's variants");
}

#ifdef OB_TEST_KEYS
TEST_F(KernelRightsTest, WithKeysTheCertificateDecides) {
  daemon::ServerConfig config = with_key();
  config.kernels.without_key = daemon::KernelRights::native;  // does not hold for clients with keys
  const auto daemon = kernel_daemon(Transport::tcp, std::move(config));
  for (const char* key : {"good", "kernels_all"}) {  // no right, and one that nobody knows
    const Asked refused = ask(*daemon, OB_PORTABLE, key);
    expect_refused(refused,
                   "the client's key gives no right to kernels; make one with `outboard "
                   "key add client NAME --kernels portable`");
    EXPECT_EQ(refused.kernels, 0u);
  }
  expect_may(ask(*daemon, OB_PORTABLE, "kernels_portable"));
  expect_refused(ask(*daemon, OB_OPENCL, "kernels_portable"),
                 "takes none of the module's variants");
  expect_may(ask(*daemon, OB_PORTABLE, "kernels_native"));
  expect_may(ask(*daemon, OB_OPENCL, "kernels_native"));
}

TEST_F(KernelRightsTest, ACertificateGivesNoMoreThanTheDaemonAllows) {
  daemon::ServerConfig config = with_key();
  config.kernels.most = daemon::KernelRights::portable;
  const auto daemon = kernel_daemon(Transport::tcp, std::move(config));
  expect_may(ask(*daemon, OB_PORTABLE, "kernels_native"));
  expect_refused(ask(*daemon, OB_OPENCL, "kernels_native"), "takes none of the module's variants");
}
#endif

}  // namespace
}  // namespace ob::test
