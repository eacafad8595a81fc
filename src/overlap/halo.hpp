#pragma once
// The messages of a halo exchange between the ranks of a Cartesian communicator.

#include <mpi.h>

#include <vector>

#include "base/status.hpp"
#include "overlap/halo_geometry.hpp"
#include "overlap/move_plan.hpp"

namespace ob::overlap {

/// Describes in `plan` one message to and one from each neighbour from which the stencil reads.
/// Several fields share a message. Periodic dimensions are those of `cart`.
/// @param mask null, or the cells that travel: a field of bytes with the extents of the shape
/// Errors: invalid_argument, on this rank only
Status describe_halo(MovePlan& plan, MPI_Comm cart, const HaloShape& shape, const Stencil& stencil,
                     const std::vector<FieldView>& fields, const FieldView* mask);

}  // namespace ob::overlap
