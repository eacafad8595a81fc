// Reads the signatures of arbitrary sources. The first byte chooses the language, a line of options
// follows, and then the source. The sanitizers check memory. This target also checks that
// signatures can be used: their sizes and kinds, and that launches are accepted if and only if
// every argument fits.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "device/kernels/launch.hpp"
#include "device/kernels/module.hpp"
#include "device/kernels/signatures.hpp"
#include "fuzz/failure.hpp"
#include "fuzz/word_mutation.hpp"

namespace ob::fuzz {
namespace {

// Words that a mutation of bytes would hardly find.
constexpr std::array<std::string_view, 40> kWords{"__kernel ",
                                                  "void ",
                                                  "__global ",
                                                  "global ",
                                                  "__local ",
                                                  "__constant ",
                                                  "const ",
                                                  "*",
                                                  "(",
                                                  ")",
                                                  ",",
                                                  "{",
                                                  "}",
                                                  ";",
                                                  "\n#if ",
                                                  "\n#else\n",
                                                  "\n#endif\n",
                                                  "\n#define ",
                                                  "\n#undef ",
                                                  "\n#ifdef ",
                                                  "defined",
                                                  "#include",
                                                  "/*",
                                                  "*/",
                                                  "//",
                                                  "\"",
                                                  "\\\n",
                                                  "typedef ",
                                                  "unsigned ",
                                                  "int ",
                                                  "double4 ",
                                                  "size_t ",
                                                  "OB_LOCAL_ARG(",
                                                  "__attribute__((reqd_work_group_size(8,4,1))) ",
                                                  "struct s ",
                                                  "float3 ",
                                                  "T ",
                                                  "&& 1 ",
                                                  "1000000 ",
                                                  "kernel void f(int a) {}"};

void check(const KernelSignature& kernel, bool portable) {
  expect(!kernel.name.empty(), "a kernel has a name");
  expect(kernel.parameters.size() <= kMostKernelArguments, "parameters are counted");
  for (const KernelParameter& parameter : kernel.parameters) {
    expect(!parameter.name.empty() && !parameter.type.empty(), "a parameter has name and type");
    expect(parameter.bytes <= kMostScalarBytes, "no type is larger than 16 doubles");
    const bool scalar = parameter.kind == ParameterKind::scalar;
    expect(!scalar || parameter.bytes > 0, "the size of a number is known");
    expect(scalar != parameter.type.ends_with('*'), "memory is a pointer");
    expect(!parameter.read_only || parameter.kind == ParameterKind::buffer,
           "only a buffer is read only");
    expect(!portable || !scalar || parameter.bytes <= 32, "portable vectors have four elements");
  }
  const auto& group = kernel.required_group;
  expect((group[0] == 0) == (group[1] == 0) && (group[0] == 0) == (group[2] == 0),
         "a demanded group has three extents");
}

// The right arguments are accepted; one that is wrong is refused.
void launch(const KernelSignature& kernel) {
  static constexpr std::array<std::byte, kMostScalarBytes> kValue{};
  std::vector<KernelArgument> arguments;
  for (const KernelParameter& parameter : kernel.parameters) {
    KernelArgument argument;
    argument.kind = parameter.kind;
    argument.bytes = parameter.kind == ParameterKind::buffer ? 0 : std::max(1u, parameter.bytes);
    argument.value = kValue.data();
    arguments.push_back(argument);
  }
  KernelFacts facts{.signature = kernel};
  KernelLaunch launch{ModuleId{1}, kernel.name, {1, 1, 1}, {1, 1, 1}, arguments};
  if (kernel.required_group[0] != 0) {
    launch.group_size = kernel.required_group;
    constexpr std::uint32_t kMost = 1 << 21;
    if (std::any_of(launch.group_size.begin(), launch.group_size.end(),
                    [](std::uint32_t extent) { return extent >= kMost; })) {
      return;
    }
  }
  expect(check_launch(facts, launch).ok(), "the right arguments are accepted");
  for (KernelArgument& argument : arguments) {
    const KernelArgument right = argument;
    argument.kind =
        argument.kind == ParameterKind::scalar ? ParameterKind::local : ParameterKind::scalar;
    expect(!check_launch(facts, launch).ok(), "an argument of another kind is refused");
    argument = right;
    if (argument.kind != ParameterKind::scalar) continue;
    ++argument.bytes;
    expect(!check_launch(facts, launch).ok(), "a number of another size is refused");
    argument = right;
  }
  arguments.emplace_back();
  launch.arguments = arguments;
  expect(!check_launch(facts, launch).ok(), "one more argument is refused");
}

void read(std::string_view input) {
  if (input.empty()) return;
  const bool portable = (input[0] & 1) == 0;
  input.remove_prefix(1);
  const std::size_t end = std::min(input.find('\n'), input.size());
  const auto options = parse_options(input.substr(0, end));
  if (!options.ok()) return;
  input.remove_prefix(std::min(end + 1, input.size()));
  const auto dialect = portable ? kernels::Dialect::portable : kernels::Dialect::opencl;
  const auto signatures = kernels::parse_signatures(input, dialect, *options);
  if (!signatures.ok()) {
    expect(
        signatures.status().code() == Code::build_failed && !signatures.status().message().empty(),
        "a refusal has words");
    return;
  }
  for (const KernelSignature& kernel : *signatures) {
    check(kernel, portable);
    launch(kernel);
  }
  const auto again = kernels::parse_signatures(input, dialect, *options);
  expect(again.ok() && *again == *signatures, "a source has one reading");
}

}  // namespace
}  // namespace ob::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ob::fuzz::read({reinterpret_cast<const char*>(data), size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  return ob::fuzz::insert_word(ob::fuzz::kWords, data, size, max_size, seed);
}
