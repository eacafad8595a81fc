#include "device/host_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "device/counted_memory.hpp"
#include "device/small_buffers.hpp"
#include "wire/message.hpp"

namespace ob {

namespace {

// The part of the cap that idle buffers may take.
constexpr std::uint64_t kIdlePart = 4;
// Each idle segment holds a descriptor and up to three mappings.
constexpr std::uint64_t kMostIdle = 256;
// The part of the process's segments that idle ones may take in addition.
constexpr std::uint64_t kIdleSegmentsPart = 8;

}  // namespace

struct HostMemory::Account {
  Account(std::uint64_t capacity, std::uint64_t most_segments)
      : bytes(capacity),
        pool({.capacity_bytes = capacity / kIdlePart,
              .most_idle = std::min(kMostIdle, most_segments / kIdleSegmentsPart)}),
        segments(std::make_shared<SegmentBudget>(most_segments)),
        small(segments) {}
  CountedMemory bytes;
  HostSegmentPool pool;
  const std::shared_ptr<SegmentBudget> segments;
  SmallBuffers small;

  Result<HostBuffer> place(std::uint64_t size_bytes, const ob::Account& owner,
                           std::shared_ptr<HostSegment> idle);
  Status reserve(std::uint64_t count_bytes);
  void release(std::uint64_t count_bytes, std::unique_ptr<HostBuffer> freed);
};

Status HostMemory::Account::reserve(std::uint64_t count_bytes) {
  OB_RETURN_IF_ERROR(bytes.reserve(count_bytes, kLongestReleaseWait));
  (void)pool.shrink_to(bytes.left_bytes());
  return {};
}

// Finds memory for a buffer whose bytes are reserved.
Result<HostBuffer> HostMemory::Account::place(std::uint64_t size_bytes, const ob::Account& owner,
                                              std::shared_ptr<HostSegment> idle) {
  if (size_bytes <= wire::kSmallBufferBytes) return small.make(owner, size_bytes);
  if (idle != nullptr) {
    OB_RETURN_IF_ERROR(segments->count(owner, *idle));
  } else {
    OB_ASSIGN_OR_RETURN(idle, segments->create(owner, size_bytes));
  }
  return HostBuffer(std::move(idle), 0, size_bytes);
}

// There is no buffer if its creation failed.
void HostMemory::Account::release(std::uint64_t count_bytes, std::unique_ptr<HostBuffer> freed) {
  if (freed == nullptr) return bytes.release(count_bytes, 0);
  if (freed->size_bytes() <= wire::kSmallBufferBytes) {
    small.give_back(*freed);
  } else {
    (void)pool.put(std::move(*freed), bytes.left_bytes() + count_bytes);
  }
  bytes.release(count_bytes, count_bytes);
  (void)pool.shrink_to(bytes.left_bytes());  // another thread may have reserved bytes meanwhile
}

HostMemory::HostMemory(std::uint64_t capacity_bytes, std::uint64_t most_segments)
    : account_(std::make_shared<Account>(capacity_bytes, most_segments)) {}

HostMemory::~HostMemory() { buffers_.free_all(account_->bytes); }

std::uint64_t HostMemory::capacity_bytes() const noexcept {
  return account_->bytes.capacity_bytes();
}

std::uint64_t HostMemory::used_bytes() const { return account_->bytes.used_bytes(); }

std::uint64_t HostMemory::used_segments() const { return account_->segments->held(); }

void HostMemory::limit_segments(std::uint64_t most) { account_->segments->set_most(most); }

Status HostMemory::export_segment(const HostBuffer& buffer) {
  if (buffer.size_bytes() > wire::kSmallBufferBytes) {
    buffer.segment()->mark_exported();
    return {};
  }
  if (account_->small.export_segment(buffer)) return {};
  return {Code::unsupported, "the buffer shares its memory file with many others"};
}

HostSegmentPool::Use HostMemory::pool_use() const { return account_->pool.use(); }

Result<BufferId> HostMemory::allocate(std::uint64_t size_bytes, const ob::Account& owner) {
  OB_RETURN_IF_ERROR(buffers_.may_allocate());
  const std::uint64_t counted = counted_bytes(size_bytes);
  std::shared_ptr<HostSegment> idle;
  if (size_bytes > wire::kSmallBufferBytes) idle = account_->pool.take(size_bytes, owner);
  if (const Status room = account_->reserve(counted); !room.ok()) return room;
  auto placed = account_->place(size_bytes, owner, std::move(idle));
  if (!placed.ok()) {
    account_->release(counted, nullptr);
    return placed.status();
  }
  // Runs when the last holder releases the memory, often the command that used the buffer last.
  std::shared_ptr<HostBuffer> counted_buffer(
      new HostBuffer(std::move(placed).value()), [account = account_, counted](HostBuffer* buffer) {
        account->release(counted, std::unique_ptr<HostBuffer>(buffer));
      });
  return buffers_.add(std::move(counted_buffer));
}

bool HostMemory::await_room(std::uint64_t size_bytes, std::chrono::milliseconds longest) {
  const std::uint64_t counted = counted_bytes(size_bytes);
  return account_->bytes.await_room(counted, longest);
}

Status HostMemory::free(BufferId id) { return buffers_.free(id, account_->bytes); }

std::uint64_t share_of_host_memory(unsigned devices) {
  const auto pages = static_cast<std::uint64_t>(std::max(1L, sysconf(_SC_PHYS_PAGES)));
  const auto page_bytes = static_cast<std::uint64_t>(std::max(1L, sysconf(_SC_PAGESIZE)));
  return pages / 4 * 3 * page_bytes / std::max(1u, devices);
}

}  // namespace ob
