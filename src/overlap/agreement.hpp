#pragma once
// The comparison of both ends of all messages of a plan, before the first one leaves.

#include <mpi.h>

#include <vector>

#include "base/status.hpp"
#include "overlap/exchange.hpp"

namespace ob::overlap {

/// Compares each message with that of its other end: size, tag and layout. Collective over `comm`;
/// all ranks get a failure if one of them finds a difference or brings `own`, a failure of its own.
/// Errors: invalid_argument with the ranks and the sizes of the first difference.
Status agree(MPI_Comm comm, const std::vector<Message>& messages, const Status& own);

}  // namespace ob::overlap
