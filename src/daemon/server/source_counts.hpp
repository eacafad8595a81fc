#pragma once
// The rule that keeps one source of connections from taking the places of others.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>

namespace ob::daemon {

/// Counts entries by source (source_of()): at most `most`, and at most half as many of one source.
/// A new entry of a source that has its half replaces that source's oldest one. If all places are
/// taken, it replaces the oldest entry of the source that has the most. So a flood from one source
/// displaces its own entries only.
/// Threads: one at a time
class SourceCounts {
 public:
  explicit SourceCounts(std::size_t most) : most_(most) {}

  std::size_t most_of_source() const noexcept { return std::max<std::size_t>(1, most_ / 2); }
  /// Returns the source whose oldest entry gives way to a new one of `source`; nothing if there is
  /// room.
  std::optional<std::string> gives_way_to(const std::string& source) const {
    const auto known = counts_.find(source);
    if (known != counts_.end() && known->second >= most_of_source()) return source;
    if (all_ < most_ || counts_.empty()) return std::nullopt;
    return std::max_element(counts_.begin(), counts_.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  void add(const std::string& source) {
    ++counts_[source];
    ++all_;
  }
  /// @pre the source has an entry
  void remove(const std::string& source) {
    const auto at = counts_.find(source);
    if (--at->second == 0) counts_.erase(at);
    --all_;
  }
  void clear() noexcept {
    counts_.clear();
    all_ = 0;
  }

 private:
  const std::size_t most_;
  std::unordered_map<std::string, std::size_t> counts_;
  std::size_t all_ = 0;
};

}  // namespace ob::daemon
