#include "backend/cuda/queue.hpp"

namespace ob::cuda {

Result<std::shared_ptr<CudaQueue>> CudaQueue::create(const Resources& resources,
                                                     const std::string& name,
                                                     const Account& account) {
  OB_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, Stream::create(resources.gpu));
  return std::shared_ptr<CudaQueue>(new CudaQueue(resources, std::move(stream), name, account));
}

CudaQueue::CudaQueue(const Resources& resources, std::unique_ptr<Stream> stream,
                     const std::string& name, const Account& account)
    : HostQueue(name, account),
      gpu_(resources.gpu),
      stream_(std::move(stream)),
      work_(resources.memory),
      handles_(resources.gpu.libraries, stream_->get()),
      context_{.libraries = resources.gpu.libraries,
               .device = resources.gpu.ordinal,
               .stream = stream_->get(),
               .work = work_,
               .pinned = resources.pinned,
               .handles = handles_,
               .host = resources.host},
      copies_(context_) {}

CudaQueue::~CudaQueue() {
  (void)synchronize();        // commands use what goes now
  (void)gpu_.make_current();  // for what goes with this object
}

}  // namespace ob::cuda
