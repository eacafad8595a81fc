#pragma once
// Parts that the functions for C and for Fortran share.

#include <mpi.h>

#include <cstdint>

namespace ob::overlap {

/// Shorter messages are not watched. Most MPIs send them eagerly, and to watch them would cost more
/// than it gains.   Unit: bytes
inline constexpr std::int64_t kSmallestMessage = 16 * 1024;

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

/// Notes a message that has started, if it is large enough.
void note_message(MPI_Request request, std::int64_t count, MPI_Datatype type) noexcept;

void* c_function(const char* name);
/// Returns the replacement of a function for Fortran, which calls `original`.
void* fortran_function(const char* name, void* original);

}  // namespace ob::overlap
