// The portable sources in front of NVIDIA's compiler, if it is installed. It needs no GPU.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "device/kernels/prelude.hpp"
#include "device/kernels/signatures.hpp"
#include "support/portable_kernels.hpp"

namespace ob::kernels {
namespace {

// The functions of NVRTC. Its headers need not be there.
struct Nvrtc {
  using Program = void*;
  int (*create)(Program*, const char* source, const char* name, int, const char* const*,
                const char* const*);
  int (*compile)(Program, int count, const char* const* options);
  int (*log_size)(Program, std::size_t*);
  int (*log)(Program, char*);
  int (*ptx_size)(Program, std::size_t*);
  int (*ptx)(Program, char*);
  int (*destroy)(Program*);
  int (*version)(int*, int*);
};

const Nvrtc* nvrtc() {
  static Nvrtc table{};
  static const bool opened = [] {
    void* library = nullptr;
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) {
      if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (library == nullptr) return false;
    const auto fill = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    return fill(table.create, "nvrtcCreateProgram") && fill(table.compile, "nvrtcCompileProgram") &&
           fill(table.log_size, "nvrtcGetProgramLogSize") &&
           fill(table.log, "nvrtcGetProgramLog") && fill(table.ptx_size, "nvrtcGetPTXSize") &&
           fill(table.ptx, "nvrtcGetPTX") && fill(table.destroy, "nvrtcDestroyProgram") &&
           fill(table.version, "nvrtcVersion");
  }();
  return opened ? &table : nullptr;
}

struct Compiled {
  std::string ptx;
  std::string log;
};

Compiled compile(const std::string& source, const std::string& architecture) {
  // Letters that the text in front uses itself.
  const std::vector<Definition> definitions{{"T", "8"}, {"V", "-1"}, {"x_", ""}, {"op", "2"}};
  const std::string text = with_prelude(cuda_prelude(), definitions, source);
  const std::string target = "--gpu-architecture=compute_" + architecture;
  std::vector<const char*> options{target.c_str()};
  for (const std::string_view option : cuda_options()) options.push_back(option.data());
  const Nvrtc& compiler = *nvrtc();
  Nvrtc::Program program = nullptr;
  EXPECT_EQ(compiler.create(&program, text.c_str(), "module", 0, nullptr, nullptr), 0);
  const bool ok = compiler.compile(program, static_cast<int>(options.size()), options.data()) == 0;
  Compiled compiled;
  std::size_t bytes = 0;
  EXPECT_EQ(compiler.log_size(program, &bytes), 0);
  compiled.log.resize(bytes);
  EXPECT_EQ(compiler.log(program, compiled.log.data()), 0);
  compiled.log.resize(compiled.log.find('\0'));
  if (ok) {
    EXPECT_EQ(compiler.ptx_size(program, &bytes), 0);
    compiled.ptx.resize(bytes);
    EXPECT_EQ(compiler.ptx(program, compiled.ptx.data()), 0);
  }
  EXPECT_EQ(compiler.destroy(&program), 0);
  return compiled;
}

// Returns the sizes of a kernel's parameters in PTX [bytes].
std::vector<std::uint32_t> parameter_bytes(const std::string& ptx, const std::string& kernel) {
  const std::regex parameter(R"(\.param (?:\.align \d+ )?\.[a-z](\d+)[^,\n]*? )" + kernel +
                             R"(_param_\d+(?:\[(\d+)\])?)");
  const std::size_t begin = ptx.find(".entry " + kernel + "(");
  if (begin == std::string::npos) return {};
  const std::string head = ptx.substr(begin, ptx.find('{', begin) - begin);
  std::vector<std::uint32_t> sizes;
  for (std::sregex_iterator at(head.begin(), head.end(), parameter), end; at != end; ++at) {
    const auto element = static_cast<std::uint32_t>(std::stoul((*at)[1]) / 8);
    const bool array = (*at)[2].matched;
    sizes.push_back(array ? element * static_cast<std::uint32_t>(std::stoul((*at)[2])) : element);
  }
  return sizes;
}

class PortableSource : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (nvrtc() == nullptr) GTEST_SKIP() << "NVRTC is not installed";
  }
};

TEST_P(PortableSource, CompilesWithTheParametersThatOurParserReads) {
  for (const char* const source : ob::test::kPortableKernels) {
    const Compiled compiled = compile(source, GetParam());
    ASSERT_FALSE(compiled.ptx.empty()) << compiled.log << source;
    EXPECT_EQ(compiled.log.find("warning"), std::string::npos) << compiled.log << source;
    const auto signatures = parse_signatures(source, Dialect::portable, cuda_definitions());
    ASSERT_TRUE(signatures.ok()) << signatures.status().message();
    ASSERT_FALSE(signatures->empty());
    for (const KernelSignature& kernel : *signatures) {
      std::vector<std::uint32_t> expected;
      for (const KernelParameter& parameter : kernel.parameters) {
        constexpr std::uint32_t kPointer = 8;
        constexpr std::uint32_t kOffset = 4;
        expected.push_back(parameter.kind == ParameterKind::buffer  ? kPointer
                           : parameter.kind == ParameterKind::local ? kOffset
                                                                    : parameter.bytes);
      }
      EXPECT_EQ(parameter_bytes(compiled.ptx, kernel.name), expected) << kernel.name;
    }
  }
}

TEST_P(PortableSource, IsNotContracted) {
  const Compiled compiled = compile(ob::test::kAxpy, GetParam());
  EXPECT_NE(compiled.ptx.find("mul.rn.f64"), std::string::npos) << compiled.ptx;
  EXPECT_EQ(compiled.ptx.find("fma.rn.f64"), std::string::npos) << compiled.ptx;
}

TEST_P(PortableSource, ErrorsHaveTheLinesOfTheSource) {
  const Compiled compiled =
      compile("__kernel void f(__global int* out) {\n  out[0] = nowhere;\n}\n", GetParam());
  EXPECT_TRUE(compiled.ptx.empty());
  EXPECT_NE(compiled.log.find("module(2)"), std::string::npos) << compiled.log;
}

INSTANTIATE_TEST_SUITE_P(nvrtc, PortableSource, testing::Values("75", "80", "90", "100"),
                         [](const auto& tested) { return std::string("sm_") + tested.param; });

}  // namespace
}  // namespace ob::kernels
