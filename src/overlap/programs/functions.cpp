#include "overlap/programs/functions.hpp"

#include <algorithm>
#include <iterator>

#include "overlap/programs/layer.hpp"

namespace ob::overlap {
namespace {

// The functions of MPI other than Open MPI's raise the error of a request that has failed also in
// MPI_Request_get_status, by the handler of MPI_COMM_WORLD.
#ifdef OPEN_MPI
constexpr bool kAskingRaisesErrors = false;
#else
constexpr bool kAskingRaisesErrors = true;
#endif

MPI_Errhandler handler_of(MPI_Comm comm) noexcept {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (PMPI_Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return MPI_ERRHANDLER_NULL;
  if (handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_RETURN) return handler;
  PMPI_Errhandler_free(&handler);
  return MPI_ERRHANDLER_NULL;
}

}  // namespace

int& Nesting::depth() noexcept {
  static thread_local int value = 0;
  return value;
}

bool may_ask(MPI_Comm comm) noexcept {
  if (!kAskingRaisesErrors) return true;
  const MPI_Errhandler world = handler_of(MPI_COMM_WORLD);
  if (world == MPI_ERRORS_RETURN) return true;
  return world == MPI_ERRORS_ARE_FATAL && comm != MPI_COMM_NULL &&
         handler_of(comm) == MPI_ERRORS_ARE_FATAL;
}

bool is_made_by_program(MPI_Op operation) noexcept {
  const MPI_Op predefined[] = {MPI_SUM,     MPI_MAX,    MPI_MIN,    MPI_PROD,    MPI_LAND,
                               MPI_BAND,    MPI_LOR,    MPI_BOR,    MPI_LXOR,    MPI_BXOR,
                               MPI_OP_NULL, MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};
  return std::find(std::begin(predefined), std::end(predefined), operation) == std::end(predefined);
}

CodeStart::CodeStart() noexcept { Layer::instance().operations().hold(); }

CodeStart::~CodeStart() {
  if (!started_) Layer::instance().operations().release();
}

void CodeStart::started(MPI_Request request, const Call& call) noexcept {
  started_ = Layer::instance().started({.request = request, .call = call, .runs_code = true});
}

const char* name_of(Function function) noexcept {
#define OB_FUNCTION(upper, lower, n) "MPI_" #upper,
  static constexpr const char* kNames[] = {OB_MPI_INTERCEPTED(OB_FUNCTION)};
#undef OB_FUNCTION
  return kNames[function];
}

Call call_of(Function function) noexcept {
  return Layer::instance().trace().call(name_of(function));
}

void note_message(MPI_Request request, std::int64_t count, MPI_Datatype type, int peer,
                  MPI_Comm comm, const Call& call) noexcept {
  int size = 0;
  if (PMPI_Type_size(type, &size) != MPI_SUCCESS || size < 0) return;
  const std::int64_t bytes = count * size;
  if (bytes >= kSmallestMessage)
    Layer::instance().started({.request = request,
                               .bytes = bytes,
                               .peer = peer,
                               .call = call,
                               .is_asked = may_ask(comm)});
}

void note_persistent(MPI_Request request, const Call& call) noexcept {
  Layer::instance().started({.request = request, .call = call, .is_asked = may_ask(MPI_COMM_NULL)});
}

}  // namespace ob::overlap
