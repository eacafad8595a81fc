#include "fuzz/client_script.hpp"

#include <array>
#include <cstring>

#include "base/chunks.hpp"
#include "fuzz/failure.hpp"

namespace ob::fuzz {
namespace {

constexpr std::size_t kMemoryBytes = std::size_t{16} << 10;
constexpr std::size_t kSourceBytes = 4096;  // the start of the memory: sent, never read to
constexpr std::uint64_t kBufferBytes[] = {4096, 64, 1, 65536, 1 << 18, 0};
constexpr std::uint64_t kChunkBytes = 64;
// These regions fit in buffers of 4096 bytes and more.
const Region kRegions[] = {
    {.element_bytes = 8, .rows = 8, .cols = 1, .ld = 8, .word_bytes = 8},
    {.element_bytes = 8, .rows = 5, .cols = 3, .ld = 7, .word_bytes = 8},
    {.element_bytes = 16,
     .triangle = Triangle::upper,
     .rows = 4,
     .cols = 4,
     .ld = 5,
     .word_bytes = 8},
    {.element_bytes = 4,
     .triangle = Triangle::lower_strict,
     .rows = 6,
     .cols = 4,
     .ld = 6,
     .word_bytes = 4},
    {.rows = 2500, .cols = 1, .ld = 2500, .word_bytes = 1},  // long enough to land directly
    {.offset_bytes = 8, .element_bytes = 2, .rows = 3, .cols = 2, .ld = 3},  // no word size
    {.rows = 2100, .cols = 2, .ld = 2110, .word_bytes = 1},                  // beyond small buffers
    {.rows = 0, .cols = 0, .ld = 1, .word_bytes = 1},
};

const Region& region_of(unsigned argument) { return kRegions[argument % std::size(kRegions)]; }

// Returns true if element (row, column) belongs to the region.   Source: docs/wire.md, section 5
bool referenced(Triangle triangle, std::uint64_t row, std::uint64_t column) {
  switch (triangle) {
    case Triangle::full: return true;
    case Triangle::upper: return row <= column;
    case Triangle::lower: return row >= column;
    case Triangle::upper_strict: return row < column;
    case Triangle::lower_strict: return row > column;
  }
  return false;
}

}  // namespace

ClientScript::ClientScript() : memory_(kMemoryBytes), may_change_(kMemoryBytes) {
  for (std::size_t i = 0; i < memory_.size(); ++i)
    memory_[i] = static_cast<std::byte>(0xA5 ^ (i * 7));
  expected_ = memory_;
  used_bytes_ = kSourceBytes;
}

void ClientScript::run(View script) {
  std::vector<std::byte> at_break;
  {
    // The timeouts have expired: the client sends one ping, then takes a silent daemon for dead.
    auto device = client::RemoteDevice::open(
        "fuzz:1", {.timeouts = {.connect_ms = 1000, .ping_after_ms = 0, .dead_after_ms = 0}});
    if (!device.ok()) return check();
    for (const std::byte b : script) {
      const auto word = std::to_integer<unsigned>(b);
      step(**device, word % 16, word / 16);
      if ((*device)->broken() && at_break.empty()) at_break = memory_;
    }
  }
  check();
  expect(at_break.empty() || at_break == memory_, "nothing lands once the device is broken");
}

void ClientScript::check() const {
  bool kept = true;
  for (std::size_t i = 0; i < memory_.size(); ++i)
    kept = kept && (may_change_[i] != 0 || memory_[i] == expected_[i]);
  expect(kept, "only what was read to changes");
}

// Marks the region's elements by the definition of a region, not by the layout that lands them.
void ClientScript::mark(const Region& region, std::size_t first_byte) {
  for (std::uint64_t column = 0; column < region.cols; ++column) {
    for (std::uint64_t row = 0; row < region.rows; ++row) {
      if (!referenced(region.triangle, row, column)) continue;
      const std::size_t at = first_byte + (column * region.ld + row) * region.element_bytes;
      std::memset(may_change_.data() + at, 1, region.element_bytes);
    }
  }
}

// Returns a place that no read has used yet, with its leading dimension. Returns the first place
// again when none is left.
Layout ClientScript::next_place(const Region& region) {
  Region here = region;
  here.offset_bytes = 0;
  const std::size_t size = extent_bytes(here);
  if (used_bytes_ + size > memory_.size()) used_bytes_ = kSourceBytes;
  const std::size_t at = used_bytes_;
  used_bytes_ += size + 16;
  mark(here, at);
  return Layout::matrix(memory_.data() + at, here);
}

void ClientScript::read(client::RemoteDevice& device, unsigned argument) {
  const Region& region = region_of(argument);
  const Layout place = next_place(region);
  (void)device.read(one_of(queues_, argument / 8), one_of(buffers_, argument), region, place);
}

void ClientScript::digest(client::RemoteDevice& device, unsigned argument) {
  const Region& region = region_of(argument);
  const std::uint64_t count = Chunks(region, kChunkBytes).count();
  digests_.push_back(std::make_unique<Digest[]>(count));  // guarded by the sanitizer
  (void)device.digest(one_of(queues_, argument), one_of(buffers_, argument), region, kChunkBytes,
                      {digests_.back().get(), count});
}

void ClientScript::move(client::RemoteDevice& device, unsigned operation, unsigned argument) {
  const QueueId queue = one_of(queues_, argument / 8);
  const BufferId buffer = one_of(buffers_, argument);
  const Region& region = region_of(argument);
  switch (operation) {
    case 0: {
      Region source = region;
      source.offset_bytes = 0;
      (void)device.write(queue, buffer, region,
                         extent_bytes(source) <= kSourceBytes
                             ? Layout::matrix(memory_.data(), source)
                             : Layout::bytes(memory_.data(), packed_bytes(region)));
      break;
    }
    case 1: read(device, argument); break;
    case 2: digest(device, argument); break;
    default: (void)device.copy(queue, buffer, region, one_of(buffers_, argument + 1), region);
  }
}

void ClientScript::compute(client::RemoteDevice& device, unsigned operation, unsigned argument) {
  const QueueId queue = one_of(queues_, argument / 8);
  const BufferId buffer = one_of(buffers_, argument);
  if (operation == 0) {
    const Descriptor* scale = routines::find("dscal");
    Argument arguments[kMaxArguments];
    arguments[0].dim = 4;
    arguments[1].scalar = {2, 0};
    arguments[2].device = {buffer, 8 * argument, 1};
    (void)device.call(queue, *scale, arguments);
  } else if (operation == 1) {
    FftPlan plan;
    plan.rank = 1;
    plan.n[0] = 1 + argument;
    const auto made = argument % 2 == 0 ? device.make_plan(plan) : device.plan_for(plan);
    if (made.ok()) plans_.push_back(*made);
  } else if (operation == 2) {
    (void)device.execute(queue, one_of(plans_, argument), {buffer, 0}, {buffer, 0});
  } else if (argument % 4 == 0) {
    (void)device.drop_cached_plans();
  } else {
    (void)device.destroy_plan(one_of(plans_, argument));
  }
}

void ClientScript::reach_others(client::RemoteDevice& device, unsigned operation) {
  Peering& peering = *device.peering();
  const QueueId queue = one_of(queues_, operation);
  const BufferId buffer = one_of(buffers_, operation);
  const Region& region = kRegions[1];
  int polls_left = 3;
  switch (operation) {
    case 0: (void)peering.mailbox(); break;
    case 1:
    case 2:
      if (const auto peer = peering.connect({"fuzz:" + std::to_string(operation), {5, operation}});
          peer.ok()) {
        peers_.push_back(*peer);
      }
      break;
    case 3:
    case 4:
      (void)peering.send(queue, one_of(peers_, operation), {operation}, buffer, region);
      break;
    case 5: (void)peering.receive(queue, {1}, buffer, region, {}); break;
    case 6: (void)peering.receive(queue, {2}, buffer, region, one_of(peers_, 0)); break;
    case 7: (void)peering.await({1}, [&] { return --polls_left < 0; }); break;
    default:
      (void)peering.leave();
      peers_.clear();
      break;
  }
}

void ClientScript::step(client::RemoteDevice& device, unsigned operation, unsigned argument) {
  const QueueId queue = one_of(queues_, argument);
  switch (operation) {
    case 0:
      if (const auto made = device.create_queue(); made.ok()) queues_.push_back(*made);
      break;
    case 1: {
      const auto made = device.allocate(kBufferBytes[argument % std::size(kBufferBytes)]);
      if (made.ok()) buffers_.push_back(*made);
      break;
    }
    case 2: (void)device.free(one_of(buffers_, argument)); break;
    case 3:
    case 4:
    case 5:
    case 6: move(device, operation - 3, argument); break;
    case 7:
    case 8:
    case 9:
    case 10: compute(device, operation - 7, argument); break;
    case 11:
      if (const auto made = device.create_event(); made.ok()) events_.push_back(*made);
      (void)device.record(queue, one_of(events_, argument));
      break;
    case 12: (void)device.wait(queue, one_of(events_, argument)); break;
    case 13: (void)device.synchronize(queue); break;
    case 14:
      // This ping bypasses the device, which does not learn from it that its connection failed.
      if (argument < 4 && !device.broken() && !device.connection().ping().ok()) device.abandon();
      if (argument == 4) (void)device.drop_cached_buffers();
      if (argument == 5 && !events_.empty()) (void)device.destroy_event(events_.front());
      if (argument == 6) (void)device.on_reached(queue, true, [](const QueueReport&) {});
      (void)device.flush();
      if (argument >= 7) reach_others(device, argument - 7);
      break;
    default: (void)device.destroy_queue(queue); break;
  }
}

}  // namespace ob::fuzz
