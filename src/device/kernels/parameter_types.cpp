#include "device/kernels/parameter_types.hpp"

#include <array>

namespace ob::kernels {
namespace {

struct Scalar {
  std::string_view name;
  std::uint32_t bytes;
};
constexpr std::array<Scalar, 11> kScalars{{{"char", 1},
                                           {"uchar", 1},
                                           {"short", 2},
                                           {"ushort", 2},
                                           {"half", 2},
                                           {"int", 4},
                                           {"uint", 4},
                                           {"float", 4},
                                           {"long", 8},
                                           {"ulong", 8},
                                           {"double", 8}}};

}  // namespace

ParameterType builtin_type(std::string_view name) {
  for (const Scalar& scalar : kScalars) {
    if (!name.starts_with(scalar.name)) continue;
    const std::string_view width = name.substr(scalar.name.size());
    std::uint32_t elements = 0;
    if (width.empty()) elements = 1;
    if (width == "2") elements = 2;
    if (width == "3") elements = 3;
    if (width == "4") elements = 4;
    if (width == "8") elements = 8;
    if (width == "16") elements = 16;
    if (elements == 0) continue;
    // A vector of three has the size of one of four (OpenCL C 1.2, 6.1.5).
    return {std::string(name), scalar.bytes * (elements == 3 ? 4 : elements), elements};
  }
  return {std::string(name), 0, 1};
}

}  // namespace ob::kernels
