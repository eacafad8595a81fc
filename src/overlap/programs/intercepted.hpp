#pragma once
// The functions of MPI that the layer for unmodified programs intercepts.
//
// Every function that completes or frees a request is here. The layer may then look at a request
// of the program while it is under way, because no request ends unseen. Only names that MPI-3.1
// has are intercepted, so that a program finds no function that its MPI lacks.

// The request is the last argument; the second and third are a count and a type.
#define OB_MPI_MESSAGES(X) \
  X(Isend, isend, 8)       \
  X(Ibsend, ibsend, 8)     \
  X(Issend, issend, 8)     \
  X(Irsend, irsend, 8)     \
  X(Irecv, irecv, 8)

// Collective operations: the request is the last argument. The number is that of the arguments in
// Fortran.
#define OB_MPI_COLLECTIVES(X)                       \
  X(Ibarrier, ibarrier, 3)                          \
  X(Ibcast, ibcast, 7)                              \
  X(Igather, igather, 10)                           \
  X(Igatherv, igatherv, 11)                         \
  X(Iscatter, iscatter, 10)                         \
  X(Iscatterv, iscatterv, 11)                       \
  X(Iallgather, iallgather, 9)                      \
  X(Iallgatherv, iallgatherv, 10)                   \
  X(Ialltoall, ialltoall, 9)                        \
  X(Ialltoallv, ialltoallv, 11)                     \
  X(Ialltoallw, ialltoallw, 11)                     \
  X(Ineighbor_allgather, ineighbor_allgather, 9)    \
  X(Ineighbor_allgatherv, ineighbor_allgatherv, 10) \
  X(Ineighbor_alltoall, ineighbor_alltoall, 9)      \
  X(Ineighbor_alltoallv, ineighbor_alltoallv, 11)   \
  X(Ineighbor_alltoallw, ineighbor_alltoallw, 11)

// Collective operations that compute with an MPI_Op, which is argument kOperationArgument.
#define OB_MPI_REDUCTIONS(X)                         \
  X(Ireduce, ireduce, 9)                             \
  X(Iallreduce, iallreduce, 8)                       \
  X(Ireduce_scatter, ireduce_scatter, 8)             \
  X(Ireduce_scatter_block, ireduce_scatter_block, 8) \
  X(Iscan, iscan, 8)                                 \
  X(Iexscan, iexscan, 8)

// Functions with a wrapper of their own.
#define OB_MPI_OTHERS(X)           \
  X(Init, init, 1)                 \
  X(Init_thread, init_thread, 3)   \
  X(Query_thread, query_thread, 2) \
  X(Finalize, finalize, 1)         \
  X(Start, start, 2)               \
  X(Startall, startall, 3)         \
  X(Request_free, request_free, 2) \
  X(Wait, wait, 3)                 \
  X(Waitall, waitall, 4)           \
  X(Waitany, waitany, 5)           \
  X(Waitsome, waitsome, 6)         \
  X(Test, test, 4)                 \
  X(Testall, testall, 5)           \
  X(Testany, testany, 6)           \
  X(Testsome, testsome, 7)

#define OB_MPI_INTERCEPTED(X) \
  OB_MPI_MESSAGES(X) OB_MPI_COLLECTIVES(X) OB_MPI_REDUCTIONS(X) OB_MPI_OTHERS(X)
