#include "backend/opencl/queue.hpp"

namespace ob::opencl {

Result<std::shared_ptr<ClQueue>> ClQueue::create(const Resources& resources,
                                                 const std::string& name, const Account& account) {
  cl_int result = CL_SUCCESS;
  const cl_command_queue queue = resources.cl.clCreateCommandQueue(
      resources.accelerator.context, resources.accelerator.device, 0, &result);
  OB_RETURN_IF_ERROR(Cl::check(result, "making a queue"));
  return std::shared_ptr<ClQueue>(new ClQueue(resources, queue, name, account));
}

ClQueue::ClQueue(const Resources& resources, cl_command_queue queue, const std::string& name,
                 const Account& account)
    : HostQueue(name, account),
      work_(resources.memory, [] {}),  // no work is in flight between commands
      context_{.cl = resources.cl,
               .accelerator = resources.accelerator,
               .memory = resources.source,
               .queue = queue,
               .work = work_,
               .counted = resources.memory,
               .libraries = resources.libraries,
               .host = resources.host},
      copies_(context_) {}

ClQueue::~ClQueue() {
  (void)synchronize();  // commands use the members that are destroyed next
  (void)context_.cl.clReleaseCommandQueue(context_.queue);
}

}  // namespace ob::opencl
