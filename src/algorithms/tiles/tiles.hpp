#pragma once
// Runs calls of BLAS level 3 on a device with too little memory for all of their operands.
//
// gemm, syrk, herk, syr2k, her2k: a tile of C stays on the device while panels of each factor pass
// through two slots.
// symm, hemm, trmm, trsm: columns of B (rows if the square matrix is on the right) stay on the
// device while strips of the square matrix pass through it.
// docs/several-devices.md has sizes and traffic.

#include <cstdint>

#include "algorithms/call_context.hpp"
#include "algorithms/panels/pipeline_model.hpp"
#include "base/status.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// Bytes of all operands together, which a call without tiles needs on the device; 0 for a routine
/// that cannot run in tiles.
double bytes_of_all(const Descriptor& routine, const Argument* arguments);

/// Bytes that a call in tiles, or a part of one, sends to the device; 0 if not even a thin tile
/// fits.
/// @param diagonal, memory_bytes as in offload_tiles()
/// @pre can_be_split(routine)
double tile_bytes(const Descriptor& routine, const Argument* arguments, const Range& diagonal,
                  std::uint64_t memory_bytes);

/// Runs a call in tiles with at most `memory_bytes` of the device's memory. C is not sent. If beta
/// is not 0, the host adds beta C after the whole result has arrived.
/// Memory, threads, errors: as offload_call(); out_of_memory if not even a thin tile fits
/// Cost: if beta is not 0 or B is replaced, also host memory for a copy of the result
/// @param diagonal syrk, herk, syr2k, her2k: the part to compute, see CallPart; empty: all of it
/// @param context its residency is not used
/// @pre can_be_split(routine), routine.legal(arguments, lds), !routine.trivial(arguments)
Status offload_tiles(const CallContext& context, const Range& diagonal, std::uint64_t memory_bytes);

}  // namespace ob::algorithms
