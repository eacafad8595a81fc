// The text in front of portable sources, and of those in OpenCL C, for an OpenCL compiler.
#ifdef cl_khr_fp64
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
