#pragma once
// The report of a job: each line of its programs with its time and its waits, as JSON.
// Source: docs/sial/runtime.md, "Report"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "sial/server/server.hpp"
#include "sial/worker/worker.hpp"

namespace ob::apps {

class SialReport {
 public:
  SialReport();
  ~SialReport();
  /// Adds a program that has finished.
  /// @param worker one of its workers; its counters are the sums over all workers
  /// @param server_peaks most memory of each server
  void add(const sial::WorkerSetting& setting, const sial::Worker& worker,
           const std::vector<sial::ServerPeaks>& server_peaks);
  /// Writes the file.   Errors: unavailable
  Status write(const std::string& path) const;

 private:
  struct Text;
  std::unique_ptr<Text> text_;
};

}  // namespace ob::apps
