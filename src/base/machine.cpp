#include "base/machine.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

namespace ob {
namespace {

struct Range {
  unsigned first = 0;
  unsigned last = 0;
};

// Takes the first range of the list. Empty at the end of the list, or if it is no list.
std::optional<Range> take_range(std::string_view& list) noexcept {
  Range range;
  const char* const end = list.data() + list.size();
  auto found = std::from_chars(list.data(), end, range.first);
  if (found.ec != std::errc()) return std::nullopt;
  range.last = range.first;
  if (found.ptr != end && *found.ptr == '-') {
    found = std::from_chars(found.ptr + 1, end, range.last);
    if (found.ec != std::errc() || range.last < range.first) return std::nullopt;
  }
  if (found.ptr != end && *found.ptr != ',') return std::nullopt;
  list.remove_prefix(static_cast<std::size_t>(found.ptr - list.data()));
  if (!list.empty()) list.remove_prefix(1);
  return range;
}

}  // namespace

std::uint64_t machine_id() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen("/proc/sys/kernel/random/boot_id", "re"), &std::fclose);
  char text[64] = {};
  if (file == nullptr || std::fgets(text, sizeof text, file.get()) == nullptr) return 0;
  // FNV-1a: the id itself need not leave the machine.
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char* c = text; *c != 0 && *c != '\n'; ++c) {
    hash = (hash ^ static_cast<unsigned char>(*c)) * 0x100000001b3ULL;
  }
  return hash;
}

unsigned usable_cores() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  }
  return std::max(1u, std::thread::hardware_concurrency());  // more than 1024 processors
}

std::string usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::string list;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return list;  // more than 1024 processors
  for (int first = 0; first < CPU_SETSIZE; ++first) {
    if (!CPU_ISSET(first, &set)) continue;
    int last = first;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    if (!list.empty()) list += ",";
    list += std::to_string(first);
    if (last > first) list.append("-").append(std::to_string(last));
    first = last;
  }
  return list;
}

bool have_common_processor(std::string_view one, std::string_view other) noexcept {
  while (const auto mine = take_range(one)) {
    std::string_view rest = other;
    while (const auto theirs = take_range(rest)) {
      if (mine->first <= theirs->last && theirs->first <= mine->last) return true;
    }
  }
  return false;
}

}  // namespace ob
