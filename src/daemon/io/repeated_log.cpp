#include "daemon/io/repeated_log.hpp"

namespace ob::daemon {
namespace {

// Sources beyond this number are counted together, so that a flood from many addresses takes little
// memory and few lines.
constexpr std::size_t kMaxKnown = 64;
constexpr const char* kOthers = "other addresses";

}  // namespace

void RepeatedLog::add(const std::string& source, Code kind, const std::string& line,
                      Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  end_periods(now);
  auto at = repeats_.find({source, kind});
  if (at == repeats_.end()) {
    const std::string& known = repeats_.size() < kMaxKnown ? source : kOthers;
    const auto [place, fresh] = repeats_.try_emplace({known, kind}, Repeats{now});
    if (fresh) return write_(line);
    at = place;
  }
  ++at->second.count;
}

void RepeatedLog::write_counts(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  end_periods(now);
}

void RepeatedLog::end_periods(Clock::time_point now) {
  for (auto at = repeats_.begin(); at != repeats_.end();) {
    const auto& [key, repeats] = *at;
    if (now - repeats.since < kPeriod) {
      ++at;
      continue;
    }
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - repeats.since);
    if (repeats.count > 0) {
      write_("and " + std::to_string(repeats.count) + " more like this from " + key.first +
             " in the last " + std::to_string(seconds.count()) + " s");
    }
    at = repeats_.erase(at);
  }
}

}  // namespace ob::daemon
