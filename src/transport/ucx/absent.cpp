// Replaces this folder in builds without UCX's headers.

#include "transport/ucx/open.hpp"

namespace ob::transport::ucx {
namespace {

Status absent() {
  return {Code::unsupported,
          "this build has no UCX transport (its headers were not there, Debian's libucx-dev) write "
          "HOST:PORT for TCP, or build again with them"};
}

}  // namespace

Result<std::unique_ptr<Stream>> connect(std::unique_ptr<Stream>, Deadline) { return absent(); }
Result<std::unique_ptr<Listener>> listen(std::unique_ptr<Listener>) { return absent(); }

}  // namespace ob::transport::ucx
