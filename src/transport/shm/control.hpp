#pragma once
// The unix socket beside the rings: the first record brings the shared memory, later ones segments,
// and its end tells of the peer's.

#include <sys/types.h>

#include <cstdint>

#include "base/status.hpp"
#include "transport/detail/fd.hpp"
#include "transport/stream.hpp"

namespace ob::transport::shm {

inline constexpr std::uint32_t kControlMagic = 0x0B0A4D5E;
inline constexpr std::uint16_t kControlVersion = 1;

enum class RecordKind : std::uint16_t { welcome = 1, refused = 2, segment = 3 };

/// One packet of the socket. Both ends are one machine: no byte order to mind.
struct Record {
  std::uint32_t magic = kControlMagic;
  std::uint16_t version = kControlVersion;
  RecordKind kind{};
  std::uint64_t value = 0;  ///< welcome: bytes of shared memory; refused: a Code
};

/// Sends a record, with `fd` beside it unless -1. Waits for room until the deadline.
/// Errors: connection_lost, deadline_exceeded, out_of_memory if too many descriptors are on their
/// way
Status send_record(int socket, const Record& record, int fd, Deadline deadline);

/// Receives a record and the descriptor beside it (none: empty).
/// Errors: connection_lost, deadline_exceeded, protocol_error
Result<Record> receive_record(int socket, detail::Fd& fd, Deadline deadline);

/// The user at the other end of a socket.
/// Errors: denied if the system does not say, or it is neither root nor the user of this process
Result<uid_t> trusted_peer(int socket);

}  // namespace ob::transport::shm
