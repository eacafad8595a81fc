#include "device/kernels/refused_kernels.hpp"

namespace ob {
namespace {

class RefusedKernels final : public KernelRunner {
 public:
  Status usable() const override {
    return {Code::unsupported,
            "kernels on a device of this backend run in the daemon's own process (no other process "
            "can use its memory), and the daemon does not permit that; use a device of the cpu "
            "backend, or start the daemon with --kernels-in-process"};
  }
  bool takes(const ModuleVariant& /*variant*/) const override { return false; }
  Result<std::unique_ptr<KernelProgram>> compile(const ModuleVariant& /*variant*/,
                                                 const std::vector<Definition>& /*definitions*/,
                                                 std::string& /*log*/) const override {
    return usable();
  }
};

}  // namespace

std::shared_ptr<const KernelRunner> refused_kernels() { return std::make_shared<RefusedKernels>(); }

}  // namespace ob
