#include "overlap/exchange.hpp"

#include <algorithm>
#include <climits>
#include <numeric>

#include "overlap/clock.hpp"
#include "overlap/mpi_calls.hpp"
#include "overlap/scoped_span.hpp"

namespace ob::overlap {
namespace {

constexpr std::size_t kCacheLine = 64;
// MPICH over UCX sends messages of this size when the receiver has asked for them. A receive that
// is started before our send may let the other side begin with its message. Over TCP, its request
// for ours then waits behind all of it, so the two directions follow each other. Smaller messages
// need their receives first, since they leave at once.
constexpr std::size_t kAskedFor = 64 << 10;

std::size_t padded(std::size_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

}  // namespace

std::size_t Message::bytes() const noexcept {
  return std::accumulate(regions.begin(), regions.end(), std::size_t{0},
                         [](std::size_t sum, const Region& r) { return sum + r.bytes(); });
}

std::uint64_t Message::signature() const noexcept {
  std::uint64_t hash = regions.size();
  for (const Region& region : regions) hash = hash * 0x9e3779b97f4a7c15u + region.signature();
  return hash;
}

Exchange::Exchange(std::vector<Message> messages, bool late_unpack, Trace* trace)
    : messages_(std::move(messages)),
      late_unpack_(late_unpack),
      trace_(trace),
      times_(trace == nullptr ? 0 : messages_.size()) {
  const auto sends = std::stable_partition(messages_.begin(), messages_.end(),
                                           [](const Message& m) { return !m.sends; });
  receives_ = std::size_t(sends - messages_.begin());
  requests_.assign(messages_.size(), MPI_REQUEST_NULL);
  indices_.resize(messages_.size());
  statuses_.resize(messages_.size());
  stages_ = std::make_unique<std::atomic<Stage>[]>(messages_.size());
  buffers_.assign(messages_.size(), nullptr);
  followers_.resize(receives_);
  for (std::size_t i = receives_; i < messages_.size(); ++i)
    if (messages_[i].after >= 0) followers_[std::size_t(messages_[i].after)].push_back(i);
  std::size_t total = kCacheLine;
  for (const Message& message : messages_) {
    bytes_ += std::int64_t(message.bytes());
    if (staged(message)) total += padded(message.bytes());
  }
  memory_ = std::make_unique<std::byte[]>(total);
  std::byte* next = memory_.get();
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    if (!staged(messages_[i])) continue;
    buffers_[i] = next;
    next += padded(messages_[i].bytes());
  }
}

bool Exchange::staged(const Message& message) const noexcept {
  const bool in_place = message.regions.size() == 1 && message.regions.front().contiguous();
  return !in_place || (late_unpack_ && !message.sends);
}

Result<std::unique_ptr<Exchange>> Exchange::create(MPI_Comm comm, std::vector<Message> messages,
                                                   bool late_unpack, Trace* trace) {
  for (const Message& message : messages)
    if (message.bytes() > INT_MAX)
      return Status(Code::unsupported, "a message of " + std::to_string(message.bytes()) +
                                           " bytes (MPI counts up to 2 GiB) use more ranks");
  std::unique_ptr<Exchange> exchange(new Exchange(std::move(messages), late_unpack, trace));
  OB_RETURN_IF_ERROR(exchange->make_requests(comm));
  return exchange;
}

Status Exchange::make_requests(MPI_Comm comm) {
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    const Message& m = messages_[i];
    std::byte* at = buffers_[i] != nullptr ? buffers_[i] : m.regions.front().first();
    const int bytes = int(m.bytes());
    const int result = m.sends
                           ? MPI_Send_init(at, bytes, MPI_BYTE, m.peer, m.tag, comm, &requests_[i])
                           : MPI_Recv_init(at, bytes, MPI_BYTE, m.peer, m.tag, comm, &requests_[i]);
    OB_RETURN_IF_ERROR(mpi_status(m.sends ? "MPI_Send_init" : "MPI_Recv_init", result));
  }
  return {};
}

Exchange::~Exchange() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  for (MPI_Request& request : requests_)
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
}

Exchange::Stage Exchange::first_stage(std::size_t message, bool hold_sends) const noexcept {
  if (message < receives_) return Stage::active;
  if (messages_[message].after >= 0) return Stage::follows;
  return hold_sends ? Stage::held : Stage::released;
}

void Exchange::prepare(bool hold_sends) noexcept {
  failed_ = -1;
  open_.store(int(messages_.size()), std::memory_order_relaxed);
  arriving_ = int(receives_);
  int released = 0;
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    const Stage first = first_stage(i, hold_sends);
    released += first == Stage::released ? 1 : 0;
    stages_[i].store(first, std::memory_order_relaxed);
  }
  to_start_.store(released, std::memory_order_relaxed);
  moved_ns_.store(now_ns(), std::memory_order_relaxed);
}

void Exchange::release(std::size_t message) noexcept {
  Stage held = Stage::held;
  // Release order: the driver that sees it packs what the caller wrote.
  if (stages_[message].compare_exchange_strong(held, Stage::released, std::memory_order_acq_rel))
    to_start_.fetch_add(1, std::memory_order_release);
}

void Exchange::release_all() noexcept {
  for (std::size_t i = receives_; i < messages_.size(); ++i) release(i);
}

bool Exchange::held(std::size_t message) const noexcept {
  return stages_[message].load(std::memory_order_acquire) == Stage::held;
}

bool Exchange::any_held() const noexcept {
  for (std::size_t i = receives_; i < messages_.size(); ++i)
    if (held(i)) return true;
  return false;
}

bool Exchange::open(std::size_t message) const noexcept {
  return stages_[message].load(std::memory_order_acquire) != Stage::complete;
}

Status Exchange::start() {
  if (to_start_.load(std::memory_order_acquire) > 0) OB_RETURN_IF_ERROR(start_released(kAskedFor));
  if (trace_ != nullptr) std::fill_n(times_.begin(), receives_, MessageTimes{now_ns(), 0});
  if (receives_ > 0)
    OB_RETURN_IF_ERROR(mpi_status("MPI_Startall", MPI_Startall(int(receives_), requests_.data())));
  return advance().status();
}

void Exchange::pack(std::size_t message) noexcept {
  std::byte* out = buffers_[message];
  if (out == nullptr) return;
  const ScopedSpan span(trace_, "pack", messages_[message].bytes());
  for (const Region& region : messages_[message].regions) {
    region.pack(out);
    out += region.bytes();
  }
}

Status Exchange::start_released(std::size_t least_bytes) {
  for (std::size_t i = receives_; i < messages_.size(); ++i) {
    if (stages_[i].load(std::memory_order_acquire) != Stage::released) continue;
    if (messages_[i].bytes() < least_bytes) continue;
    pack(i);
    if (trace_ != nullptr) times_[i].begin_ns = now_ns();
    stages_[i].store(Stage::active, std::memory_order_relaxed);
    to_start_.fetch_sub(1, std::memory_order_relaxed);
    if (const int result = MPI_Start(&requests_[i]); result != MPI_SUCCESS) {
      failed_ = int(i);
      return mpi_failure("MPI_Start", result);
    }
  }
  return {};
}

Result<bool> Exchange::advance() {
  if (to_start_.load(std::memory_order_acquire) > 0) OB_RETURN_IF_ERROR(start_released());
  if (complete()) return false;
  int completed = 0;
  const int result = MPI_Testsome(int(requests_.size()), requests_.data(), &completed,
                                  indices_.data(), statuses_.data());
  if (result != MPI_SUCCESS) return failure("MPI_Testsome", result, completed);
  if (completed == MPI_UNDEFINED || completed == 0) return false;
  for (int i = 0; i < completed; ++i) complete_one(std::size_t(indices_[i]));
  moved_ns_.store(now_ns(), std::memory_order_relaxed);
  open_.fetch_sub(completed, std::memory_order_release);
  if (to_start_.load(std::memory_order_acquire) > 0) OB_RETURN_IF_ERROR(start_released());
  return true;
}

void Exchange::complete_one(std::size_t message) noexcept {
  if (trace_ != nullptr) times_[message].end_ns = now_ns();
  if (!late_unpack_) unpack_one(message);
  last_completed_ = message;
  stages_[message].store(Stage::complete, std::memory_order_release);
  if (message >= receives_) return;
  --arriving_;
  for (const std::size_t send : followers_[message]) {
    stages_[send].store(Stage::released, std::memory_order_relaxed);
    to_start_.fetch_add(1, std::memory_order_relaxed);
  }
}

Status Exchange::failure(const char* function, int result, int completed) {
  if (result != MPI_ERR_IN_STATUS) return mpi_failure(function, result);
  for (int i = 0; i < completed; ++i) {
    if (statuses_[i].MPI_ERROR == MPI_SUCCESS) continue;
    failed_ = indices_[i];
    return mpi_failure(function, statuses_[i].MPI_ERROR);
  }
  return mpi_failure(function, result);
}

void Exchange::unpack_one(std::size_t message) noexcept {
  if (message >= receives_ || buffers_[message] == nullptr) return;
  const ScopedSpan span(trace_, "unpack", messages_[message].bytes());
  const std::byte* in = buffers_[message];
  for (const Region& region : messages_[message].regions) {
    region.unpack(in);
    in += region.bytes();
  }
}

void Exchange::unpack() noexcept {
  if (!late_unpack_) return;
  for (std::size_t i = 0; i < receives_; ++i) unpack_one(i);
}

}  // namespace ob::overlap
