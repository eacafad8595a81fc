#include "device/kernels/prelude.hpp"

namespace ob::kernels {

std::string_view opencl_prelude() noexcept {
  return R"(#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF
#define OB_LOCAL_ARG(type, name) __local type* name
#define OB_LOCAL_BIND(type, name)
#define OB_LOCAL_PTR(type) __local type*
#define make_char2(x, y) ((char2)((x), (y)))
#define make_char4(x, y, z, w) ((char4)((x), (y), (z), (w)))
#define make_uchar2(x, y) ((uchar2)((x), (y)))
#define make_uchar4(x, y, z, w) ((uchar4)((x), (y), (z), (w)))
#define make_short2(x, y) ((short2)((x), (y)))
#define make_short4(x, y, z, w) ((short4)((x), (y), (z), (w)))
#define make_ushort2(x, y) ((ushort2)((x), (y)))
#define make_ushort4(x, y, z, w) ((ushort4)((x), (y), (z), (w)))
#define make_int2(x, y) ((int2)((x), (y)))
#define make_int4(x, y, z, w) ((int4)((x), (y), (z), (w)))
#define make_uint2(x, y) ((uint2)((x), (y)))
#define make_uint4(x, y, z, w) ((uint4)((x), (y), (z), (w)))
#define make_long2(x, y) ((long2)((x), (y)))
#define make_long4(x, y, z, w) ((long4)((x), (y), (z), (w)))
#define make_ulong2(x, y) ((ulong2)((x), (y)))
#define make_ulong4(x, y, z, w) ((ulong4)((x), (y), (z), (w)))
#define make_float2(x, y) ((float2)((x), (y)))
#define make_float4(x, y, z, w) ((float4)((x), (y), (z), (w)))
#define make_double2(x, y) ((double2)((x), (y)))
#define make_double4(x, y, z, w) ((double4)((x), (y), (z), (w)))
#line 1
)";
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

}  // namespace ob::kernels
