#include "device/kernels/prelude.hpp"

#include <array>

namespace ob::kernels {

std::string with_prelude(std::string_view prelude, const std::vector<Definition>& definitions,
                         std::string_view source) {
  std::string text(prelude);
  for (const Definition& definition : definitions) {
    text.append("#define ").append(definition.name).append(" ");
    text.append(definition.value).append("\n");
  }
  return text.append("#line 1 \"module\"\n").append(source);
}

std::vector<Definition> opencl_definitions(bool has_fp64) {
  std::vector<Definition> definitions{{"__OPENCL_VERSION__", "120"},
                                      {"__OPENCL_C_VERSION__", "120"},
                                      {"CL_VERSION_1_0", "100"},
                                      {"CL_VERSION_1_1", "110"},
                                      {"CL_VERSION_1_2", "120"}};
  if (has_fp64) definitions.push_back({"cl_khr_fp64", "1"});
  return definitions;
}

std::span<const std::string_view> cuda_options() noexcept {
  static constexpr std::array<std::string_view, 4> kOptions{
      "--std=c++17", "--fmad=false", "--device-as-default-execution-space", "--diag-suppress=1444"};
  return kOptions;
}

std::vector<Definition> cuda_definitions() {
  return {{"__CUDACC__", "1"}, {"__CUDACC_RTC__", "1"}, {"cl_khr_fp64", "1"}};
}

}  // namespace ob::kernels
