#pragma once
// Results of MPI calls as Status, and names of its constants.

#include <mpi.h>

#include <string>
#include <utility>

#include "base/status.hpp"

namespace ob::overlap {

/// Returns the failure with the words of the MPI library.
inline Status mpi_failure(const char* function, int result) {
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(result, words, &length);
  return Status(Code::connection_lost, std::string(function) + " failed (" + words + ")");
}

inline Status mpi_status(const char* function, int result) {
  return result == MPI_SUCCESS ? Status() : mpi_failure(function, result);
}

/// Returns the name of a level of thread support, as MPI's standard has it.
inline const char* thread_level_name(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE: return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED: return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED: return "MPI_THREAD_SERIALIZED";
    default: return "MPI_THREAD_MULTIPLE";
  }
}

/// The one owner of a communicator.
class Communicator {
 public:
  Communicator() noexcept = default;
  explicit Communicator(MPI_Comm comm) noexcept : comm_(comm) {}
  Communicator(Communicator&& other) noexcept : comm_(std::exchange(other.comm_, MPI_COMM_NULL)) {}
  Communicator& operator=(Communicator&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }
  ~Communicator() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (comm_ != MPI_COMM_NULL && finalized == 0) MPI_Comm_free(&comm_);
  }
  /// Duplicates `comm`; errors of the duplicate are returned and do not end the program.
  /// Collective.
  static Result<Communicator> duplicate(MPI_Comm comm) {
    MPI_Comm made = MPI_COMM_NULL;
    OB_RETURN_IF_ERROR(mpi_status("MPI_Comm_dup", MPI_Comm_dup(comm, &made)));
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    return Communicator(made);
  }

  MPI_Comm get() const noexcept { return comm_; }
  int rank() const noexcept {
    int rank = 0;
    MPI_Comm_rank(comm_, &rank);
    return rank;
  }
  int size() const noexcept {
    int size = 1;
    MPI_Comm_size(comm_, &size);
    return size;
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace ob::overlap
