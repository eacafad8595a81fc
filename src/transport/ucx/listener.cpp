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
    OB_ASSIGN_OR_RETURN(auto control, control_->accept(deadline));
    auto stream = UcxStream::create(std::move(control));
    if (stream.ok()) return std::unique_ptr<Stream>(std::move(*stream));
  }
}

}  // namespace ob::transport::ucx
