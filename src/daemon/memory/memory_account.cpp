#include "daemon/memory/memory_account.hpp"

#include <string>

namespace ob::daemon {

Result<Reservation> MemoryAccount::reserve(const std::shared_ptr<MemoryAccount>& account,
                                           std::uint64_t size_bytes) {
  std::uint64_t used = account->used_bytes_;
  do {
    if (size_bytes > account->limit_bytes_ - used) {
      return Status(Code::out_of_memory,
                    "no room for " + std::to_string(size_bytes) + " bytes in this session (" +
                        std::to_string(used) + " of its " + std::to_string(account->limit_bytes_) +
                        " are in use); free some or raise " + account->option_);
    }
  } while (!account->used_bytes_.compare_exchange_weak(used, used + size_bytes));
  return Reservation(account, size_bytes);
}

}  // namespace ob::daemon
