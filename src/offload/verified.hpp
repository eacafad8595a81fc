#pragma once
// Config::verify: the results of remote calls are checked before the program sees them. A wrong
// result is a failure like any other: the caller's memory is as before, and the call runs locally.
// docs/verification.md

#include <cstdint>
#include <span>
#include <vector>

#include "base/host_scratch.hpp"
#include "offload/device_job.hpp"
#include "offload/fft_transform.hpp"
#include "offload/report_block.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"
#include "verify/verification.hpp"

namespace ob::offload {

/// Runs another job, then checks its results.
/// Memory: keeps copies of operands that the job both reads and writes, from before the run
class VerifiedJob : public DeviceJob {
 public:
  Status run(client::AcquiredDevice& acquired, algorithms::CallTimings& timings) final;

 protected:
  VerifiedJob(DeviceJob& job, std::string_view name, ReportRow* row)
      : job_(job), name_(name), row_(row) {}

 private:
  /// Copies the operands that the call will overwrite. False if there is no check, or no memory.
  virtual bool save() = 0;
  virtual verify::Verification verify() = 0;
  /// Puts the copies back.
  virtual void restore() noexcept = 0;

  bool try_to_save() noexcept;

  DeviceJob& job_;
  const std::string_view name_;
  ReportRow* const row_;  // nullptr: nothing is counted
  bool asked_ = false;
  bool saved_ = false;
};

/// One call, or the calls of a batch.   Memory: does not own the calls
class VerifiedCalls final : public VerifiedJob {
 public:
  VerifiedCalls(DeviceJob& job, ReportRow* row, const Descriptor& routine,
                std::span<const Argument* const> calls)
      : VerifiedJob(job, routine.name, row),
        routine_(routine),
        calls_(calls.begin(), calls.end()) {}

 private:
  struct Saved {
    std::size_t call;
    Operand operand;
    HostScratch memory;
  };

  bool save() override;
  verify::Verification verify() override;
  void restore() noexcept override;

  const Descriptor& routine_;
  std::vector<const Argument*> calls_;
  std::vector<Saved> originals_;
};

class VerifiedFft final : public VerifiedJob {
 public:
  VerifiedFft(DeviceJob& job, std::string_view name, ReportRow* row, const FftTransform& transform,
              const FftArrays& arrays)
      : VerifiedJob(job, name, row),
        transform_(transform),
        input_(arrays.input),
        output_(arrays.output) {}

 private:
  bool save() override;
  verify::Verification verify() override;
  void restore() noexcept override;

  const FftTransform& transform_;
  void* input_;
  void* output_;
  std::vector<HostScratch> memory_;  // the input, packed, if it is the output as well
};

}  // namespace ob::offload
