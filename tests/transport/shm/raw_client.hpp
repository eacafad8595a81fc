#pragma once
// One end of a connection without a Stream: a test uses the socket and the memory directly.

#include <sys/socket.h>

#include "transport/link.hpp"
#include "transport/shm/control.hpp"
#include "transport/shm/mapping.hpp"
#include "transport/shm/socket_file.hpp"
#include "transport/shm/stream.hpp"

namespace ob::transport::shm {

/// A client that gives a test the connection's memory.
struct RawClient {
  explicit RawClient(Listener& listener)
      : socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    const SocketName name(listener.address().substr(5));
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(name.bytes), name.size_bytes) !=
        0)
      std::abort();
    server = test::require(listener.accept(test::test_deadline()));
    Fd memory;
    const Record record =
        test::require(receive_record(socket.get(), memory, test::test_deadline()));
    if (record.kind != RecordKind::welcome) std::abort();
    mapping = test::require(map_memory(memory.get()));
  }
  BellWords& bell() { return mapping.header().bells[static_cast<unsigned>(Side::connector)]; }
  RingIndices& to_server() {
    return mapping.header().rings[static_cast<unsigned>(Side::connector)];
  }
  RingIndices& from_server() {
    return mapping.header().rings[static_cast<unsigned>(Side::listener)];
  }

  Fd socket;
  Mapping mapping;
  std::unique_ptr<Stream> server;
};

}  // namespace ob::transport::shm
