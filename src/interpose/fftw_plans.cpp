#include "interpose/fftw_plans.hpp"

#include <sched.h>

#include <cstdlib>
#include <new>

namespace ob::interpose {
namespace {

constexpr std::uint64_t kFirstSlots = 64;
// The table is at most half full, so probes are short for unknown plans too.
bool crowded(std::uint64_t used, std::uint64_t slots) noexcept { return 2 * (used + 1) > slots; }

// Marks a shard as being changed while the object lives. Readers repeat their reads of that time.
class Change {
 public:
  explicit Change(std::atomic<std::uint64_t>& version) noexcept
      : version_(version), at_(version.load(std::memory_order_relaxed)) {
    version_.store(at_ + 1,
                   std::memory_order_relaxed);  // ordered before the release stores to the slots
  }
  ~Change() { version_.store(at_ + 2, std::memory_order_release); }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  std::atomic<std::uint64_t>& version_;
  std::uint64_t at_;
};

// The slot comes from the bits of the hash from bit 28 upwards. The table would need 2^32 slots to
// reach the four highest bits, which chose the shard.
std::uint64_t first_slot(std::uint64_t hash, std::uint64_t mask) noexcept {
  return (hash >> 28) & mask;
}

}  // namespace

std::uint64_t FftwPlanTable::hash(const void* key) noexcept {
  // This is Fibonacci hashing. The low bits of a heap address carry no information. The high bits
  // of the product depend on all bits.
  return reinterpret_cast<std::uintptr_t>(key) * 0x9E3779B97F4A7C15ULL;
}

FftwPlan* FftwPlanTable::probe(Array* array, std::uint64_t hash, const void* key) noexcept {
  const std::uint64_t mask = array->mask;
  Slot* slots = array->slots();
  std::uint64_t at = first_slot(hash, mask);
  for (std::uint64_t tried = 0; tried <= mask; ++tried, at = (at + 1) & mask) {
    const void* found = slots[at].key.load(std::memory_order_acquire);
    if (found == key) return slots[at].plan.load(std::memory_order_acquire);
    if (found == nullptr) return nullptr;
  }
  return nullptr;  // happens only while a writer moves entries, which the version shows
}

FftwPlan* FftwPlanTable::find(const void* key) const noexcept {
  if (key == nullptr) return nullptr;
  const std::uint64_t h = hash(key);
  const Shard& shard = shard_of(h);
  for (int attempt = 0;; ++attempt) {
    const std::uint64_t before = shard.version.load(std::memory_order_acquire);
    Array* array = shard.array.load(std::memory_order_acquire);
    if (array == nullptr) return nullptr;
    if (before % 2 == 0) {
      FftwPlan* plan = probe(array, h, key);
      if (shard.version.load(std::memory_order_relaxed) == before) return plan;
    }
    if (attempt > 100) sched_yield();  // the writer has lost its core
  }
}

bool FftwPlanTable::grow(Shard& shard) noexcept {
  Array* old = shard.array.load(std::memory_order_relaxed);
  const std::uint64_t slots = old == nullptr ? kFirstSlots : 2 * (old->mask + 1);
  void* memory = std::malloc(sizeof(Array) + slots * sizeof(Slot));
  if (memory == nullptr) return false;
  auto* array = new (memory) Array{slots - 1, old};
  for (std::uint64_t i = 0; i < slots; ++i) new (&array->slots()[i]) Slot;
  for (std::uint64_t i = 0; old != nullptr && i <= old->mask; ++i) {
    const void* key = old->slots()[i].key.load(std::memory_order_relaxed);
    if (key == nullptr) continue;
    std::uint64_t at = first_slot(hash(key), array->mask);
    while (array->slots()[at].key.load(std::memory_order_relaxed) != nullptr)
      at = (at + 1) & array->mask;
    array->slots()[at].plan.store(old->slots()[i].plan.load(std::memory_order_relaxed),
                                  std::memory_order_relaxed);
    array->slots()[at].key.store(key, std::memory_order_relaxed);
  }
  Change change(shard.version);
  shard.array.store(array, std::memory_order_release);
  return true;
}

bool FftwPlanTable::insert(const void* key, FftwPlan* plan, FftwPlan*& replaced) noexcept {
  replaced = nullptr;
  const std::uint64_t h = hash(key);
  Shard& shard = shard_of(h);
  const std::lock_guard lock(shard.mutex);
  Array* array = shard.array.load(std::memory_order_relaxed);
  if (array == nullptr || crowded(shard.used, array->mask + 1)) {
    if (!grow(shard)) return false;
    array = shard.array.load(std::memory_order_relaxed);
  }
  std::uint64_t at = first_slot(h, array->mask);
  Slot* slots = array->slots();
  const void* found = nullptr;
  while ((found = slots[at].key.load(std::memory_order_relaxed)) != nullptr && found != key) {
    at = (at + 1) & array->mask;
  }
  Change change(shard.version);
  if (found == key) {
    replaced = slots[at].plan.load(std::memory_order_relaxed);
  } else {
    ++shard.used;
  }
  slots[at].plan.store(plan, std::memory_order_release);
  slots[at].key.store(key, std::memory_order_release);
  return true;
}

// Empties a slot and moves later entries of the same run back, so that no probe finds an empty slot
// before its key.
void FftwPlanTable::remove_at(Shard& shard, std::uint64_t at) noexcept {
  Array* array = shard.array.load(std::memory_order_relaxed);
  const std::uint64_t mask = array->mask;
  Slot* slots = array->slots();
  Change change(shard.version);
  --shard.used;
  std::uint64_t hole = at;
  for (std::uint64_t next = (hole + 1) & mask;; next = (next + 1) & mask) {
    const void* key = slots[next].key.load(std::memory_order_relaxed);
    if (key == nullptr) break;
    const std::uint64_t home = first_slot(hash(key), mask);
    if (((next - home) & mask) < ((next - hole) & mask)) continue;  // its home lies behind the hole
    slots[hole].plan.store(slots[next].plan.load(std::memory_order_relaxed),
                           std::memory_order_release);
    slots[hole].key.store(key, std::memory_order_release);
    hole = next;
  }
  slots[hole].key.store(nullptr, std::memory_order_release);
  slots[hole].plan.store(nullptr, std::memory_order_release);
}

FftwPlan* FftwPlanTable::erase(const void* key) noexcept {
  if (find(key) == nullptr) return nullptr;  // plans that are not ours need no lock
  const std::uint64_t h = hash(key);
  Shard& shard = shard_of(h);
  const std::lock_guard lock(shard.mutex);
  Array* array = shard.array.load(std::memory_order_relaxed);
  std::uint64_t at = first_slot(h, array->mask);
  while (array->slots()[at].key.load(std::memory_order_relaxed) != key) {
    if (array->slots()[at].key.load(std::memory_order_relaxed) == nullptr) return nullptr;
    at = (at + 1) & array->mask;
  }
  FftwPlan* plan = array->slots()[at].plan.load(std::memory_order_relaxed);
  remove_at(shard, at);
  return plan;
}

FftwPlan* FftwPlanTable::erase_one(Shard& shard, const FftwProvider* provider) noexcept {
  const std::lock_guard lock(shard.mutex);
  Array* array = shard.array.load(std::memory_order_relaxed);
  for (std::uint64_t at = 0; array != nullptr && shard.used != 0 && at <= array->mask; ++at) {
    FftwPlan* plan = array->slots()[at].plan.load(std::memory_order_relaxed);
    if (plan == nullptr || plan->provider != provider) continue;
    remove_at(shard, at);
    return plan;
  }
  return nullptr;
}

void FftwPlanTable::lock() noexcept {
  for (Shard& shard : shards_) shard.mutex.lock();
}

void FftwPlanTable::unlock() noexcept {
  for (Shard& shard : shards_) shard.mutex.unlock();
}

}  // namespace ob::interpose
