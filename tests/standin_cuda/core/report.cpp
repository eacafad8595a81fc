#include "report.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "settings.hpp"

namespace standin {
namespace {

// Runs when the library is unloaded, after the program's own destructors.
struct AtExit {
  ~AtExit() {
    Report& report = Report::instance();
    const std::string living = report.living();
    const std::uint64_t violations = report.violations();
    if (living.empty() && violations == 0) return;
    if (!settings().quiet) {
      if (!living.empty()) std::fprintf(stderr, "standin_cuda: leaked: %s\n", living.c_str());
      if (violations != 0)
        std::fprintf(stderr, "standin_cuda: rules broken: %llu, the last: %s\n",
                     static_cast<unsigned long long>(violations), report.last_violation().c_str());
    }
    if (settings().exit_code) _exit(kDirtyExit);
  }
} g_at_exit;

}  // namespace

Report& Report::instance() {
  static auto* const kReport = new Report;  // lives longer than callers at exit
  return *kReport;
}

void Report::violation(const std::string& call, const std::string& what) {
  const std::lock_guard lock(mutex_);
  ++violations_;
  last_ = call + ": " + what;
  if (!settings().quiet) std::fprintf(stderr, "standin_cuda: rule broken: %s\n", last_.c_str());
  if (settings().abort_on_violation) std::abort();
}

void Report::born(const char* kind, std::uint64_t amount) {
  const std::lock_guard lock(mutex_);
  living_[kind] += amount;
}

void Report::died(const char* kind, std::uint64_t amount) {
  const std::lock_guard lock(mutex_);
  living_[kind] -= amount;
}

std::uint64_t Report::violations() {
  const std::lock_guard lock(mutex_);
  return violations_;
}

std::string Report::last_violation() {
  const std::lock_guard lock(mutex_);
  return last_;
}

void Report::forget_violations() {
  const std::lock_guard lock(mutex_);
  violations_ = 0;
  last_.clear();
}

std::string Report::living() {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [kind, count] : living_) {
    if (count == 0) continue;
    if (!text.empty()) text += ", ";
    text += std::to_string(count) + " " + kind;
  }
  return text;
}

}  // namespace standin
