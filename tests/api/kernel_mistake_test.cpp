// Wrong arguments of the functions of modules and kernels. They are refused with a sentence, and
// outputs stay as they were.

#include "api/kernel_fixture.hpp"

namespace ob::test {
namespace {

constexpr const char* kFill =
    "__kernel void fill(__global int* out, int value, OB_LOCAL_ARG(int, unused)) {\n"
    "  out[get_global_id(0)] = value;\n"
    "}\n";
constexpr const char* kNothing = "__kernel void nothing() {}";

class ApiKernelMistakeTest : public ApiKernelTest {};

TEST_P(ApiKernelMistakeTest, ModulesAreChecked) {
  ob_module module = nullptr;
  ob_variant variant{OB_PORTABLE, 0, kFill, 0, nullptr};
  const auto load_of = [&](std::size_t count = 1, const char* options = nullptr) {
    return ob_module_load(device, &variant, count, options, &module);
  };
  EXPECT_TRUE(fails(load_of(0), OB_INVALID_ARGUMENT, "variants"));
  EXPECT_TRUE(fails(load_of(17), OB_INVALID_ARGUMENT, "1 to 16"));
  EXPECT_TRUE(fails(load_of(1, "-O3"), OB_INVALID_ARGUMENT, "-D NAME"));
  EXPECT_TRUE(
      fails(ob_module_load(device, nullptr, 1, nullptr, &module), OB_INVALID_ARGUMENT, "NULL"));
  EXPECT_TRUE(
      fails(ob_module_load(device, &variant, 1, nullptr, nullptr), OB_INVALID_ARGUMENT, "NULL"));
  variant.kind = 6;
  EXPECT_TRUE(fails(load_of(), OB_INVALID_ARGUMENT, "OB_PORTABLE"));
  variant.kind = OB_PORTABLE;
  variant.flags = 1;
  EXPECT_TRUE(fails(load_of(), OB_INVALID_ARGUMENT, "flags"));
  variant.flags = 0;
  variant.bytes = nullptr;
  EXPECT_TRUE(fails(load_of(), OB_INVALID_ARGUMENT, "NULL"));
  const std::string large((1 << 20) + 1, ' ');
  variant.bytes = large.c_str();
  EXPECT_TRUE(fails(load_of(), OB_INVALID_ARGUMENT, "1048576"));
  variant.count = std::size_t{1} << 62;  // never read
  EXPECT_TRUE(fails(load_of(), OB_INVALID_ARGUMENT, "64 MiB"));
  variant = {OB_PTX, 0, "ptx", 0, nullptr};
  ASSERT_TRUE(succeeds(load_of()));
  EXPECT_TRUE(fails(ob_module_wait(module, OB_FOREVER), OB_UNSUPPORTED, "portable"));
  EXPECT_TRUE(fails(ob_module_wait(module, -2), OB_INVALID_ARGUMENT, "negative"));
  EXPECT_TRUE(fails(ob_module_log(module, nullptr, nullptr), OB_INVALID_ARGUMENT, "NULL"));
  EXPECT_TRUE(fails(ob_module_wait(nullptr, 0), OB_INVALID_ARGUMENT, "module"));
  EXPECT_TRUE(fails(ob_module_unload(nullptr), OB_INVALID_ARGUMENT, "module"));
}

TEST_P(ApiKernelMistakeTest, ArgumentsAreCheckedWhenTheyAreSet) {
  const ob_module module = load(kFill);
  ASSERT_TRUE(succeeds(ob_module_wait(module, OB_FOREVER)));
  const ob_buffer out = buffer_of(std::vector<int>(4, -1));
  ob_kernel fill = nullptr;
  EXPECT_TRUE(fails(ob_kernel_create(module, "full", &fill), OB_INVALID_ARGUMENT, "fill"));
  EXPECT_TRUE(fails(ob_kernel_create(module, "", &fill), OB_INVALID_ARGUMENT, "name"));
  EXPECT_TRUE(fails(ob_kernel_create(module, "fill", nullptr), OB_INVALID_ARGUMENT, "NULL"));
  EXPECT_EQ(fill, nullptr);
  ASSERT_TRUE(succeeds(ob_kernel_create(module, "fill", &fill)));
  const auto refused = [&](std::uint32_t index, const ob_argument& argument, const char* words) {
    return fails(ob_kernel_set(fill, index, &argument), OB_INVALID_ARGUMENT, words);
  };
  EXPECT_TRUE(refused(0, number_of(1), "is a buffer, not a number"));
  EXPECT_TRUE(refused(1, buffer_at(out), "is a number, not a buffer"));
  EXPECT_TRUE(refused(1, number_of(1.0), "4 bytes, not 8"));
  EXPECT_TRUE(refused(3, number_of(1), "no argument 3"));
  EXPECT_TRUE(refused(64, number_of(1), "64 at most"));
  EXPECT_TRUE(refused(0, buffer_at(out, 0, 17), "reach beyond"));
  EXPECT_TRUE(refused(0, buffer_at(out, 16), "reach beyond"));
  EXPECT_TRUE(refused(0, buffer_at(out, 2), "multiple"));
  EXPECT_TRUE(refused(0, buffer_at(nullptr), "buffer"));
  EXPECT_TRUE(refused(2, local_of(0), "0 bytes"));
  const int one = 1;
  ob_argument argument = number_of(one);
  argument.kind = 4;
  EXPECT_TRUE(refused(1, argument, "OB_ARGUMENT_SCALAR"));
  argument = number_of(one);
  argument.as.value = nullptr;
  EXPECT_TRUE(refused(1, argument, "or none"));
  argument.bytes = 129;
  EXPECT_TRUE(refused(1, argument, "1 to 128"));
  argument = buffer_at(out);
  argument.access = 4;
  EXPECT_TRUE(refused(0, argument, "flags"));
  argument.access = OB_ACCESS_READ | OB_ACCESS_WRITE;
  argument.reserved = 1;
  EXPECT_TRUE(refused(0, argument, "flags"));
  EXPECT_TRUE(fails(ob_kernel_set(fill, 0, nullptr), OB_INVALID_ARGUMENT, "NULL"));
  EXPECT_TRUE(fails(ob_kernel_set(nullptr, 0, &argument), OB_INVALID_ARGUMENT, "kernel"));
}

TEST_P(ApiKernelMistakeTest, ParametersCanBeAskedFor) {
  const ob_module module = load(kFill);
  ASSERT_TRUE(succeeds(ob_module_wait(module, OB_FOREVER)));
  const ob_kernel fill = make_kernel(module, "fill", {});
  ob_parameter parameter{};
  EXPECT_TRUE(fails(ob_kernel_get_parameter(fill, 0, &parameter), OB_INVALID_ARGUMENT, "sizeof"));
  parameter.struct_bytes = sizeof parameter;
  const struct {
    std::int32_t kind;
    const char *type, *name;
  } expected[] = {{OB_ARGUMENT_BUFFER, "int*", "out"},
                  {OB_ARGUMENT_SCALAR, "int", "value"},
                  {OB_ARGUMENT_LOCAL, "int*", "unused"}};
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(succeeds(ob_kernel_get_parameter(fill, i, &parameter)));
    EXPECT_EQ(parameter.kind, expected[i].kind);
    EXPECT_STREQ(parameter.type, expected[i].type);
    EXPECT_STREQ(parameter.name, expected[i].name);
    EXPECT_EQ(parameter.bytes, 4u);
    EXPECT_EQ(parameter.read_only, 0u);
    EXPECT_EQ(parameter.count, 3u);
  }
  EXPECT_TRUE(fails(ob_kernel_get_parameter(fill, 3, &parameter), OB_INVALID_ARGUMENT, "it has 3"));
  const ob_module other = load(kNothing);
  ASSERT_TRUE(succeeds(ob_module_wait(other, OB_FOREVER)));
  ASSERT_TRUE(succeeds(ob_kernel_get_parameter(make_kernel(other, "nothing", {}), 0, &parameter)));
  EXPECT_EQ(parameter.count, 0u);
}

TEST_P(ApiKernelMistakeTest, RunsAreChecked) {
  const ob_module module = load(kFill);
  ASSERT_TRUE(succeeds(ob_module_wait(module, OB_FOREVER)));
  const ob_buffer out = buffer_of(std::vector<int>(4, -1));
  const ob_kernel fill = make_kernel(module, "fill", {buffer_at(out)});
  EXPECT_TRUE(fails(ob_kernel_run(fill, queue, kOne, kOne), OB_INVALID_ARGUMENT, "it takes 3"));
  const ob_argument last = local_of(16);
  ASSERT_TRUE(succeeds(ob_kernel_set(fill, 2, &last)));
  EXPECT_TRUE(fails(ob_kernel_run(fill, queue, kOne, kOne), OB_INVALID_ARGUMENT, "argument 1"));
  const int three = 3;
  const ob_argument value = number_of(three);
  ASSERT_TRUE(succeeds(ob_kernel_set(fill, 1, &value)));
  const std::uint32_t zero[3] = {1, 1, 0};
  EXPECT_TRUE(fails(ob_kernel_run(fill, queue, zero, kOne), OB_INVALID_ARGUMENT, "nothing"));
  EXPECT_TRUE(fails(ob_kernel_run(fill, queue, kOne, zero), OB_INVALID_ARGUMENT, "nothing"));
  const std::uint32_t large[3] = {1u << 20, 1, 1};
  EXPECT_TRUE(fails(ob_kernel_run(fill, queue, kOne, large), OB_INVALID_ARGUMENT, "groups"));
  EXPECT_TRUE(fails(ob_kernel_run(fill, queue, nullptr, kOne), OB_INVALID_ARGUMENT, "NULL"));
  EXPECT_TRUE(fails(ob_kernel_run(fill, nullptr, kOne, kOne), OB_INVALID_ARGUMENT, "queue"));
  EXPECT_EQ(contents<int>(out, 4), std::vector<int>(4, -1));  // nothing of it ran
  ASSERT_TRUE(succeeds(ob_kernel_run(fill, queue, kOne, kOne)));
  EXPECT_EQ(contents<int>(out, 4), (std::vector<int>{3, -1, -1, -1}));
  ASSERT_TRUE(succeeds(ob_buffer_destroy(out)));
  EXPECT_TRUE(fails(ob_kernel_run(fill, queue, kOne, kOne), OB_INVALID_ARGUMENT, "destroyed"));
  EXPECT_TRUE(synchronized());
}

TEST_P(ApiKernelMistakeTest, ObjectsOfTwoDevicesDoNotMix) {
  ob_device other = nullptr;
  ob_queue other_queue = nullptr;
  ob_buffer other_buffer = nullptr;
  ASSERT_TRUE(succeeds(ob_device_open("local:null", nullptr, &other)));
  ASSERT_TRUE(succeeds(ob_queue_create(other, 0, &other_queue)));
  ASSERT_TRUE(succeeds(ob_buffer_create(other, 64, 0, &other_buffer)));
  const ob_kernel nothing = make_kernel(load(kNothing), "nothing", {});
  EXPECT_TRUE(fails(ob_kernel_run(nothing, other_queue, kOne, kOne), OB_INVALID_ARGUMENT, "two"));
  const ob_argument argument = buffer_at(other_buffer);
  EXPECT_TRUE(fails(ob_kernel_set(nothing, 0, &argument), OB_INVALID_ARGUMENT, "two devices"));
  EXPECT_TRUE(succeeds(ob_kernel_run(nothing, queue, kOne, kOne)));
  EXPECT_TRUE(synchronized());
  ASSERT_TRUE(succeeds(ob_device_close(other)));
}

TEST_P(ApiKernelMistakeTest, ACloseEndsModulesAndKernels) {
  const ob_module module = load(kNothing);
  const ob_kernel nothing = make_kernel(module, "nothing", {});
  ASSERT_TRUE(succeeds(ob_kernel_run(nothing, queue, kOne, kOne)));
  ASSERT_TRUE(succeeds(ob_device_close(device)));
  EXPECT_TRUE(fails(ob_module_wait(module, 0), OB_INVALID_ARGUMENT, "closed"));
  EXPECT_TRUE(fails(ob_kernel_destroy(nothing), OB_INVALID_ARGUMENT, "closed"));
  device = nullptr;
}

INSTANTIATE_TEST_SUITE_P(on, ApiKernelMistakeTest, testing::ValuesIn(kKernelPlaces),
                         kernel_place_name);

class ApiNoKernelsTest : public testing::TestWithParam<Where> {};

// Devices that run no kernels say so where a module is loaded.
TEST_P(ApiNoKernelsTest, DevicesBehindADaemonSaySo) {
  const auto daemon = daemon_at(GetParam());
  ob_device device = nullptr;
  ob_module module = nullptr;
  const ob_variant variant{OB_PORTABLE, 0, kNothing, 0, nullptr};
  ASSERT_TRUE(succeeds(ob_device_open(device_name(daemon).c_str(), nullptr, &device)));
  ob_device_facts facts{};
  facts.struct_bytes = sizeof facts;
  ASSERT_TRUE(succeeds(ob_device_get_facts(device, &facts)));
  EXPECT_EQ(facts.kernels, 0u);
  EXPECT_TRUE(fails(ob_module_load(device, &variant, 1, nullptr, &module), OB_UNSUPPORTED,
                    "runs no kernels"));
  EXPECT_EQ(module, nullptr);
  ASSERT_TRUE(succeeds(ob_device_close(device)));
}

INSTANTIATE_TEST_SUITE_P(on, ApiNoKernelsTest,
                         testing::Values(Where::cpu_over_shm, Where::cpu_over_tcp), name_of);

}  // namespace
}  // namespace ob::test
