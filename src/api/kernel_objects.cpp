#include "api/kernel_objects.hpp"

#include <algorithm>

namespace ob::api {

// --- modules -------------------------------------------------------------------------------------

void ModuleBuild::finish(const ModuleReport& report) {
  const std::lock_guard lock(mutex_);
  report_ = report;
  finished_.notify_all();
}

const ModuleReport* ModuleBuild::await(Deadline deadline) const {
  std::unique_lock lock(mutex_);
  const auto done = [this] { return report_.has_value(); };
  if (deadline == Deadline::max()) {
    finished_.wait(lock, done);  // the clock cannot add to this time
  } else if (deadline != Deadline::min()) {
    (void)finished_.wait_until(lock, deadline, done);
  }
  return done() ? &*report_ : nullptr;
}

// --- kernels -------------------------------------------------------------------------------------

Result<const KernelFacts*> Kernel::facts() const {
  const ModuleReport* const report = module->build->known();
  if (report == nullptr) return static_cast<const KernelFacts*>(nullptr);
  if (!report->status.ok()) return report->status.in("the module of kernel " + name);
  for (const KernelFacts& kernel : report->kernels) {
    if (kernel.signature.name == name) return &kernel;
  }
  return no_such_kernel(name, report->kernels);
}

Result<const KernelSignature*> Kernel::signature() const {
  OB_ASSIGN_OR_RETURN(const KernelFacts* known, facts());
  if (known != nullptr) return &known->signature;
  return Status(Code::deadline_exceeded,
                "the module is still being compiled; call ob_module_wait() first");
}

Status Kernel::set(std::size_t index, const KernelArgument& argument,
                   const std::shared_ptr<Buffer>& buffer) {
  if (index >= kMostKernelArguments) {
    return {Code::invalid_argument, "argument " + std::to_string(index) + " of a kernel (it has " +
                                        std::to_string(kMostKernelArguments) + " at most)"};
  }
  OB_ASSIGN_OR_RETURN(const KernelFacts* known, facts());
  if (known != nullptr) OB_RETURN_IF_ERROR(check_argument(known->signature, index, argument));
  if (buffer != nullptr) {
    OB_RETURN_IF_ERROR(check_extent(name, index, argument, buffer->size_bytes));
  }
  if (arguments_.size() <= index) arguments_.resize(index + 1);
  Argument& place = arguments_[index];
  place.set = true;
  place.value = argument;
  place.buffer = buffer;
  if (argument.kind == ParameterKind::scalar) {
    std::copy_n(static_cast<const std::byte*>(argument.value), argument.bytes, place.bytes.begin());
  }
  return {};
}

Status Kernel::run(QueueId queue, const std::array<std::uint32_t, 3>& groups,
                   const std::array<std::uint32_t, 3>& group_size) const {
  std::vector<KernelArgument> values;
  std::vector<std::shared_ptr<Buffer>> buffers;  // alive until the device holds them
  values.reserve(arguments_.size());
  for (const Argument& argument : arguments_) {
    const std::string what = "argument " + std::to_string(values.size()) + " of kernel " + name;
    if (!argument.set) return {Code::invalid_argument, what + " is not set"};
    values.push_back(argument.value);
    if (argument.value.kind == ParameterKind::scalar) values.back().value = argument.bytes.data();
    if (argument.value.kind != ParameterKind::buffer) continue;
    buffers.push_back(argument.buffer.lock());
    if (buffers.back() == nullptr) {
      return {Code::invalid_argument, what + " is a buffer that was destroyed; set it again"};
    }
  }
  const KernelLaunch launch{module->id, name, groups, group_size, values};
  OB_RETURN_IF_ERROR(check_extents(launch));
  OB_ASSIGN_OR_RETURN(const KernelFacts* known, facts());
  if (known != nullptr) OB_RETURN_IF_ERROR(check_launch(*known, launch));
  return (*device)->launch(queue, launch);
}

}  // namespace ob::api
