#pragma once
// The trace of a SIAL job as events for Perfetto, one per line.   docs/sial/runtime.md, "Trace"

#include <cstdint>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.hpp"
#include "sial/trace/run_trace.hpp"
#include "sial_options.hpp"

namespace ob::apps {

/// Writes the events of one process. Times count from its creation, which all ranks do together.
/// Threads: any
class SialTrace final : public sial::RunTrace {
 public:
  /// @param process its number, the end of the file's name
  /// Errors: unavailable if the file cannot be written
  static Result<std::unique_ptr<SialTrace>> create(const SialOptions& options, sial::Rank process);

  void add(const sial::TraceSlice& slice) override;
  /// Names the ranks whose events follow.
  void name_ranks(sial::Rank first, sial::Rank count);
  /// Ends the file. Nothing may be added afterwards.   Errors: unavailable if some of it is missing
  Status finish();

 private:
  SialTrace(std::string path, std::ofstream file, sial::Rank workers);
  void write_left_out();
  void write(const std::string& event);

  std::mutex mutex_;
  const std::string path_;
  std::ofstream file_;
  const sial::Rank workers_;
  const std::int64_t origin_ns_;
  std::uint64_t events_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace ob::apps
