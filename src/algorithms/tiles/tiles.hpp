#pragma once
// Calls of BLAS level 3 on a device that has not the memory for all of their operands.
//
// gemm, syrk, herk, syr2k, her2k: a tile of C stays on the device while panels of the factors pass
// through two slots each. symm, hemm, trmm, trsm: columns of B (rows, from the right) stay while
// strips of the square matrix pass through. docs/several-devices.md has sizes and traffic.

#include <cstdint>

#include "algorithms/call_context.hpp"
#include "algorithms/panels/pipeline_model.hpp"
#include "base/status.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// Bytes of all operands at once, as other ways of running the call need them; 0 of routines that
/// are not run in tiles.
double bytes_of_all(const Descriptor& routine, const Argument* arguments);

/// Bytes to the device of a call, or a part of one, that is run so; 0 if not even a thin tile fits.
/// @param diagonal, memory_bytes as offload_tiles()   @pre can_be_split(routine)
double tile_bytes(const Descriptor& routine, const Argument* arguments, const Range& diagonal,
                  std::uint64_t memory_bytes);

/// Runs a call so with at most so much memory of the device.
/// C is not sent: where beta is not 0, beta C is added here once the whole result is in hand.
/// Memory, threads, errors: as offload_call(); out_of_memory if not even a thin tile fits
/// Cost: where beta is not 0 or B is replaced, as much as the result on this side, too
/// @param diagonal of syrk, herk, syr2k, her2k: the part to compute, see CallPart; empty: all
/// @pre can_be_split(routine), routine.legal(arguments, lds), !routine.trivial(arguments)
/// @param context its residency is not used
Status offload_tiles(const CallContext& context, const Range& diagonal, std::uint64_t memory_bytes);

}  // namespace ob::algorithms
