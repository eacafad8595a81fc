#pragma once
// The last line that a rank has executed, in memory that outlives the rank.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "sial/code/program.hpp"

namespace ob::sial {

/// Lies in memory that the rank shares with the process that watches it.
/// Threads: one writes; any reads
class LastLine {
 public:
  /// Names the sources of a program that begins.
  void begin(const Program& program) noexcept {
    place_.store(0, std::memory_order_relaxed);
    std::size_t at = 0;
    for (std::size_t i = 0; i < program.sources.size(); ++i) {
      const std::string& name = i == 0 ? program.name : program.sources[i].name;
      if (at + name.size() + 2 > names_.size()) break;
      std::memcpy(names_.data() + at, name.c_str(), name.size() + 1);
      at += name.size() + 1;
    }
    names_[at] = '\0';
  }
  void set(const Line& line) noexcept {
    place_.store(std::uint64_t{line.source} << 32 | line.line, std::memory_order_relaxed);
  }
  /// Notes the super-instruction that is being executed; empty: none is.
  void set_call(std::string_view name) noexcept {
    const std::size_t length = std::min(name.size(), call_.size() - 1);
    std::memcpy(call_.data(), name.data(), length);
    call_[length] = '\0';
  }

  /// Returns the line as `program:line`; empty if no line was executed.
  std::string text() const {
    const std::uint64_t place = place_.load(std::memory_order_relaxed);
    if (place == 0) return {};
    const char* name = names_.data();
    for (std::uint64_t left = place >> 32; left > 0 && *name != '\0'; --left) {
      name += std::strlen(name) + 1;
    }
    return std::string(name) + ":" + std::to_string(place & 0xffffffff);
  }
  /// Returns the super-instruction that is being executed; empty if none is.
  std::string call() const { return call_.data(); }

 private:
  std::atomic<std::uint64_t> place_ = 0;  // number of the source, line
  std::array<char, 256> call_{};
  std::array<char, 16384> names_{};  // of the sources, each with a NUL; an empty one ends them
};

}  // namespace ob::sial
