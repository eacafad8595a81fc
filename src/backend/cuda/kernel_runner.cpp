#include "backend/cuda/kernel_runner.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "backend/cuda/compiler.hpp"
#include "backend/cuda/kernel_code.hpp"
#include "backend/cuda/queue.hpp"
#include "device/kernels/prelude.hpp"
#include "device/kernels/signatures.hpp"

namespace ob::cuda {
namespace {

// CUDA's limit of a grid in its second and third dimension.
constexpr std::uint32_t kMostGroups = 65535;
// The alignment of local memory in the dynamic shared memory of a launch (cuda_prelude()).
constexpr std::uint64_t kLocalAlignment = 16;

// A module of the driver.
class CudaProgram final : public KernelProgram {
 public:
  CudaProgram(const Gpu& gpu, const Driver& driver) : gpu_(gpu), driver_(driver) {}
  ~CudaProgram() override {
    if (module_ != nullptr && gpu_.make_current().ok()) (void)driver_.cuModuleUnload(module_);
  }
  CudaProgram(const CudaProgram&) = delete;
  CudaProgram& operator=(const CudaProgram&) = delete;

  const std::vector<KernelFacts>& kernels() const noexcept override { return kernels_; }

  Status load(const std::string& code, std::vector<KernelSignature> signatures) {
    OB_RETURN_IF_ERROR(gpu_.make_current());
    OB_RETURN_IF_ERROR(
        driver_.check(driver_.cuModuleLoadData(&module_, code.data()), "loading a module"));
    KernelFacts limits;
    OB_RETURN_IF_ERROR(read_limits(limits));
    for (KernelSignature& signature : signatures) {
      KernelFacts facts = limits;
      facts.signature = std::move(signature);
      OB_RETURN_IF_ERROR(add(std::move(facts)));
    }
    return {};
  }

  Status run(const BoundLaunch& launch, HostQueue& queue) const override {
    const KernelSignature& kernel = kernels_[launch.kernel].signature;
    if (std::max(launch.groups[1], launch.groups[2]) > kMostGroups) {
      return {Code::invalid_argument,
              "kernel " + kernel.name + ": more than " + std::to_string(kMostGroups) +
                  " groups in the second or third dimension; use the first one"};
    }
    std::array<void*, kMostKernelArguments> places{};
    std::array<unsigned, kMostKernelArguments> offsets{};
    std::uint64_t local_bytes = 0;
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      const BoundArgument& argument = launch.arguments[i];
      places[i] = argument.data;
      if (argument.kind == ParameterKind::buffer) {
        places[i] = const_cast<std::byte**>(&argument.data);  // only read
      }
      if (argument.kind != ParameterKind::local) continue;
      offsets[i] = static_cast<unsigned>(local_bytes);
      places[i] = &offsets[i];
      local_bytes += (argument.bytes + kLocalAlignment - 1) / kLocalAlignment * kLocalAlignment;
    }
    return driver_.check(
        driver_.cuLaunchKernel(functions_[launch.kernel], launch.groups[0], launch.groups[1],
                               launch.groups[2], launch.group_size[0], launch.group_size[1],
                               launch.group_size[2], static_cast<unsigned>(local_bytes),
                               static_cast<CudaQueue&>(queue).context().stream, places.data(),
                               nullptr),
        ("kernel " + kernel.name).c_str());
  }

 private:
  Status read_limits(KernelFacts& limits) const {
    constexpr std::array<cudaDeviceAttr, 3> kExtents{
        cudaDevAttrMaxBlockDimX, cudaDevAttrMaxBlockDimY, cudaDevAttrMaxBlockDimZ};
    for (std::size_t i = 0; i < kExtents.size(); ++i) {
      OB_ASSIGN_OR_RETURN(limits.largest_extents[i], device_value(kExtents[i]));
    }
    OB_ASSIGN_OR_RETURN(limits.largest_local_bytes,
                        device_value(cudaDevAttrMaxSharedMemoryPerBlock));
    return {};
  }
  Result<std::uint64_t> device_value(cudaDeviceAttr what) const {
    int value = 0;
    OB_RETURN_IF_ERROR(gpu_.runtime().check(
        gpu_.runtime().cudaDeviceGetAttribute(&value, what, gpu_.ordinal), "asking for a limit"));
    return static_cast<std::uint64_t>(std::max(0, value));
  }
  Result<std::uint64_t> function_value(CUfunction function, CUfunction_attribute what) const {
    int value = 0;
    OB_RETURN_IF_ERROR(
        driver_.check(driver_.cuFuncGetAttribute(&value, what, function), "asking for a limit"));
    return static_cast<std::uint64_t>(std::max(0, value));
  }

  Status add(KernelFacts facts) {
    CUfunction function = nullptr;
    const std::string& name = facts.signature.name;
    const CUresult found = driver_.cuModuleGetFunction(&function, module_, name.c_str());
    if (found == CUDA_ERROR_NOT_FOUND) {
      return {Code::build_failed, "kernel " + name + " has no body"};
    }
    OB_RETURN_IF_ERROR(driver_.check(found, name.c_str()));
    OB_ASSIGN_OR_RETURN(facts.largest_group,
                        function_value(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
    OB_ASSIGN_OR_RETURN(facts.static_local_bytes,
                        function_value(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
    kernels_.push_back(std::move(facts));
    functions_.push_back(function);
    return {};
  }

  const Gpu gpu_;
  const Driver& driver_;
  CUmodule module_ = nullptr;
  std::vector<KernelFacts> kernels_;
  std::vector<CUfunction> functions_;
};

}  // namespace

Status CudaKernelRunner::usable() const {
  Status status = gpu_.libraries.driver().status();
  if (status.ok()) status = gpu_.libraries.nvrtc().status();
  if (status.ok()) return {};
  return {Code::unsupported, "kernels need the driver and NVRTC (" + status.message() + ")"};
}

Result<std::unique_ptr<KernelProgram>> CudaKernelRunner::compile(
    const ModuleVariant& variant, const std::vector<Definition>& definitions,
    std::string& log) const {
  OB_ASSIGN_OR_RETURN(const Driver* driver, gpu_.libraries.driver());
  OB_ASSIGN_OR_RETURN(const NvrtcTable* compiler, gpu_.libraries.nvrtc());
  std::vector<Definition> known = kernels::cuda_definitions();
  known.insert(known.end(), definitions.begin(), definitions.end());
  OB_ASSIGN_OR_RETURN(auto signatures,
                      kernels::parse_signatures(variant.text, kernels::Dialect::portable, known));
  OB_ASSIGN_OR_RETURN(const int capability, compute_capability(gpu_));
  std::vector<std::string> texts{architecture_option(capability)};
  for (const std::string_view option : kernels::cuda_options()) texts.emplace_back(option);
  std::vector<const char*> options;
  for (const std::string& text : texts) options.push_back(text.c_str());
  const std::string source =
      kernels::with_prelude(kernels::cuda_prelude(), definitions, variant.text);
  const auto code = compile_cuda(*compiler, source, "module", options, log);
  if (code.status().code() == Code::build_failed) {
    return Status(Code::build_failed, "the module does not compile (" + first_error(log) +
                                          "); the module's log has all of the compiler's words");
  }
  if (!code.ok()) return code.status();
  auto program = std::make_unique<CudaProgram>(gpu_, *driver);
  OB_RETURN_IF_ERROR(program->load(*code, std::move(signatures)));
  return std::unique_ptr<KernelProgram>(std::move(program));
}

}  // namespace ob::cuda
