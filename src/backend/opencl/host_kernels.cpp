#include "backend/opencl/host_kernels.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "backend/opencl/kernel_program.hpp"

namespace ob::opencl {
namespace {

constexpr std::string_view kCallingThread = "basic";  // the name of PoCL's device without threads
constexpr std::uint64_t kFewLaunches = 64;

// The processor as an OpenCL device, with a queue of this runner. Programs keep it alive.
struct Processor {
  const Cl& cl;
  const Accelerator& accelerator;
  cl_command_queue queue = nullptr;
  std::shared_ptr<const Processor> calling_thread;  // nullptr: PoCL does not offer it here

  Processor(const Cl& table, const Accelerator& found) : cl(table), accelerator(found) {}
  ~Processor() {
    if (queue != nullptr) (void)cl.clReleaseCommandQueue(queue);
  }
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;
};
using ProcessorPtr = std::shared_ptr<const Processor>;

Result<std::shared_ptr<Processor>> open_one(const Cl& cl, const Accelerator& found) {
  auto processor = std::make_shared<Processor>(cl, found);
  cl_int result = CL_SUCCESS;
  processor->queue = cl.clCreateCommandQueue(found.context, found.device, 0, &result);
  OB_RETURN_IF_ERROR(Cl::check(result, "making a queue"));
  return processor;
}

Result<ProcessorPtr> open_processor() {
  OB_ASSIGN_OR_RETURN(const Cl* cl, Cl::get());
  OB_ASSIGN_OR_RETURN(const auto* all, Accelerator::all());
  const auto find = [&](bool calling_thread) {
    return std::find_if(all->begin(), all->end(), [&](const Accelerator& a) {
      return a.uses_host_pointers && a.name.starts_with(kCallingThread) == calling_thread;
    });
  };
  const auto with_threads = find(false);
  const auto without = find(true);
  const auto found = with_threads != all->end() ? with_threads : without;
  if (found == all->end()) return Status(Code::unavailable, "OpenCL has no PoCL here");
  OB_ASSIGN_OR_RETURN(const auto processor, open_one(*cl, *found));
  if (without != all->end() && found != without) {
    OB_ASSIGN_OR_RETURN(processor->calling_thread, open_one(*cl, *without));
  }
  return ProcessorPtr(processor);
}

class HostProgram final : public ClKernelProgram {
 public:
  HostProgram(ProcessorPtr processor, Compiled compiled, ModuleVariant source,
              std::vector<Definition> definitions)
      : ClKernelProgram(processor->cl, std::move(compiled)),
        processor_(std::move(processor)),
        source_(std::move(source)),
        definitions_(std::move(definitions)) {}

  // To wake threads and wait for them costs some ten microseconds. One group has one thread in any
  // case. Programs with few such launches do not pay for another compilation.
  Status run(const BoundLaunch& launch, HostQueue& queue) const override {
    const bool one_group = std::all_of(launch.groups.begin(), launch.groups.end(),
                                       [](std::uint32_t count) { return count == 1; });
    if (one_group && processor_->calling_thread != nullptr && ++of_one_group_ > kFewLaunches) {
      std::call_once(once_, [this] { calling_thread_ = compile_for_calling_thread(); });
      if (calling_thread_ != nullptr) return calling_thread_->run(launch, queue);
    }
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
  std::unique_ptr<KernelProgram> compile_for_calling_thread() const {
    const ProcessorPtr& other = processor_->calling_thread;
    std::string same_words;
    auto compiled =
        ClKernelProgram::compile(other->cl, other->accelerator, source_, definitions_, same_words);
    if (!compiled.ok()) return nullptr;
    return std::make_unique<HostProgram>(other, std::move(compiled).value(), ModuleVariant{},
                                         std::vector<Definition>{});
  }

  const ProcessorPtr processor_;
  const ModuleVariant source_;
  const std::vector<Definition> definitions_;
  mutable std::atomic<std::uint64_t> of_one_group_{0};
  mutable std::once_flag once_;
  mutable std::unique_ptr<KernelProgram> calling_thread_;  // nullptr: it could not be compiled
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
    return std::unique_ptr<KernelProgram>(
        std::make_unique<HostProgram>(on, std::move(compiled), variant, definitions));
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
