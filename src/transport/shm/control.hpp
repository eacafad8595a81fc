#pragma once
// The unix socket beside the rings. The first record carries the shared memory, later ones carry
// segments, and its end tells that the peer has ended.

#include <sys/types.h>

#include <cstdint>

#include "base/fd.hpp"
#include "base/status.hpp"
#include "transport/stream.hpp"

namespace ob::transport::shm {

inline constexpr std::uint32_t kControlMagic = 0x0B0A4D5E;
inline constexpr std::uint16_t kControlVersion = 1;

enum class RecordKind : std::uint16_t { welcome = 1, refused = 2, segment = 3 };

/// One packet of the socket. Both ends are on one machine, so that byte order does not matter.
struct Record {
  std::uint32_t magic = kControlMagic;
  std::uint16_t version = kControlVersion;
  RecordKind kind{};
  std::uint64_t value = 0;  ///< welcome: bytes of shared memory; refused: a Code
};

/// Sends a record, together with `fd` unless that is -1. Waits for room until the deadline.
/// Errors: connection_lost, deadline_exceeded, out_of_memory if too many descriptors are in flight
Status send_record(int socket, const Record& record, int fd, Deadline deadline);

/// Receives a record and its descriptor, which is empty if there is none.
/// Errors: connection_lost, deadline_exceeded, protocol_error
Result<Record> receive_record(int socket, Fd& fd, Deadline deadline);

/// Returns the user at the other end of a socket.
/// Errors: denied if the user is unknown, or is neither root nor the user of this process
Result<uid_t> trusted_peer(int socket);

}  // namespace ob::transport::shm
