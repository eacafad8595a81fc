#include "sial/devices/device_copies.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>
#include <utility>

#include "base/layout.hpp"
#include "device/permute/permute.hpp"
#include "sial/operations/contraction.hpp"
#include "sial/operations/copy.hpp"

namespace ob::sial {
namespace {

// Uploads beyond this wait for earlier ones, so that their sources do not fill the memory.
constexpr std::uint64_t kMostInFlight = std::uint64_t{256} << 20;
// Chains of contractions that are longer than this are cut by reading a result back.
constexpr unsigned kDeepest = 16;
// Each block keeps no more than so many contractions.
constexpr std::size_t kMostPast = 256;
constexpr std::size_t kMostIdle = 64;  // buffers

::ob::Region region_of(const Block& block) noexcept {
  const auto elements = static_cast<std::uint64_t>(block.elements());
  return {.element_bytes = sizeof(double),
          .rows = elements,
          .cols = 1,
          .ld = elements,
          .word_bytes = sizeof(double)};
}

// The axes of a copy between two orders of a block.
Axes<2> axes_of(const Shape& shape, const Strides& to, const Strides& from) {
  Axes<2> axes;
  for (unsigned d = 0; d < shape.rank; ++d) axes.insert({shape.extents[d], {to[d], from[d]}});
  return axes;
}

}  // namespace

Strides dense_strides(const Shape& shape) noexcept {
  Strides strides{};
  std::int64_t stride = 1;
  for (unsigned d = 0; d < shape.rank; ++d) {
    strides[d] = stride;
    stride *= shape.extents[d];
  }
  return strides;
}

bool same_order(const Shape& shape, const Strides& one, const Strides& other) noexcept {
  for (unsigned d = 0; d < shape.rank; ++d) {
    if (shape.extents[d] != 1 && one[d] != other[d]) return false;
  }
  return true;
}

ConstView view_of(const LabelledBlock& labelled, const Strides& strides,
                  const double* data) noexcept {
  const Shape& shape = labelled.block->shape();
  return {data, shape.rank, shape.extents, strides, labelled.labels, labelled.simple};
}

DeviceCopies::DeviceCopies(const Block& block, std::shared_ptr<DeviceMemory> memory)
    : block_(block), memory_(std::move(memory)) {
  const std::lock_guard lock(memory_->mutex_);
  listed_ = memory_->used_last_.insert(memory_->used_last_.end(), this);
}

DeviceCopies::~DeviceCopies() {
  const std::lock_guard lock(memory_->mutex_);
  memory_->used_last_.erase(listed_);
  memory_->forget_past(*this);
  memory_->free_copies(*this);
}

void DeviceCopies::to_host() noexcept {
  if (!host_is_latest()) memory_->bring_to_host(*this);
}

void DeviceCopies::forget() noexcept {
  const std::lock_guard lock(memory_->mutex_);
  host_latest_.store(true, std::memory_order_release);
  memory_->forget_past(*this);
  memory_->free_copies(*this);
}

Result<std::shared_ptr<DeviceMemory>> DeviceMemory::open(std::shared_ptr<Device> device,
                                                         std::uint64_t limit_bytes,
                                                         std::uint64_t held_bytes, bool permutes,
                                                         Gemm& host) {
  if (limit_bytes == 0) limit_bytes = device->info().memory_bytes / 10 * 9;
  std::shared_ptr<DeviceMemory> made(
      new DeviceMemory(std::move(device), limit_bytes, held_bytes, permutes, host));
  OB_RETURN_IF_ERROR(made->make_queues());
  return made;
}

DeviceMemory::DeviceMemory(std::shared_ptr<Device> device, std::uint64_t limit_bytes,
                           std::uint64_t held_bytes, bool permutes, Gemm& host)
    : device_(std::move(device)),
      limit_bytes_(limit_bytes),
      held_limit_bytes_(held_bytes),
      permutes_(permutes),
      host_(host),
      arrived_(std::make_shared<std::atomic<std::uint64_t>>(0)) {}

Status DeviceMemory::make_queues() {
  OB_ASSIGN_OR_RETURN(uploads_, device_->create_queue());
  OB_ASSIGN_OR_RETURN(compute_, device_->create_queue());
  OB_ASSIGN_OR_RETURN(uploaded_, device_->create_event());
  queues_made_ = true;
  return {};
}

DeviceMemory::~DeviceMemory() { close(); }

void DeviceMemory::close() noexcept {
  if (!std::exchange(queues_made_, false)) return;
  // The queues end before the host memory that their commands read.
  (void)device_->destroy_queue(uploads_);
  (void)device_->destroy_queue(compute_);
  (void)device_->destroy_event(uploaded_);
  lose(Status(Code::unavailable, "the worker has ended"));
  in_flight_.clear();  // these blocks may keep this object
}

DeviceCopies& DeviceMemory::copies_of(const Block& block) {
  BlockCopies* copies = block.copies();
  if (copies == nullptr) {
    block.set_copies(std::make_unique<DeviceCopies>(block, shared_from_this()));
    copies = block.copies();
  }
  return static_cast<DeviceCopies&>(*copies);
}

Result<BufferId> DeviceMemory::read(const ConstBlockPtr& block, const Strides& strides) {
  DeviceCopies& copies = copies_of(*block);
  pin(copies);
  if (const auto* copy = find(copies, strides)) return copy->buffer;
  OB_ASSIGN_OR_RETURN(const BufferId buffer, make_copy(*block, strides, block));
  copies.missed_s = 0;
  return buffer;
}

Result<BufferId> DeviceMemory::write(Block& d, const Strides& strides, bool updates) {
  DeviceCopies& copies = copies_of(d);
  pin(copies);
  if (updates) {
    if (const auto* copy = find(copies, strides)) return copy->buffer;
    return make_copy(d, strides, nullptr);
  }
  OB_ASSIGN_OR_RETURN(const BufferId buffer, allocate(d.bytes(), Writer::compute));
  // A result gets memory of its own: commands that read the former one may still run.
  copies.copies_.push_back({buffer, strides});
  return buffer;
}

const DeviceCopies::Copy* DeviceMemory::find(const DeviceCopies& copies,
                                             const Strides& strides) const {
  for (const DeviceCopies::Copy& copy : copies.copies_) {
    if (same_order(copies.block_.shape(), copy.strides, strides)) return &copy;
  }
  return nullptr;
}

// A block travels in its own order if the device makes the others. `holder` as upload().
Result<BufferId> DeviceMemory::make_copy(const Block& block, const Strides& strides,
                                         ConstBlockPtr holder) {
  DeviceCopies& copies = copies_of(block);
  const Strides dense = dense_strides(block.shape());
  const bool is_first = copies.copies_.empty();
  const bool own_order = same_order(block.shape(), strides, dense);
  if (!permutes_ || block.value() || (is_first && own_order)) {
    return upload_copy(block, strides, std::move(holder));
  }
  if (is_first) OB_RETURN_IF_ERROR(upload_copy(block, dense, holder).status());
  Result<BufferId> permuted = permute_copy(block, strides);
  if (!is_first || permuted.ok() || permuted.status().code() != Code::out_of_memory) {
    return permuted;
  }
  // There is no memory for two copies, so the host permutes.
  {
    const std::lock_guard lock(mutex_);
    free_copies(copies);
  }
  return upload_copy(block, strides, std::move(holder));
}

Result<BufferId> DeviceMemory::upload_copy(const Block& block, const Strides& strides,
                                           ConstBlockPtr holder) {
  OB_ASSIGN_OR_RETURN(const BufferId buffer, allocate(block.bytes(), Writer::upload));
  copies_of(block).copies_.push_back({buffer, strides});
  if (const Status sent = upload(buffer, block, strides, std::move(holder)); !sent.ok()) {
    lose(sent);
    return sent;
  }
  return buffer;
}

// Makes a copy from the first one, on the queue of the computations, which may have written it.
Result<BufferId> DeviceMemory::permute_copy(const Block& block, const Strides& strides) {
  static const Descriptor& routine = *routines::find("dpermute");
  DeviceCopies& copies = copies_of(block);
  OB_ASSIGN_OR_RETURN(const BufferId buffer, allocate(block.bytes(), Writer::compute));
  const DeviceCopies::Copy from = copies.copies_.front();
  const CallArguments call = permutation(block.shape().rank, block.shape().extents, from.strides,
                                         strides, {from.buffer, 0, 0}, {buffer, 0, 0});
  copies.copies_.push_back({buffer, strides});
  Status status = await_uploads();
  if (status.ok()) status = device_->call(compute_, routine, call.items);
  if (!status.ok()) {
    lose(status);
    return status;
  }
  ++traffic_.permuted;
  return buffer;
}

Status DeviceMemory::await_uploads() {
  if (!uploading_) return {};
  uploading_ = false;
  Status status = device_->record(uploads_, uploaded_);
  if (status.ok()) status = device_->wait(compute_, uploaded_);
  if (!status.ok()) lose(status);
  return status;
}

void DeviceMemory::wrote(Block& d, BufferId buffer, const Strides& strides, PastContraction past) {
  DeviceCopies& copies = copies_of(d);
  d.forget_value();
  const std::lock_guard lock(mutex_);
  free_copies(copies, &buffer);
  copies.copies_.assign(1, {buffer, strides});
  copies.missed_s = 0;
  if (past.how == Assign::set) forget_past(copies);
  copies.host_latest_.store(false, std::memory_order_release);
  held_bytes_ += past.b1.block->bytes() + past.b2.block->bytes();
  const auto depth_of = [this](const LabelledBlock& operand) {
    return copies_of(*operand.block).depth_;
  };
  copies.depth_ = std::max(copies.depth_, 1 + std::max(depth_of(past.b1), depth_of(past.b2)));
  copies.past_.push_back(std::move(past));
  if (copies.depth_ > kDeepest || copies.past_.size() > kMostPast ||
      held_bytes_ > held_limit_bytes_) {
    copies.to_host();
  }
}

void DeviceMemory::pin(DeviceCopies& copies) {
  const std::lock_guard lock(mutex_);
  copies.pinned_ = true;
  pinned_.push_back(&copies);
  used_last_.splice(used_last_.end(), used_last_, copies.listed_);
}

void DeviceMemory::unpin() noexcept {
  for (DeviceCopies* const copies : pinned_) copies->pinned_ = false;
  pinned_.clear();
}

void DeviceMemory::lose(const Status& status) {
  if (lost_.ok()) lost_ = status;
  const std::lock_guard lock(mutex_);
  keeps_idle_ = false;
  while (free_idle()) {
  }
}

Result<BufferId> DeviceMemory::allocate(std::uint64_t bytes, Writer writer) {
  if (const auto idle = take_idle(bytes, writer)) return *idle;
  for (;;) {
    if (has_room(bytes)) {
      auto buffer = device_->allocate(bytes);
      if (buffer.ok()) {
        const std::lock_guard lock(mutex_);
        used_bytes_ += bytes;
        return buffer;
      }
      if (buffer.status().code() != Code::out_of_memory) {
        lose(buffer.status());
        return buffer;
      }
    }
    if (!free_idle() && !evict()) {
      return Status(Code::out_of_memory, "the operands of a contraction do not fit on the device");
    }
  }
}

// Commands of the compute queue follow those that have used an idle buffer, because each of them
// waits for the uploads before it. An upload must not meet them.
std::optional<BufferId> DeviceMemory::take_idle(std::uint64_t bytes, Writer writer) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(idle_, [&](const Idle& idle) {
    return idle.bytes == bytes && (writer == Writer::compute || idle.quiet);
  });
  if (found == idle_.end()) return std::nullopt;
  const BufferId buffer = found->buffer;
  idle_.erase(found);
  return buffer;
}

bool DeviceMemory::free_idle() noexcept {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return false;
  (void)device_->free(idle_.back().buffer);
  used_bytes_ -= idle_.back().bytes;
  idle_.pop_back();
  return true;
}

// Notes that the compute queue has done all of its work.
void DeviceMemory::note_quiet() noexcept {
  const std::lock_guard lock(mutex_);
  for (Idle& idle : idle_) idle.quiet = true;
}

void DeviceMemory::await_compute() {
  // A failure stays with the queue until a result is read back.
  (void)device_->await(compute_, false, std::chrono::steady_clock::now() + std::chrono::hours(1));
}

bool DeviceMemory::has_room(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return limit_bytes_ == 0 || used_bytes_ + bytes <= limit_bytes_;
}

// Ends the copies of the block that was used the longest time ago.
bool DeviceMemory::evict() {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      used_last_, [](const DeviceCopies* copies) { return copies->any() && !copies->pinned_; });
  if (found == used_last_.end()) return false;
  ++traffic_.evicted;
  (*found)->to_host();
  free_copies(**found);
  return true;
}

// `holder` keeps the block unchanged; without one the elements are copied first.
Status DeviceMemory::upload(BufferId buffer, const Block& block, const Strides& strides,
                            ConstBlockPtr holder) {
  uploading_ = unchecked_uploads_ = true;
  if (const auto value = block.value()) {
    const double element = *value;
    return device_->fill(uploads_, buffer, region_of(block), std::as_bytes(std::span(&element, 1)));
  }
  const double* elements = block.data();
  if (!broken_.ok()) return broken_;
  if (!lost_.ok()) return lost_;  // while the elements were fetched: that has ended all copies
  const Strides dense = dense_strides(block.shape());
  const bool permuted = !same_order(block.shape(), strides, dense);
  if (permuted || holder == nullptr) {
    OB_ASSIGN_OR_RETURN(const BlockPtr staged, staging_.allocate(block.shape()));
    if (permuted) {
      CopyPlan(axes_of(block.shape(), strides, dense)).run(staged->memory(), elements, 1, false);
    } else {
      std::memcpy(staged->memory(), elements, block.bytes());
    }
    elements = staged->memory();
    holder = staged;
  }
  traffic_.to_device_bytes += block.bytes();
  OB_RETURN_IF_ERROR(device_->write(
      uploads_, buffer, region_of(block),
      ::ob::Layout::bytes(const_cast<double*>(elements), block.bytes())));  // it is only read
  hold(std::move(holder));
  return {};
}

// Keeps a block until the upload that was submitted last has read it.
void DeviceMemory::hold(ConstBlockPtr block) {
  in_flight_bytes_ += block->bytes();
  in_flight_.push_back({++sent_, std::move(block)});
  const Status marked = device_->mark(
      uploads_, [arrived = arrived_, number = sent_](const QueueMark&) { arrived->store(number); });
  if (!marked.ok()) return lose(marked);
  if (in_flight_bytes_ > kMostInFlight) {
    const auto report = device_->synchronize(uploads_);
    if (!report.status.ok()) return lose(report.status);
  }
  const std::uint64_t arrived = arrived_->load();
  while (!in_flight_.empty() && in_flight_.front().number <= arrived) {
    in_flight_bytes_ -= in_flight_.front().block->bytes();
    in_flight_.pop_front();
  }
}

void DeviceMemory::bring_to_host(DeviceCopies& copies) noexcept {
  Status status = lost_;
  if (status.ok()) {
    status = download(copies);
    if (!status.ok()) lose(status);
  }
  if (!status.ok()) status = repeat(copies);
  copies.host_latest_.store(true, std::memory_order_release);
  const std::lock_guard lock(mutex_);
  forget_past(copies);
  if (!lost_.ok()) free_copies(copies);
  if (!status.ok() && broken_.ok()) broken_ = status;
}

Status DeviceMemory::download(DeviceCopies& copies) {
  OB_EXPECT(copies.any());
  const Block& block = copies.block_;
  const auto& [buffer, strides] = copies.copies_.front();
  const Strides dense = dense_strides(block.shape());
  const bool permuted = !same_order(block.shape(), strides, dense);
  // A read that fails leaves anything behind, and the older version may still be needed.
  const bool needs_older = !copies.past_.empty() && copies.past_.front().how != Assign::set;
  BlockPtr staged;
  double* into = block.memory();
  if (permuted || needs_older) {
    OB_ASSIGN_OR_RETURN(staged, staging_.allocate(block.shape()));
    into = staged->memory();
  }
  OB_RETURN_IF_ERROR(await_uploads());
  OB_RETURN_IF_ERROR(
      device_->read(compute_, buffer, region_of(block), ::ob::Layout::bytes(into, block.bytes())));
  OB_RETURN_IF_ERROR(device_->synchronize(compute_).status);
  note_quiet();
  // The event of an upload that failed is done all the same.
  if (std::exchange(unchecked_uploads_, false)) {
    OB_RETURN_IF_ERROR(device_->synchronize(uploads_).status);
  }
  traffic_.to_host_bytes += block.bytes();
  if (permuted) {
    CopyPlan(axes_of(block.shape(), dense, strides)).run(block.memory(), into, 1, false);
  } else if (staged != nullptr) {
    std::memcpy(block.memory(), into, block.bytes());
  }
  return {};
}

// Makes the elements of a block again in host memory, which still has the older version.
Status DeviceMemory::repeat(DeviceCopies& copies) {
  const Block& block = copies.block_;
  for (const PastContraction& past : copies.past_) {
    View d;
    d.data = block.memory();
    d.rank = block.shape().rank;
    d.extents = block.shape().extents;
    d.strides = dense_strides(block.shape());
    d.labels = past.labels;
    d.simple = past.simple;
    const auto operand = [](const LabelledBlock& of) {
      return view_of(of, dense_strides(of.block->shape()), of.block->data());
    };
    OB_RETURN_IF_ERROR(contract(d, operand(past.b1), operand(past.b2), past.how, host_, scratch_));
  }
  return {};
}

void DeviceMemory::forget_past(DeviceCopies& copies) {
  for (const PastContraction& past : copies.past_) {
    held_bytes_ -= past.b1.block->bytes() + past.b2.block->bytes();
  }
  copies.depth_ = 0;
  // The operands may end with it, and change the lists.
  const std::vector<PastContraction> ended = std::move(copies.past_);
  copies.past_.clear();
}

void DeviceMemory::free_copies(DeviceCopies& copies, const BufferId* but) noexcept {
  for (const DeviceCopies::Copy& copy : copies.copies_) {
    if (but != nullptr && copy.buffer == *but) continue;
    if (keeps_idle_ && idle_.size() < kMostIdle) {
      idle_.push_back({copy.buffer, copies.block_.bytes()});
      continue;
    }
    (void)device_->free(copy.buffer);
    used_bytes_ -= copies.block_.bytes();
  }
  copies.copies_.clear();
}

}  // namespace ob::sial
