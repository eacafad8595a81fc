#include "transport/ucx/listener.hpp"

#include "transport/ucx/library.hpp"
#include "transport/ucx/open.hpp"
#include "transport/ucx/stream.hpp"

namespace ob::transport::ucx {

Result<std::unique_ptr<Listener>> listen(std::unique_ptr<Listener> control) {
  OB_RETURN_IF_ERROR(library().status());
  return std::unique_ptr<Listener>(new UcxListener(std::move(control)));
}

Result<std::unique_ptr<Stream>> UcxListener::accept(Deadline deadline) {
  for (;;) {
    OB_ASSIGN_OR_RETURN(auto bare, accept_bare(deadline));
    auto stream = open(std::move(bare));
    if (stream.ok()) return stream;
  }
}

Result<std::unique_ptr<Stream>> UcxListener::open(std::unique_ptr<Stream> bare) {
  OB_ASSIGN_OR_RETURN(auto control, control_->open(std::move(bare)));
  OB_ASSIGN_OR_RETURN(auto stream, UcxStream::create(std::move(control)));
  return std::unique_ptr<Stream>(std::move(stream));
}

}  // namespace ob::transport::ucx
