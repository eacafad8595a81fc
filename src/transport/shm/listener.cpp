#include "transport/shm/listener.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include "transport/detail/accept.hpp"
#include "transport/sealed_memory.hpp"
#include "transport/shm/control.hpp"
#include "transport/shm/stream.hpp"

namespace ob::transport::shm {
namespace {

void refuse(int socket, Code code) {
  Record record;
  record.kind = RecordKind::refused;
  record.value = static_cast<std::uint64_t>(code);
  (void)send_record(socket, record, -1, Deadline::min());  // errors are ignored
}

}  // namespace

Result<std::unique_ptr<Listener>> listen(const UnixAddress& address) {
  OB_ASSIGN_OR_RETURN(SocketFile file, create_socket_file(address));
  return std::unique_ptr<Listener>(new ShmListener(address, std::move(file)));
}

Result<std::unique_ptr<Listener>> adopt(int fd) {
  OB_ASSIGN_OR_RETURN(AdoptedSocket adopted, adopt_socket(fd));
  return std::unique_ptr<Listener>(
      new ShmListener(std::move(adopted.address), std::move(adopted.file)));
}

ShmListener::ShmListener(UnixAddress address, SocketFile file)
    : address_(std::move(address)),
      file_(std::move(file)),
      owner_(::getpid()),
      watch_(HangUpWatch::create()) {}

ShmListener::~ShmListener() {
  if (::getpid() == owner_)
    close();  // in a forked child, file and socket still belong to the parent
}

Result<std::unique_ptr<Stream>> ShmListener::accept(Deadline deadline) {
  for (;;) {
    Fd socket;
    OB_RETURN_IF_ERROR(detail::accept(file_.socket.get(), closed_, deadline, socket).in(address()));
    const auto peer = trusted_peer(socket.get());
    if (!peer.ok()) {
      refuse(socket.get(), Code::denied);
      continue;
    }
    auto memory = create_sealed_memory("outboard-stream", kMemoryBytes);
    auto mapping = memory.ok() ? map_memory(memory->get()) : Result<Mapping>(memory.status());
    if (!mapping.ok()) {
      refuse(socket.get(), Code::out_of_memory);
      continue;
    }
    Record record;
    record.kind = RecordKind::welcome;
    record.value = kMemoryBytes;
    // A new socket has room for its first record, so that a failure means that the client is gone.
    if (!send_record(socket.get(), record, memory->get(), Deadline::min()).ok()) continue;
    return std::unique_ptr<Stream>(new ShmStream(std::move(socket), std::move(mapping).value(),
                                                 Side::listener, address(), *peer, watch_));
  }
}

void ShmListener::close() noexcept {
  if (closed_.exchange(true)) return;
  remove_socket_file(address_, file_);
  (void)::shutdown(file_.socket.get(), SHUT_RDWR);  // stops listening and wakes accept()
}

}  // namespace ob::transport::shm
