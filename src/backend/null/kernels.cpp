#include "backend/null/kernels.hpp"

#include <utility>

#include "device/kernels/prelude.hpp"
#include "device/kernels/signatures.hpp"

namespace ob::null {
namespace {

class NullProgram final : public KernelProgram {
 public:
  explicit NullProgram(std::vector<KernelFacts> kernels) : kernels_(std::move(kernels)) {}

  const std::vector<KernelFacts>& kernels() const noexcept override { return kernels_; }
  Status run(const BoundLaunch& /*launch*/, HostQueue& /*queue*/) const override { return {}; }

 private:
  const std::vector<KernelFacts> kernels_;
};

class NullKernels final : public KernelRunner {
 public:
  Status usable() const override { return {}; }
  bool takes(const ModuleVariant& variant) const override {
    return variant.kind == SourceKind::portable || variant.kind == SourceKind::opencl;
  }
  // A real backend compiles here.
  Result<std::unique_ptr<KernelProgram>> compile(const ModuleVariant& variant,
                                                 const std::vector<Definition>& definitions,
                                                 std::string& /*log*/) const override {
    std::vector<Definition> known = kernels::opencl_definitions(true);
    known.insert(known.end(), definitions.begin(), definitions.end());
    const auto dialect = variant.kind == SourceKind::portable ? kernels::Dialect::portable
                                                              : kernels::Dialect::opencl;
    OB_ASSIGN_OR_RETURN(auto signatures, kernels::parse_signatures(variant.text, dialect, known));
    std::vector<KernelFacts> facts;
    for (KernelSignature& signature : signatures) {
      facts.push_back({.signature = std::move(signature)});
    }
    return std::unique_ptr<KernelProgram>(std::make_unique<NullProgram>(std::move(facts)));
  }
};

}  // namespace

std::shared_ptr<const KernelRunner> make_kernels() { return std::make_shared<NullKernels>(); }

}  // namespace ob::null
