// Kernels of programs on an OpenCL device: its compiler's view of their parameters, and places in
// buffers that it does not take.

#include <CL/cl.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "backend/opencl/backend.hpp"
#include "backend/opencl/kernel_program.hpp"
#include "device/kernels/launch.hpp"
#include "support/portable_kernels.hpp"

namespace ob::opencl {
namespace {

// OpenCL C that is not portable.
constexpr const char* kMore = R"(
typedef struct { int a; float b; } cell;
typedef unsigned long count;
kernel void more(global cell* c, local double* t, constant float3* f, const count n, uchar16 v,
                 unsigned short int s, volatile __global const int* restrict p, long int l) {}
)";

class KernelSignatureTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto all = Accelerator::all();
    if (!all.ok()) GTEST_SKIP() << all.status().message();
    accelerator = &(*all.value())[0];
    cl = Cl::get().value();
    void* const library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    ask = reinterpret_cast<decltype(ask)>(dlsym(library, "clGetKernelArgInfo"));
    ASSERT_NE(ask, nullptr);
  }

  template <class Value>
  Value told(cl_kernel kernel, std::size_t index, cl_kernel_arg_info what) const {
    Value value{};
    EXPECT_EQ(ask(kernel, static_cast<cl_uint>(index), what, sizeof value, &value, nullptr),
              CL_SUCCESS);
    return value;
  }
  std::string text(cl_kernel kernel, std::size_t index, cl_kernel_arg_info what) const {
    char value[256] = {};
    EXPECT_EQ(ask(kernel, static_cast<cl_uint>(index), what, sizeof value - 1, value, nullptr),
              CL_SUCCESS);
    return value;
  }
  void compare(cl_kernel kernel, const KernelSignature& signature) const {
    for (std::size_t i = 0; i < signature.parameters.size(); ++i) {
      const KernelParameter& parameter = signature.parameters[i];
      SCOPED_TRACE(signature.name + ", " + parameter.name);
      const auto space =
          told<cl_kernel_arg_address_qualifier>(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER);
      EXPECT_EQ(parameter.kind == ParameterKind::scalar, space == CL_KERNEL_ARG_ADDRESS_PRIVATE);
      EXPECT_EQ(parameter.kind == ParameterKind::local, space == CL_KERNEL_ARG_ADDRESS_LOCAL);
      const auto qualifiers =
          told<cl_kernel_arg_type_qualifier>(kernel, i, CL_KERNEL_ARG_TYPE_QUALIFIER);
      const bool constant =
          space == CL_KERNEL_ARG_ADDRESS_CONSTANT || (qualifiers & CL_KERNEL_ARG_TYPE_CONST) != 0;
      if (parameter.kind == ParameterKind::buffer) {
        EXPECT_EQ(parameter.read_only, constant);
      }
      EXPECT_EQ(parameter.name, text(kernel, i, CL_KERNEL_ARG_NAME));
      const std::string type = text(kernel, i, CL_KERNEL_ARG_TYPE_NAME);
      // The compiler says the name of a typedef, where our parser says the type.
      if (type != "count") {
        EXPECT_EQ(parameter.type, type);
      }
    }
  }

  const Cl* cl = nullptr;
  const Accelerator* accelerator = nullptr;
  decltype(&::clGetKernelArgInfo) ask = nullptr;
};

TEST_F(KernelSignatureTest, OurParserReadsWhatTheCompilerReads) {
  std::vector<ModuleVariant> modules;
  for (const char* const source : ob::test::kPortableKernels) {
    modules.push_back({SourceKind::portable, source, ""});
  }
  modules.push_back({SourceKind::opencl, kMore, ""});
  for (const ModuleVariant& module : modules) {
    std::string log;
    const auto compiled = ClKernelProgram::compile(*cl, *accelerator, module, {}, log);
    ASSERT_TRUE(compiled.ok()) << compiled.status().message() << log;
    for (const KernelFacts& kernel : compiled->kernels) {
      cl_int result = CL_SUCCESS;
      const cl_kernel made =
          cl->clCreateKernel(compiled->program, kernel.signature.name.c_str(), &result);
      ASSERT_EQ(result, CL_SUCCESS);
      compare(made, kernel.signature);
      (void)cl->clReleaseKernel(made);
    }
    (void)cl->clReleaseProgram(compiled->program);
  }
}

TEST(KernelPlaces, ThatASubBufferCannotHaveAreRefused) {
  auto made = create({.memory_bytes = 1 << 24, .measure = false, .kernels = true});
  if (!made.ok() && made.status().code() == Code::unavailable) GTEST_SKIP();
  ASSERT_TRUE(made.ok()) << made.status().message();
  Device& device = **made;
  const QueueId queue = *device.create_queue();
  const BufferId buffer = *device.allocate(1 << 16);
  const ModuleId module = *device.load_module(
      {{{SourceKind::portable, "__kernel void f(__global int* x) { x[0] = 1; }", ""}}, ""}, {});
  const auto run = [&](std::uint64_t offset_bytes) {
    const KernelArgument argument{ParameterKind::buffer, 0, nullptr, {buffer, offset_bytes}, 4};
    const std::span<const KernelArgument> arguments(&argument, 1);
    EXPECT_TRUE(device.launch(queue, {module, "f", {1, 1, 1}, {1, 1, 1}, arguments}).ok());
    return device.synchronize(queue).status;
  };
  EXPECT_TRUE(run(0).ok());
  EXPECT_TRUE(run(1 << 15).ok());
  const Status refused = run(4);
  EXPECT_EQ(refused.code(), Code::unsupported);
  EXPECT_NE(refused.message().find("multiple of"), std::string::npos) << refused.message();
  EXPECT_TRUE(run(0).ok());
}

TEST(Kernels, AreRefusedUnlessTheConfigurationPermitsThem) {
  const auto made = create({.memory_bytes = 1 << 24, .measure = false});
  if (!made.ok() && made.status().code() == Code::unavailable) GTEST_SKIP();
  ASSERT_TRUE(made.ok()) << made.status().message();
  Device& device = **made;
  EXPECT_EQ(device.kernel_kinds(), 0u);
  for (const Status& refused :
       {device.runs_kernels(),
        device.load_module({{{SourceKind::portable, "__kernel void f() {}", ""}}, ""}, {})
            .status()}) {
    EXPECT_EQ(refused.code(), Code::unsupported);
    EXPECT_NE(refused.message().find("--kernels-in-process"), std::string::npos);
  }
}

}  // namespace
}  // namespace ob::opencl
