#pragma once
// The table of the plans that may leave the machine. It maps a native plan pointer to the knowledge
// about the plan. Plans that are not in the table go straight to the native library.

#include <atomic>
#include <cstdint>
#include <mutex>

#include "interpose/fftw_problem.hpp"

namespace ob::interpose {

/// The native functions of the library copy that made a plan; executing or destroying it with
/// another copy crashes.
/// Memory: one per library copy and precision, never freed.
struct FftwProvider {
  void (*execute)(const void* plan) = nullptr;
  /// The functions of new-array execution, nullptr if the copy lacks one. FftKind is the index:
  /// execute_dft, execute_dft_r2c, execute_dft_c2r, execute_r2r.
  void (*execute_new[kFftKinds])(const void* plan, void* input, void* output) = {};
  void (*execute_split)(const void* plan, void* ri, void* ii, void* ro, void* io) = nullptr;
  void (*execute_split_r2c)(const void* plan, void* in, void* ro, void* io) = nullptr;
  void (*execute_split_c2r)(const void* plan, void* ri, void* ii, void* out) = nullptr;
  void (*destroy)(void* plan) = nullptr;
};

/// The knowledge about one native plan. Immutable once inserted.
struct FftwPlan {
  FftwOffload offload;
  FftDecision decision = FftDecision::local;
  FftwArrays arrays;  ///< the arrays of fftw_execute
  const FftwProvider* provider = nullptr;
};

/// A side table that is sharded by pointer.
/// Threads: any. find() takes no lock; it repeats if a writer of the same shard was busy. Writers
///          lock one shard. A plan must not be erased while it is executed, as with the native
///          library. At a fork lock() is called before it and unlock() after it in both processes,
///          so that no child inherits a half-written shard.
/// Memory:  owns neither keys nor plans; grows and never shrinks. Outgrown arrays stay, because
///          readers may still use them. Usable before constructors and after destructors.
class FftwPlanTable {
 public:
  constexpr FftwPlanTable() noexcept = default;
  FftwPlanTable(const FftwPlanTable&) = delete;
  FftwPlanTable& operator=(const FftwPlanTable&) = delete;

  /// nullptr if unknown.
  FftwPlan* find(const void* key) const noexcept;

  /// Puts `plan` in. `replaced` gets the earlier plan with the same key, or nullptr. An earlier
  /// plan exists if the native library reused an address whose free did not pass through this
  /// library. False if memory runs out.
  /// @pre key != nullptr
  bool insert(const void* key, FftwPlan* plan, FftwPlan*& replaced) noexcept;

  /// Takes the plan out and returns it; nullptr if unknown.
  FftwPlan* erase(const void* key) noexcept;

  /// Takes all plans of `provider` out and passes each to `dispose`. No lock is held during that
  /// call.
  template <class Dispose>
  void erase_all(const FftwProvider* provider, Dispose&& dispose) noexcept {
    for (Shard& shard : shards_) {
      while (FftwPlan* plan = erase_one(shard, provider)) dispose(plan);
    }
  }

  void lock() noexcept;
  void unlock() noexcept;

 private:
  struct Slot {
    std::atomic<const void*> key{nullptr};
    std::atomic<FftwPlan*> plan{nullptr};
  };
  struct Array {
    std::uint64_t mask = 0;     // slots - 1, slots a power of two
    Array* outgrown = nullptr;  // kept for readers that still use it; half the size of this one
    Slot* slots() noexcept { return reinterpret_cast<Slot*>(this + 1); }
  };
  // The version is odd while a writer changes slots. A reader's data is valid if the version is
  // even and is the same before and after the read.
  struct alignas(64) Shard {
    std::atomic<std::uint64_t> version{0};
    std::atomic<Array*> array{nullptr};
    std::uint64_t used = 0;
    std::mutex mutex;
  };
  static constexpr int kShards = 16;

  static std::uint64_t hash(const void* key) noexcept;
  static bool grow(Shard& shard) noexcept;
  static void remove_at(Shard& shard, std::uint64_t at) noexcept;
  static FftwPlan* erase_one(Shard& shard, const FftwProvider* provider) noexcept;
  static FftwPlan* probe(Array* array, std::uint64_t hash, const void* key) noexcept;
  Shard& shard_of(std::uint64_t hash) noexcept { return shards_[hash >> 60]; }
  const Shard& shard_of(std::uint64_t hash) const noexcept { return shards_[hash >> 60]; }

  Shard shards_[kShards];
};

}  // namespace ob::interpose
