#pragma once
// The ways to move messages while the program computes.

#include <array>
#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace ob::overlap {

/// Values of OB_OVERLAP_... in outboard/overlap.h.
enum class Mode : std::int32_t {
  automatic = 0,  ///< the first iterations measure the others
  sync = 1,       ///< start() waits
  async = 2,      ///< start() posts, and wait() moves
  ticked = 3,     ///< tick() moves
  shared = 4,     ///< a thread on the cores of the computation moves, and sleeps between
  proxy = 5,      ///< a thread with a core of its own moves
};
constexpr int kModes = 6;

constexpr std::array<const char*, kModes> kModeNames{"automatic", "sync",   "async",
                                                     "ticked",    "shared", "proxy"};

constexpr const char* to_string(Mode mode) noexcept { return kModeNames[std::size_t(mode)]; }
/// Errors: invalid_argument if no mode has this name.
Result<Mode> mode_named(const std::string& name);
constexpr bool has_thread(Mode mode) noexcept {
  return mode == Mode::shared || mode == Mode::proxy;
}

}  // namespace ob::overlap
