#pragma once
// The machine that this process runs on, and its processors.

#include <cstdint>
#include <string>
#include <string_view>

namespace ob {

/// Names this machine until it boots again. Processes in containers of one machine get the same
/// number. 0 if the kernel does not tell.   Source: proc(5), /proc/sys/kernel/random/boot_id
std::uint64_t machine_id();

/// The processors that the calling thread may use, as the kernel lists them: "0-3,8". Empty if they
/// are unknown.
std::string usable_processors();

/// Returns the number of processors that the calling thread may use, at least 1.
/// Cost: a system call
unsigned usable_cores() noexcept;

/// True if both lists name a common processor. False for an empty list, or one that is no list.
bool have_common_processor(std::string_view one, std::string_view other) noexcept;

}  // namespace ob
