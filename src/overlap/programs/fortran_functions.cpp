// The functions of MPI for Fortran: those of mpif.h and `use mpi`, and those of `use mpi_f08`.
//
// Open MPI's call PMPI_ functions, which the layer for C does not see. All arguments of Fortran are
// addresses, so the functions pass them on without knowing their types.

#include <mpi.h>

#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "overlap/programs/completion.hpp"
#include "overlap/programs/functions.hpp"
#include "overlap/programs/intercepted.hpp"
#include "overlap/programs/layer.hpp"

#define OB_PLACE reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))

namespace ob::overlap {
namespace {

// The numbers of requests that MPI returns are read as those of C, and begin at 1.
static_assert(std::is_same_v<MPI_Fint, int>);
constexpr int kFirst = 1;

/// The function of MPI for a name. `f08` is true for those of the module mpi_f08.
template <Function name, bool f08>
void* original = nullptr;

template <Function name, bool f08, class... A>
void call_original(A*... arguments) {
  reinterpret_cast<void (*)(A * ...)>(original<name, f08>)(arguments...);
}

/// The last argument of a function. In mpi_f08 the program may leave it out.
class ErrorCode {
 public:
  explicit ErrorCode(void* argument)
      : code_(argument == nullptr ? &own_ : static_cast<MPI_Fint*>(argument)) {}
  ErrorCode(const ErrorCode&) = delete;
  ErrorCode& operator=(const ErrorCode&) = delete;
  MPI_Fint* get() { return code_; }
  bool ok() const { return *code_ == MPI_SUCCESS; }

 private:
  MPI_Fint own_ = MPI_SUCCESS;
  MPI_Fint* code_;
};

MPI_Request request_of(const void* argument) {
  return PMPI_Request_f2c(*static_cast<const MPI_Fint*>(argument));
}

template <std::size_t>
using Address = void*;

MPI_Fint value_at(const void* argument) { return *static_cast<const MPI_Fint*>(argument); }

enum class Kind { message, collective, reduction };

template <Function name, bool f08, Kind kind, class Indices>
struct Starts;
/// Wraps a function that starts an operation. The last arguments are the communicator, the request
/// and the error.
template <Function name, bool f08, Kind kind, std::size_t... I>
struct Starts<name, f08, kind, std::index_sequence<I...>> {
  static void start(Address<I>... arguments) {
    const Nesting nesting;
    auto all = std::make_tuple(arguments...);
    ErrorCode error(std::get<sizeof...(I) - 1>(all));
    std::get<sizeof...(I) - 1>(all) = error.get();
    const auto run = [&] { call_original<name, f08>(std::get<I>(all)...); };
    const Call call = call_of(name);
    const auto request = [&] { return request_of(std::get<sizeof...(I) - 2>(all)); };
    if constexpr (kind == Kind::reduction) {
      const MPI_Op operation = PMPI_Op_f2c(value_at(std::get<kOperationArgument>(all)));
      if (nesting.outermost() && is_made_by_program(operation)) {
        CodeStart code;
        run();
        if (error.ok()) code.started(request(), call);
        return;
      }
    }
    run();
    if (!error.ok() || !nesting.outermost()) return;
    const MPI_Comm comm = PMPI_Comm_f2c(value_at(std::get<sizeof...(I) - 3>(all)));
    if constexpr (kind == Kind::message)
      note_message(request(), value_at(std::get<1>(all)), PMPI_Type_f2c(value_at(std::get<2>(all))),
                   value_at(std::get<3>(all)), comm, call);
    else
      Layer::instance().started({.request = request(), .call = call, .is_asked = may_ask(comm)});
  }
};

template <bool f08>
void Init_thread(MPI_Fint* required, MPI_Fint* provided, void* ierror) {
  const Nesting nesting;
  ErrorCode error(ierror);
  MPI_Fint level = Layer::instance().wanted_level(*required);
  call_original<kInit_thread, f08>(&level, provided, error.get());
  if (!error.ok()) return;
  Layer::instance().initialised(*required, *provided);
  *provided = Layer::instance().visible_level(*provided);
}

template <bool f08>
void Init(void* ierror) {
  MPI_Fint usual = level_of_init();
  MPI_Fint provided = MPI_THREAD_SINGLE;
  if (Layer::instance().wanted_level(usual) != usual)
    return Init_thread<f08>(&usual, &provided, ierror);
  const Nesting nesting;
  ErrorCode error(ierror);
  call_original<kInit, f08>(error.get());
  if (!error.ok()) return;
  PMPI_Query_thread(&provided);
  Layer::instance().initialised(provided, provided);
}

template <bool f08>
void Query_thread(MPI_Fint* provided, void* ierror) {
  ErrorCode error(ierror);
  call_original<kQuery_thread, f08>(provided, error.get());
  if (error.ok()) *provided = Layer::instance().visible_level(*provided);
}

template <bool f08>
void Finalize(void* ierror) {
  ErrorCode error(ierror);
  Layer::instance().end();
  call_original<kFinalize, f08>(error.get());
  Layer::instance().report();
}

template <bool f08>
void Start(MPI_Fint* request, void* ierror) {
  const Nesting nesting;
  ErrorCode error(ierror);
  const Call call = call_of(kStart);
  call_original<kStart, f08>(request, error.get());
  if (error.ok()) note_persistent(request_of(request), call);
}

template <bool f08>
void Startall(MPI_Fint* count, MPI_Fint* requests, void* ierror) {
  const Nesting nesting;
  ErrorCode error(ierror);
  Call call = call_of(kStartall);
  call_original<kStartall, f08>(count, requests, error.get());
  for (int i = 0; error.ok() && i < *count; ++i) {
    note_persistent(request_of(requests + i), call);
    call.is_written = true;
  }
}

void add_all(Completion& completion, int count, const MPI_Fint* requests) {
  if (Layer::instance().operations().count() == 0) return;
  for (int i = 0; i < count; ++i) completion.add_fortran(i, requests + i);
}

template <bool f08>
void Request_free(MPI_Fint* request, void* ierror) {
  Completion completion(OB_PLACE, "MPI_Request_free", true);
  ErrorCode error(ierror);
  add_all(completion, 1, request);
  completion.fail();  // it completes some day, and nobody learns when
  call_original<kRequest_free, f08>(request, error.get());
}

template <bool f08>
void Wait(MPI_Fint* request, void* status, void* ierror) {
  Completion completion(OB_PLACE, "MPI_Wait", false);
  ErrorCode error(ierror);
  add_all(completion, 1, request);
  call_original<kWait, f08>(request, status, error.get());
  error.ok() ? completion.finish_all() : completion.fail();
}

template <bool f08>
void Waitall(MPI_Fint* count, MPI_Fint* requests, void* statuses, void* ierror) {
  Completion completion(OB_PLACE, "MPI_Waitall", false);
  ErrorCode error(ierror);
  add_all(completion, *count, requests);
  call_original<kWaitall, f08>(count, requests, statuses, error.get());
  error.ok() ? completion.finish_all() : completion.fail();
}

template <bool f08>
void Waitany(MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index, void* status, void* ierror) {
  Completion completion(OB_PLACE, "MPI_Waitany", false);
  ErrorCode error(ierror);
  add_all(completion, *count, requests);
  call_original<kWaitany, f08>(count, requests, index, status, error.get());
  error.ok() ? completion.finish(index, 1, kFirst) : completion.fail();
}

template <bool f08>
void Waitsome(MPI_Fint* count, MPI_Fint* requests, MPI_Fint* done, MPI_Fint* indices,
              void* statuses, void* ierror) {
  Completion completion(OB_PLACE, "MPI_Waitsome", false);
  ErrorCode error(ierror);
  add_all(completion, *count, requests);
  call_original<kWaitsome, f08>(count, requests, done, indices, statuses, error.get());
  if (!error.ok())
    completion.fail();
  else if (*done != MPI_UNDEFINED)
    completion.finish(indices, *done, kFirst);
}

template <bool f08>
void Test(MPI_Fint* request, MPI_Fint* flag, void* status, void* ierror) {
  Completion completion(OB_PLACE, "MPI_Test", true);
  ErrorCode error(ierror);
  add_all(completion, 1, request);
  call_original<kTest, f08>(request, flag, status, error.get());
  if (!error.ok())
    completion.fail();
  else if (*flag)
    completion.finish_all();
}

template <bool f08>
void Testall(MPI_Fint* count, MPI_Fint* requests, MPI_Fint* flag, void* statuses, void* ierror) {
  Completion completion(OB_PLACE, "MPI_Testall", true);
  ErrorCode error(ierror);
  add_all(completion, *count, requests);
  call_original<kTestall, f08>(count, requests, flag, statuses, error.get());
  if (!error.ok())
    completion.fail();
  else if (*flag)
    completion.finish_all();
}

template <bool f08>
void Testany(MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index, MPI_Fint* flag, void* status,
             void* ierror) {
  Completion completion(OB_PLACE, "MPI_Testany", true);
  ErrorCode error(ierror);
  add_all(completion, *count, requests);
  call_original<kTestany, f08>(count, requests, index, flag, status, error.get());
  if (!error.ok())
    completion.fail();
  else if (*flag)
    completion.finish(index, 1, kFirst);
}

template <bool f08>
void Testsome(MPI_Fint* count, MPI_Fint* requests, MPI_Fint* done, MPI_Fint* indices,
              void* statuses, void* ierror) {
  Completion completion(OB_PLACE, "MPI_Testsome", true);
  ErrorCode error(ierror);
  add_all(completion, *count, requests);
  call_original<kTestsome, f08>(count, requests, done, indices, statuses, error.get());
  if (!error.ok())
    completion.fail();
  else if (*done != MPI_UNDEFINED)
    completion.finish(indices, *done, kFirst);
}

struct Replacement {
  const char* name;
  void* replacement;
  void** original;
};

template <Function name, bool f08, Kind kind, std::size_t arguments>
void* starts() {
  using Wrapper = Starts<name, f08, kind, std::make_index_sequence<arguments>>;
  return reinterpret_cast<void*>(&Wrapper::start);
}

#define OB_START(upper, lower, n, kind)                                                \
  {"mpi_" #lower "_", starts<k##upper, false, kind, n>(), &original<k##upper, false>}, \
      {"mpi_" #lower "_f08_", starts<k##upper, true, kind, n>(), &original<k##upper, true>},
#define OB_MESSAGE(upper, lower, n) OB_START(upper, lower, n, Kind::message)
#define OB_COLLECTIVE(upper, lower, n) OB_START(upper, lower, n, Kind::collective)
#define OB_REDUCTION(upper, lower, n) OB_START(upper, lower, n, Kind::reduction)
#define OB_OTHER(upper, lower, n)                                                          \
  {"mpi_" #lower "_", reinterpret_cast<void*>(&upper<false>), &original<k##upper, false>}, \
      {"mpi_" #lower "_f08_", reinterpret_cast<void*>(&upper<true>), &original<k##upper, true>},

}  // namespace

void* fortran_function(const char* name, void* mpi_function) {
  static const Replacement functions[] = {OB_MPI_MESSAGES(OB_MESSAGE) OB_MPI_COLLECTIVES(
      OB_COLLECTIVE) OB_MPI_REDUCTIONS(OB_REDUCTION) OB_MPI_OTHERS(OB_OTHER)};
  for (const Replacement& function : functions) {
    if (std::strcmp(function.name, name) != 0) continue;
    *function.original = mpi_function;
    return function.replacement;
  }
  return nullptr;
}

}  // namespace ob::overlap
