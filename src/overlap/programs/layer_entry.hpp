#pragma once
// The one function that the layer for an MPI exports to the library that is preloaded.

namespace ob::overlap {

/// Returns the function that replaces `name`, or null if the layer has none. `original` is the
/// function of the program's MPI, or null.
using LayerEntry = void* (*)(const char* name, void* original);

inline constexpr const char* kLayerEntry = "ob_mpi_layer_entry";

}  // namespace ob::overlap
