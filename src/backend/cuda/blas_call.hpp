#pragma once
// Rows of the BLAS by one function of cuBLAS each.

#include "backend/cuda/stream_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::cuda {

/// The modes that can be requested of cuBLAS, as DeviceInfo::accuracies. cuBLAS itself decides, by
/// the device and the matrices, whether it emulates a product.
std::uint8_t accuracies_of_blas() noexcept;

/// True if cuBLAS has a function for the row.
bool cublas_has(const Descriptor& routine) noexcept;

/// Submits a call with the reference's rules for empty operands, alpha = 0 and beta = 0.
/// Memory: operands on the device, complex ones aligned to their size
/// Errors: unavailable without the library; unsupported if this version lacks it; out_of_memory;
///         device_error
/// @pre cublas_has(routine)
Status run_cublas(StreamContext& context, const Descriptor& routine, const Argument* arguments);

}  // namespace ob::cuda
