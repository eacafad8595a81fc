#pragma once
// OUTBOARD_VERIFY: remote calls whose results are checked before the program sees them. A result
// that is wrong is a failure like any other: the caller's memory is as before, and the original
// runs. docs/verification.md

#include <cstdint>
#include <span>
#include <vector>

#include "base/host_scratch.hpp"
#include "offload/attempts.hpp"
#include "offload/fft_transform.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"
#include "verify/verification.hpp"

namespace ob::offload {

/// Runs another job, then checks its results.
/// Memory: keeps copies of what the job reads as well as writes, from before it ran
class VerifiedJob : public RemoteJob {
 public:
  Status run(State& state, client::AcquiredDevice& acquired,
             algorithms::CallTimings& timings) final;

 protected:
  VerifiedJob(RemoteJob& job, RoutineRecord& record, std::string_view name)
      : job_(job), record_(record), name_(name) {}

 private:
  /// Copies aside what the call will overwrite. False if there is no check, or no memory.
  virtual bool save() = 0;
  virtual verify::Verification verify() = 0;
  /// Puts the copies back.
  virtual void restore() noexcept = 0;

  bool try_to_save() noexcept;

  RemoteJob& job_;
  RoutineRecord& record_;
  std::string_view name_;
  bool asked_ = false;
  bool saved_ = false;
};

/// One call, or the calls of a batch.   Memory: does not own the calls
class VerifiedCalls final : public VerifiedJob {
 public:
  VerifiedCalls(RemoteJob& job, RoutineRecord& record, const Descriptor& routine,
                std::span<const Argument* const> calls)
      : VerifiedJob(job, record, routine.name),
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
  VerifiedFft(RemoteJob& job, RoutineRecord& record, std::string_view name,
              const FftTransform& transform, void* input, void* output)
      : VerifiedJob(job, record, name), transform_(transform), input_(input), output_(output) {}

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
