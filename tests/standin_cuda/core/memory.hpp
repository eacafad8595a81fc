#pragma once
// All memory that devices know: device memory, and the page-locked memory of the host.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "region.hpp"

namespace standin {

/// A block of device memory.
struct Block {
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  int device = 0;
  std::vector<Use> uses;  ///< accesses in the order of submission, for the race search
};

/// A page-locked range of host memory.
struct Pinned {
  std::size_t bytes = 0;
  unsigned flags = 0;
  bool allocated = false;  ///< by cudaHostAlloc; false: registered
};

/// Threads: any
class Memory {
 public:
  static Memory& instance();

  /// Returns nullptr if the device's memory limit (or its part of the machine's memory) is reached.
  void* allocate(int device, std::size_t bytes);
  /// Returns false if `p` is not the start of a block. The device must be done with it.
  bool release(void* p, const char* call);
  /// Forgets a block but keeps its memory; drop() frees it.
  std::optional<Block> detach(void* p);
  void drop(const Block& block, const char* call);

  /// Returns the block around `p`; nullptr if there is none.
  std::shared_ptr<Block> find(const void* p);
  /// Returns the reason why there is no block: "a host pointer", "freed memory"...
  std::string why_none(const void* p);
  std::uint64_t used_bytes(int device);
  /// Frees all blocks of a device.
  void reset(int device);

  void* allocate_pinned(std::size_t bytes, unsigned flags);
  bool release_pinned(void* p);
  /// Returns 0 on success, 1 if part of the range is registered already.
  int register_pinned(void* p, std::size_t bytes, unsigned flags);
  bool unregister_pinned(void* p);
  /// Returns the page-locked range that contains [p, p + bytes), with its start.
  std::optional<std::pair<std::uintptr_t, Pinned>> find_pinned(const void* p, std::size_t bytes);

 private:
  Memory() = default;
  std::mutex mutex_;
  std::map<std::uintptr_t, std::shared_ptr<Block>> blocks_;
  std::map<std::uintptr_t, std::size_t> freed_;
  std::map<int, std::uint64_t> used_;
  std::map<std::uintptr_t, Pinned> pinned_;
};

}  // namespace standin
