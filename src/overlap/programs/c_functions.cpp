// The functions of MPI for C, as the program calls them.
//
// Each one calls its PMPI_ function with the program's own arguments. Errors and results are MPI's.

#include <mpi.h>

#include <cstring>
#include <tuple>

#include "overlap/programs/completion.hpp"
#include "overlap/programs/functions.hpp"
#include "overlap/programs/intercepted.hpp"
#include "overlap/programs/layer.hpp"

#define OB_PLACE reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))

namespace ob::overlap {
namespace {

template <class... A>
auto last_of(const A&... arguments) {
  return std::get<sizeof...(A) - 1>(std::tie(arguments...));
}

/// Returns the last argument but one, which is the communicator of all functions that start
/// operations.
template <class... A>
MPI_Comm communicator_of(const A&... arguments) {
  return std::get<sizeof...(A) - 2>(std::tie(arguments...));
}

/// Wraps a function that starts a message of `count` elements of `type`.
template <auto Pmpi, Function function>
struct Message;
template <class Buffer, class... A, int (*Pmpi)(Buffer, int, MPI_Datatype, int, A...),
          Function function>
struct Message<Pmpi, function> {
  static int call(Buffer buffer, int count, MPI_Datatype type, int peer, A... more) {
    const Nesting nesting;
    const Call call = call_of(function);
    const int rc = Pmpi(buffer, count, type, peer, more...);
    if (rc == MPI_SUCCESS && nesting.outermost())
      note_message(*last_of(more...), count, type, peer, communicator_of(more...), call);
    return rc;
  }
};

/// Wraps a function that starts a collective operation.
template <auto Pmpi, Function function>
struct Collective;
template <class... A, int (*Pmpi)(A...), Function function>
struct Collective<Pmpi, function> {
  static int call(A... arguments) {
    const Nesting nesting;
    const Call call = call_of(function);
    const int rc = Pmpi(arguments...);
    if (rc == MPI_SUCCESS && nesting.outermost())
      Layer::instance().started({.request = *last_of(arguments...),
                                 .call = call,
                                 .is_asked = may_ask(communicator_of(arguments...))});
    return rc;
  }
};

/// Wraps a collective operation that computes with an MPI_Op.
template <auto Pmpi, Function function>
struct Reduction;
template <class... A, int (*Pmpi)(A...), Function function>
struct Reduction<Pmpi, function> {
  static int call(A... arguments) {
    const auto operation = std::get<kOperationArgument>(std::tie(arguments...));
    if (!is_made_by_program(operation)) return Collective<Pmpi, function>::call(arguments...);
    const Nesting nesting;
    if (!nesting.outermost()) return Pmpi(arguments...);
    CodeStart code;
    const Call call = call_of(function);
    const int rc = Pmpi(arguments...);
    if (rc == MPI_SUCCESS) code.started(*last_of(arguments...), call);
    return rc;
  }
};

int init(int* argc, char*** argv) {
  const Nesting nesting;
  if (!nesting.outermost()) return PMPI_Init(argc, argv);
  return Layer::instance().initialise(argc, argv);
}

int init_thread(int* argc, char*** argv, int required, int* provided) {
  const Nesting nesting;
  if (!nesting.outermost()) return PMPI_Init_thread(argc, argv, required, provided);
  return Layer::instance().initialise(argc, argv, required, *provided);
}

int query_thread(int* provided) {
  const int rc = PMPI_Query_thread(provided);
  if (rc == MPI_SUCCESS) *provided = Layer::instance().visible_level(*provided);
  return rc;
}

int finalize() {
  Layer::instance().end();
  const int rc = PMPI_Finalize();
  Layer::instance().report();
  return rc;
}

int start(MPI_Request* request) {
  const Nesting nesting;
  const Call call = call_of(kStart);
  const int rc = PMPI_Start(request);
  if (rc == MPI_SUCCESS && nesting.outermost()) note_persistent(*request, call);
  return rc;
}

int startall(int count, MPI_Request* requests) {
  const Nesting nesting;
  Call call = call_of(kStartall);
  const int rc = PMPI_Startall(count, requests);
  for (int i = 0; rc == MPI_SUCCESS && nesting.outermost() && i < count; ++i) {
    note_persistent(requests[i], call);
    call.is_written = true;
  }
  return rc;
}

void add_all(Completion& completion, int count, const MPI_Request* requests) {
  if (requests == nullptr || Layer::instance().operations().count() == 0) return;
  for (int i = 0; i < count; ++i) completion.add(i, requests + i);
}

int request_free(MPI_Request* request) {
  Completion completion(OB_PLACE, "MPI_Request_free", true);
  add_all(completion, 1, request);
  completion.fail();  // it completes some day, and nobody learns when
  return PMPI_Request_free(request);
}

int wait(MPI_Request* request, MPI_Status* status) {
  Completion completion(OB_PLACE, "MPI_Wait", false);
  add_all(completion, 1, request);
  const int rc = PMPI_Wait(request, status);
  rc == MPI_SUCCESS ? completion.finish_all() : completion.fail();
  return rc;
}

int waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  Completion completion(OB_PLACE, "MPI_Waitall", false);
  add_all(completion, count, requests);
  const int rc = PMPI_Waitall(count, requests, statuses);
  rc == MPI_SUCCESS ? completion.finish_all() : completion.fail();
  return rc;
}

int waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  Completion completion(OB_PLACE, "MPI_Waitany", false);
  add_all(completion, count, requests);
  const int rc = PMPI_Waitany(count, requests, index, status);
  rc == MPI_SUCCESS ? completion.finish(index, 1) : completion.fail();
  return rc;
}

int waitsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  Completion completion(OB_PLACE, "MPI_Waitsome", false);
  add_all(completion, count, requests);
  const int rc = PMPI_Waitsome(count, requests, done, indices, statuses);
  if (rc != MPI_SUCCESS)
    completion.fail();
  else if (*done != MPI_UNDEFINED)
    completion.finish(indices, *done);
  return rc;
}

int test(MPI_Request* request, int* flag, MPI_Status* status) {
  Completion completion(OB_PLACE, "MPI_Test", true);
  add_all(completion, 1, request);
  const int rc = PMPI_Test(request, flag, status);
  if (rc != MPI_SUCCESS)
    completion.fail();
  else if (*flag)
    completion.finish_all();
  return rc;
}

int testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  Completion completion(OB_PLACE, "MPI_Testall", true);
  add_all(completion, count, requests);
  const int rc = PMPI_Testall(count, requests, flag, statuses);
  if (rc != MPI_SUCCESS)
    completion.fail();
  else if (*flag)
    completion.finish_all();
  return rc;
}

int testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  Completion completion(OB_PLACE, "MPI_Testany", true);
  add_all(completion, count, requests);
  const int rc = PMPI_Testany(count, requests, index, flag, status);
  if (rc != MPI_SUCCESS)
    completion.fail();
  else if (*flag)
    completion.finish(index, 1);
  return rc;
}

int testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  Completion completion(OB_PLACE, "MPI_Testsome", true);
  add_all(completion, count, requests);
  const int rc = PMPI_Testsome(count, requests, done, indices, statuses);
  if (rc != MPI_SUCCESS)
    completion.fail();
  else if (*done != MPI_UNDEFINED)
    completion.finish(indices, *done);
  return rc;
}

struct Replacement {
  const char* name;
  void* replacement;
};

#define OB_MESSAGE(upper, lower, n) \
  {"MPI_" #upper, reinterpret_cast<void*>(&Message<&PMPI_##upper, k##upper>::call)},
#define OB_COLLECTIVE(upper, lower, n) \
  {"MPI_" #upper, reinterpret_cast<void*>(&Collective<&PMPI_##upper, k##upper>::call)},
#define OB_REDUCTION(upper, lower, n) \
  {"MPI_" #upper, reinterpret_cast<void*>(&Reduction<&PMPI_##upper, k##upper>::call)},
#define OB_OTHER(upper, lower, n) {"MPI_" #upper, reinterpret_cast<void*>(&lower)},

const Replacement kFunctions[] = {OB_MPI_MESSAGES(OB_MESSAGE) OB_MPI_COLLECTIVES(OB_COLLECTIVE)
                                      OB_MPI_REDUCTIONS(OB_REDUCTION) OB_MPI_OTHERS(OB_OTHER)};

}  // namespace

void* c_function(const char* name) {
  for (const Replacement& function : kFunctions)
    if (std::strcmp(function.name, name) == 0) return function.replacement;
  return nullptr;
}

}  // namespace ob::overlap

extern "C" __attribute__((visibility("default"))) void* ob_mpi_layer_entry(
    const char* name, void* original) noexcept {
  void* const found = ob::overlap::c_function(name);
  return found != nullptr ? found : ob::overlap::fortran_function(name, original);
}
