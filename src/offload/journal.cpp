#include "offload/journal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace ob::offload {

void Journal::notice(std::string_view text) noexcept {
  if (noticed_.exchange(true)) return;
  report.set_notice(text);
  if (quiet_) return;
  char line[400];
  const int n = std::snprintf(line, sizeof(line), "outboard: %.*s\n", static_cast<int>(text.size()),
                              text.data());
  const std::size_t length =
      n < 0 ? 0 : std::min<std::size_t>(static_cast<std::size_t>(n), sizeof(line) - 1);
  if (length > 0) line[length - 1] = '\n';
  if (::write(STDERR_FILENO, line, length) < 0) return;
}

}  // namespace ob::offload
