#include "backend/cpu/host_routines.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "backend/cpu/blas_library.hpp"
#include "backend/cpu/call_checks.hpp"
#include "backend/cpu/refusal.hpp"

namespace ob::cpu {
namespace {

class CpuHostRoutines final : public HostRoutines {
 public:
  explicit CpuHostRoutines(std::unique_ptr<BlasLibrary> library) : library_(std::move(library)) {}

  bool has(const Descriptor& routine) const noexcept override {
    return library_->find(routine.id) != nullptr;
  }

  Status run(const Descriptor& routine, const Argument* arguments) const override {
    const std::string name(routine.name);
    const BlasLibrary::Routine* found = library_->find(routine.id);
    if (found == nullptr) {
      return {Code::unsupported,
              name + " is not in this machine's library (" + library_->description() + ")"};
    }
    OB_RETURN_IF_ERROR(check_for_library(routine, arguments));
    Argument call[kMaxArguments];
    std::copy(arguments, arguments + routine.kinds.size(), call);
    drop_product_if_alpha_zero(routine, call);
    if (!library_->run(*found, call)) {
      return {Code::out_of_memory, name + ": no memory for the workspace of this call"};
    }
    const std::string refusal = take_refusal();
    if (refusal.empty()) return {};
    return {Code::invalid_argument, name + ": this machine's library refuses it (" + refusal + ")"};
  }

 private:
  const std::unique_ptr<BlasLibrary> library_;
};

}  // namespace

Result<std::unique_ptr<HostRoutines>> open_host_routines(unsigned threads) {
  OB_ASSIGN_OR_RETURN(std::unique_ptr<BlasLibrary> library,
                      BlasLibrary::open({.own_instance = false, .threads = threads}));
  return std::unique_ptr<HostRoutines>(new CpuHostRoutines(std::move(library)));
}

}  // namespace ob::cpu
