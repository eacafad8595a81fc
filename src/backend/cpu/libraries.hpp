#pragma once
// The libraries of a cpu device, and calls to them in this process.

#include <array>
#include <memory>
#include <string>

#include "backend/cpu/blas_library.hpp"
#include "backend/cpu/call_runner.hpp"
#include "backend/cpu/fft_library.hpp"
#include "base/status.hpp"
#include "device/host_call.hpp"

namespace ob::cpu {

/// The libraries, or the reasons why they are absent.
struct Libraries {
  std::unique_ptr<BlasLibrary> blas;
  Status no_blas;
  std::array<std::shared_ptr<const FftLibrary>, 2> fft;  // double, single
  std::array<Status, 2> no_fft;

  /// Opens the libraries. This sets environment variables for a moment.
  /// @param own_instance as BlasLibrary::Config's
  static std::shared_ptr<const Libraries> open(bool own_instance, unsigned threads);
  /// Finds the library that makes a plan.   Errors: those of no_fft
  Result<std::shared_ptr<const FftLibrary>> fft_for(const FftPlan& plan) const;
  /// Describes the libraries to people.
  std::string description() const;
};

/// Checks a call, resolves its operands, and finds its routine.
/// Errors: unsupported if the library lacks it; those of resolve_call()
Status prepare_call(const Libraries& libraries, const MemoryTable& memory,
                    const Descriptor& routine, const Argument* arguments, HostCall& call);

/// Runs calls and transforms in this process. Computations cannot be stopped.
class LocalRunner final : public CallRunner {
 public:
  LocalRunner(std::shared_ptr<const Libraries> libraries, unsigned threads)
      : libraries_(std::move(libraries)), threads_(threads) {}

  Status prepare(const Account&) override { return {}; }
  Status run(const HostCall& call, const Caller& caller) override;
  Result<std::shared_ptr<TransformPlan>> plan(const FftPlan& plan, const Account& account) override;

 private:
  const std::shared_ptr<const Libraries> libraries_;
  const unsigned threads_;
};

}  // namespace ob::cpu
