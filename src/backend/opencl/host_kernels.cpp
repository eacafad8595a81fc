#include "backend/opencl/host_kernels.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "backend/opencl/kernel_program.hpp"

namespace ob::opencl {
namespace {

// The processor as an OpenCL device, with a queue of this runner. Programs keep it alive.
struct Processor {
  const Cl& cl;
  const Accelerator& accelerator;
  cl_command_queue queue = nullptr;

  Processor(const Cl& table, const Accelerator& found) : cl(table), accelerator(found) {}
  ~Processor() {
    if (queue != nullptr) (void)cl.clReleaseCommandQueue(queue);
  }
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;
};
using ProcessorPtr = std::shared_ptr<const Processor>;

Result<ProcessorPtr> open_processor() {
  OB_ASSIGN_OR_RETURN(const Cl* cl, Cl::get());
  OB_ASSIGN_OR_RETURN(const auto* all, Accelerator::all());
  const auto found = std::find_if(all->begin(), all->end(),
                                  [](const Accelerator& a) { return a.uses_host_pointers; });
  if (found == all->end()) return Status(Code::unavailable, "OpenCL has no PoCL here");
  const auto processor = std::make_shared<Processor>(*cl, *found);
  cl_int result = CL_SUCCESS;
  processor->queue = cl->clCreateCommandQueue(found->context, found->device, 0, &result);
  OB_RETURN_IF_ERROR(Cl::check(result, "making a queue"));
  return ProcessorPtr(processor);
}

class HostProgram final : public ClKernelProgram {
 public:
  HostProgram(ProcessorPtr processor, Compiled compiled)
      : ClKernelProgram(processor->cl, std::move(compiled)), processor_(std::move(processor)) {}

  Status run(const BoundLaunch& launch, HostQueue& /*queue*/) const override {
    return run_on(processor_->queue, launch);
  }

 protected:
  Result<KernelBuffer> buffer_of(const BoundArgument& argument) const override {
    cl_int result = CL_SUCCESS;
    const cl_mem memory = cl().clCreateBuffer(processor_->accelerator.context,
                                              CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                              argument.bytes, argument.data, &result);
    OB_RETURN_IF_ERROR(Cl::check(result, "its memory"));
    return KernelBuffer{memory, true};
  }

 private:
  const ProcessorPtr processor_;
};

class HostKernels final : public KernelRunner {
 public:
  Status usable() const override {
    const Status status = processor().status();
    if (status.ok()) return {};
    return {Code::unsupported,
            "kernels on the processor need PoCL, the Debian package pocl-opencl-icd (" +
                status.message() + ")"};
  }

  bool takes(const ModuleVariant& variant) const override {
    return variant.kind == SourceKind::portable || variant.kind == SourceKind::opencl;
  }

  Result<std::unique_ptr<KernelProgram>> compile(const ModuleVariant& variant,
                                                 const std::vector<Definition>& definitions,
                                                 std::string& log) const override {
    OB_RETURN_IF_ERROR(usable());
    const ProcessorPtr& on = processor().value();
    OB_ASSIGN_OR_RETURN(auto compiled, ClKernelProgram::compile(on->cl, on->accelerator, variant,
                                                                definitions, log));
    return std::unique_ptr<KernelProgram>(std::make_unique<HostProgram>(on, std::move(compiled)));
  }

 private:
  // A processor that could not be opened is not tried again.
  const Result<ProcessorPtr>& processor() const {
    std::call_once(once_, [this] { processor_.emplace(open_processor()); });
    return *processor_;
  }

  mutable std::once_flag once_;
  mutable std::optional<Result<ProcessorPtr>> processor_;
};

}  // namespace

std::shared_ptr<const KernelRunner> make_host_kernels() { return std::make_shared<HostKernels>(); }

}  // namespace ob::opencl
