#pragma once
// The comparison of both ends of all messages of a plan, before the first one leaves.

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "overlap/exchange.hpp"

namespace ob::overlap {

/// Compares each message with that of its other end: size, tag and layout. Collective over `comm`;
/// all ranks get a failure if one of them finds a difference or brings `own`, a failure of its own.
/// Errors: invalid_argument with the ranks and the sizes of the first difference.
Status agree(MPI_Comm comm, const std::vector<Message>& messages, const Status& own);

/// Compares numbers that must be the same on all ranks. Collective over `comm`, with equally many
/// values on all ranks; all ranks get a failure if one differs from rank 0.
/// @param name_of names value i for the message, e.g. "the look-ahead"
/// Errors: invalid_argument with the rank and both numbers of the first difference.
Status agree_on_values(MPI_Comm comm, const std::vector<std::int64_t>& values,
                       const std::function<std::string(std::size_t)>& name_of);

}  // namespace ob::overlap
