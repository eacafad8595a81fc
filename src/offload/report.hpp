#pragma once
// The counters of an engine: their memory, the search for rows, and printing.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "algorithms/call_timings.hpp"
#include "offload/config.hpp"
#include "offload/report_block.hpp"

namespace ob::offload {

/// Threads: any. Rows are added under a lock, counters are relaxed atomics.
class Report {
 public:
  /// Maps PATH/report.<pid>.bin (or .<pid>.<n>.bin after an exec) if the config names a directory,
  /// else uses private memory.
  explicit Report(const Config& config) noexcept;
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  /// True if the counters are used, so that every call must be counted.
  bool wanted() const noexcept { return wanted_; }
  /// The routine's row, made on first use; nullptr once kReportRows are in use.
  ReportRow* row(std::string_view name) noexcept;
  /// Memory: `address` outlives the report
  void set_server(std::string_view address) noexcept;
  void set_notice(std::string_view text) noexcept;
  /// @param text constant; the same object each time costs nothing
  void set_reason(std::string_view text) noexcept;
  /// Units: seconds, since the start
  void set_loss(double spent_s, double lost_s) noexcept;
  /// Prints a plain table to stderr, if Config::report_to_stderr asks for one and a call was
  /// counted.
  void print() const noexcept;

 private:
  ReportBlock* block_ = nullptr;
  bool wanted_ = false;
  bool to_stderr_ = false;
  std::atomic<const char*> server_{nullptr};  // the address in the block
  std::atomic<const char*> reason_{nullptr};  // the reason in the block
  std::mutex mutex_;                          // guards the texts and the making of rows
};

inline void add(Counter& counter, std::uint64_t amount) noexcept {
  counter.fetch_add(amount, std::memory_order_relaxed);
}

/// Adds one remote call's timings to a row. nullptr rows are ignored.
void count_remote(ReportRow* row, const algorithms::CallTimings& timings, std::uint64_t whole_ns,
                  double flops) noexcept;

}  // namespace ob::offload
