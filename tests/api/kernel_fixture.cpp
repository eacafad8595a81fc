#include "api/kernel_fixture.hpp"

#include "backend/cpu/backend.hpp"

namespace ob::test {

ob_module load_module(ob_device device, const char* source, std::int32_t kind,
                      const char* options) {
  const ob_variant variant{kind, 0, source, 0, nullptr};
  ob_module module = nullptr;
  EXPECT_TRUE(succeeds(ob_module_load(device, &variant, 1, options, &module)));
  return module;
}

ob_kernel make_kernel(ob_module module, const char* name,
                      const std::vector<ob_argument>& arguments) {
  ob_kernel made = nullptr;
  EXPECT_TRUE(succeeds(ob_kernel_create(module, name, &made)));
  for (std::uint32_t i = 0; i < arguments.size(); ++i) {
    EXPECT_TRUE(succeeds(ob_kernel_set(made, i, &arguments[i])));
  }
  return made;
}

std::string kernel_place_name(const testing::TestParamInfo<const char*>& info) {
  const std::string place = info.param;
  return place.substr(place.find(':') + 1);
}

std::unique_ptr<InProcessDaemon> kernel_daemon(Transport transport, daemon::ServerConfig config,
                                               double longest_kernel_s) {
  auto device = require(cpu::create({.memory_bytes = 1 << 28,
                                     .threads = 1,
                                     .executor = OUTBOARD_EXECUTOR,
                                     .gflops_double = 10,
                                     .isolated_kernels = true,
                                     .longest_kernel_s = longest_kernel_s}));
  return std::make_unique<InProcessDaemon>(transport, one(std::move(device)), std::move(config));
}

void ApiKernelTest::SetUp() {
  std::string where = GetParam();
  ob_device_options options{};
  options.struct_bytes = sizeof options;
  if (where.starts_with("daemon:")) {
    const bool key = where == "daemon:tls";
    daemon::ServerConfig config = key ? with_key() : daemon::ServerConfig();
    config.kernels.without_key = daemon::KernelRights::native;
    daemon =
        kernel_daemon(where == "daemon:shm" ? Transport::shm : Transport::tcp, std::move(config));
    if (key) options.key_folder = options_with_key("kernels_native").key_folder;
    where = daemon->address();
  }
  const ob_status opened = ob_device_open(where.c_str(), &options, &device);
  if (opened == OB_UNAVAILABLE || opened == OB_UNSUPPORTED) {
    GTEST_SKIP() << last_error().message;
  }
  ASSERT_TRUE(succeeds(opened));
  ASSERT_TRUE(succeeds(ob_queue_create(device, 0, &queue)));
  ob_device_facts facts{};
  facts.struct_bytes = sizeof facts;
  ASSERT_TRUE(succeeds(ob_device_get_facts(device, &facts)));
  runs_kernels = facts.kernels != 0;
  if (!runs_kernels && needs_kernels()) GTEST_SKIP() << "no kernels here (is PoCL installed?)";
}

}  // namespace ob::test
