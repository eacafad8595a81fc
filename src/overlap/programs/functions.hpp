#pragma once
// Parts that the functions for C and for Fortran share.

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "overlap/programs/intercepted.hpp"
#include "overlap/programs/operations.hpp"

namespace ob::overlap {

/// Shorter messages are not watched. Most MPIs send them eagerly, and to watch them would cost more
/// than it gains.   Unit: bytes
inline constexpr std::int64_t kSmallestMessage = 16 * 1024;

#define OB_FUNCTION(upper, lower, n) k##upper,
enum Function : int { OB_MPI_INTERCEPTED(OB_FUNCTION) };
#undef OB_FUNCTION

/// Returns the name of a function in C, also for those of Fortran.
const char* name_of(Function function) noexcept;

/// Notes how deep a thread is in functions of the layer, because the functions of some MPIs for
/// Fortran call those for C.
class Nesting {
 public:
  Nesting() noexcept { ++depth(); }
  ~Nesting() { --depth(); }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  bool outermost() const noexcept { return depth() == 1; }

 private:
  static int& depth() noexcept;
};

/// The place of the MPI_Op among the arguments of the functions in OB_MPI_REDUCTIONS, from 0.
inline constexpr std::size_t kOperationArgument = 4;

/// Returns false if MPI_Request_get_status could call an error handler that the completion of a
/// request of `comm` would not call, or call it in another thread. `comm` is MPI_COMM_NULL if it is
/// not known.
bool may_ask(MPI_Comm comm) noexcept;

/// Returns true if the functions of `operation` are those of the program.
bool is_made_by_program(MPI_Op operation) noexcept;

/// The start of an operation whose progress runs functions of the program. The driver rests from
/// before the start until the operation has been completed. Otherwise these functions would run in
/// its thread, beside the program, which may not be prepared for that.
class CodeStart {
 public:
  CodeStart() noexcept;
  ~CodeStart();
  CodeStart(const CodeStart&) = delete;
  CodeStart& operator=(const CodeStart&) = delete;
  void started(MPI_Request request, const Call& call) noexcept;

 private:
  bool started_ = false;
};

/// Returns the call of a function that starts operations, before it starts them.
Call call_of(Function function) noexcept;

/// Notes a message that has started, if it is large enough.
/// @param peer its other end in `comm`
void note_message(MPI_Request request, std::int64_t count, MPI_Datatype type, int peer,
                  MPI_Comm comm, const Call& call) noexcept;

/// Notes a persistent request that has started. Its size and its communicator are not known.
void note_persistent(MPI_Request request, const Call& call) noexcept;

void* c_function(const char* name);
/// Returns the replacement of a function for Fortran, which calls `original`.
void* fortran_function(const char* name, void* original);

}  // namespace ob::overlap
