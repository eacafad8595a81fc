#include "sial/exchange/mpi/patient_finalize.hpp"

#include <mpi.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace ob::sial {
namespace {

// The time in which the process manager has to answer; all ranks of a job come to their end
// together.
constexpr std::chrono::seconds kPatience{10};

bool is_mpich() {
  std::string version(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
  int length = 0;
  MPI_Get_library_version(version.data(), &length);
  return version.starts_with("MPICH");
}

// Returns the socket to the process manager; -1 if there is none.
int manager_socket() {
  const char* const text = std::getenv("PMI_FD");
  if (text == nullptr) return -1;
  const std::string_view digits = text;
  int socket = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), socket);
  return socket;
}

// Sends a command to the process manager, and waits for the line that answers it. MPI goes on
// sending meanwhile.   Source: the wire protocol of PMI 1
bool ask(int socket, std::string_view command, std::string_view answer) {
  if (::send(socket, command.data(), command.size(), MSG_NOSIGNAL) < 0) return false;
  std::string got;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (got.find('\n') == std::string::npos) {
    if (std::chrono::steady_clock::now() > end) return false;
    int arrived = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE);
    pollfd ready{socket, POLLIN, 0};
    if (::poll(&ready, 1, 1) <= 0) continue;
    std::array<char, 256> part{};
    const ssize_t size = ::recv(socket, part.data(), part.size(), 0);
    if (size <= 0) return false;
    got.append(part.data(), static_cast<std::size_t>(size));
  }
  return got.starts_with(answer);
}

}  // namespace

void finalize(int status) {
  MPI_Barrier(MPI_COMM_WORLD);  // nobody needs this rank any more
  const int socket = is_mpich() ? manager_socket() : -1;
  if (socket >= 0 && ask(socket, "cmd=barrier_in\n", "cmd=barrier_out") &&
      ask(socket, "cmd=finalize\n", "cmd=finalize_ack")) {
    std::fflush(nullptr);
    std::_Exit(status);
  }
  MPI_Finalize();
}

}  // namespace ob::sial
