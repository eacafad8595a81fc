#pragma once
// All memory that devices know: theirs, and the page-locked memory of the host.

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

/// Memory of a device.
struct Block {
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  int device = 0;
  std::vector<Use> uses;  ///< by whom, in the order of submission: what races are found with
};

/// Page-locked memory of the host.
struct Pinned {
  std::size_t bytes = 0;
  unsigned flags = 0;
  bool allocated = false;  ///< by cudaHostAlloc; else registered
};

/// Threads: any
class Memory {
 public:
  static Memory& instance();

  /// nullptr if the device's cap is reached (or its part of the machine's memory).
  void* allocate(int device, std::size_t bytes);
  /// False if `p` is not the begin of a block. The device must be done with it.
  bool release(void* p, const char* call);
  /// Forgets a block but keeps its memory, until the function that it returns is called.
  std::optional<Block> detach(void* p);
  void drop(const Block& block, const char* call);

  /// The block around `p`; nullptr if none.
  std::shared_ptr<Block> find(const void* p);
  /// Why there is none: "a host pointer", "freed memory"...
  std::string why_none(const void* p);
  std::uint64_t used_bytes(int device);
  /// All blocks of a device are gone.
  void reset(int device);

  void* allocate_pinned(std::size_t bytes, unsigned flags);
  bool release_pinned(void* p);
  /// 0, or why not: 1: some of it is registered
  int register_pinned(void* p, std::size_t bytes, unsigned flags);
  bool unregister_pinned(void* p);
  /// The page-locked range around all of [p, p + bytes), with its begin.
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
