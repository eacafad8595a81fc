#pragma once
// The end of a process that uses MPI.

namespace ob::sial {

/// Ends MPI after the last message, on all ranks, and the process with `status` where MPI would not
/// end. MPI_Finalize of MPICH 4.0 over UCX and TCP may hang: a rank that waits for its process
/// manager does not answer another one that closes its connection. So ranks that mpiexec of MPICH
/// has started sign off there, and leave without MPI_Finalize.
/// @pre output is flushed, and nothing is left to be done when the process ends
void finalize(int status);

}  // namespace ob::sial
