// The functions of queues, and of copies.

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "api/handles.hpp"
#include "api/place.hpp"
#include "api/queue_use.hpp"
#include "api/rectangle.hpp"
#include "api/sized_struct.hpp"
#include "base/overlap.hpp"

namespace ob::api {
namespace {

// A captured write of more bytes waits until it is done, because a copy would take as long.
constexpr std::uint64_t kMostCopiedBytes = 64 << 10;
// A queue that has copied more waits for its commands, so that its memory stays bounded.
constexpr std::uint64_t kMostHeldBytes = 4 << 20;

Outcome unknown_flags(const char* function, const char* known) {
  return mistake(std::string("unknown flags of ") + function + "; pass " + known);
}

Region bytes_at(std::uint64_t offset_bytes, std::uint64_t bytes) {
  return {.offset_bytes = offset_bytes, .rows = bytes, .cols = 1, .ld = bytes};
}

// --- copies --------------------------------------------------------------------------------------

// Hands over a write whose source the caller may change at once.
Status write_captured(Queue& queue, BufferId buffer, const Region& region, const Layout& source) {
  Device& device = **queue.device;
  // A message has left, or lies in the connection's buffer, when write() returns.
  if (queue.device->remote() != nullptr) return device.write(queue.id, buffer, region, source);
  const std::uint64_t bytes = source.total_bytes();
  if (bytes <= kMostCopiedBytes && queue.captured_bytes() + bytes <= kMostHeldBytes) {
    return device.write(queue.id, buffer, region, queue.capture(source));
  }
  OB_RETURN_IF_ERROR(device.write(queue.id, buffer, region, source));
  (void)queue.await(false, Deadline::max());  // the failure stays for synchronize
  return {};
}

Outcome write(ob_queue queue_handle, const ob_place& to, const void* from, const Sides& sides,
              std::uint32_t flags) {
  OB_ASSIGN_OR_RETURN(const QueueUse queue, QueueUse::begin(queue_handle));
  OB_ASSIGN_OR_RETURN(const auto buffer, buffer_of(to, *queue->device));
  OB_RETURN_IF_ERROR(check_inside("write", *buffer, sides.device));
  if (packed_bytes(sides.device) == 0) return {};
  if (Outcome outcome = check_words(*queue->device, sides.device); !outcome.ok()) return outcome;
  if (from == nullptr) return mistake("no source (the pointer is NULL)");
  const Layout source = Layout::matrix(const_cast<void*>(from), sides.host);  // only read
  OB_RETURN_IF_ERROR((flags & OB_CAPTURE) != 0
                         ? write_captured(*queue, buffer->id, sides.device, source)
                         : (*queue->device)->write(queue->id, buffer->id, sides.device, source));
  queue->count();
  return {};
}

Outcome read(ob_queue queue_handle, void* to, const ob_place& from, const Sides& sides,
             std::uint32_t flags) {
  if ((flags & OB_WAIT) != 0) OB_RETURN_IF_ERROR(check_may_wait("ob_read with OB_WAIT"));
  OB_ASSIGN_OR_RETURN(const QueueUse queue, QueueUse::begin(queue_handle));
  OB_ASSIGN_OR_RETURN(const auto buffer, buffer_of(from, *queue->device));
  OB_RETURN_IF_ERROR(check_inside("read", *buffer, sides.device));
  if (packed_bytes(sides.device) != 0) {
    if (to == nullptr) return mistake("no destination (the pointer is NULL)");
    if (Outcome outcome = check_words(*queue->device, sides.device); !outcome.ok()) return outcome;
    OB_RETURN_IF_ERROR(
        (*queue->device)
            ->read(queue->id, buffer->id, sides.device, Layout::matrix(to, sides.host)));
    queue->count();
  }
  if ((flags & OB_WAIT) == 0) return {};
  return queue->outcome_of(*queue->await(false, Deadline::max()));
}

Outcome copy(ob_queue queue_handle, const ob_place& to, const ob_place& from, Region to_region,
             Region from_region) {
  OB_ASSIGN_OR_RETURN(const QueueUse queue, QueueUse::begin(queue_handle));
  OB_ASSIGN_OR_RETURN(const auto target, buffer_of(to, *queue->device));
  OB_ASSIGN_OR_RETURN(const auto source, buffer_of(from, *queue->device));
  to_region.offset_bytes = to.offset_bytes;
  from_region.offset_bytes = from.offset_bytes;
  OB_RETURN_IF_ERROR(check_inside("copy", *target, to_region));
  OB_RETURN_IF_ERROR(check_inside("copy", *source, from_region));
  if (packed_bytes(to_region) == 0) return {};
  if (target == source && overlap(to_region, from_region)) {
    return mistake("source and destination of a copy overlap; copy through another buffer");
  }
  OB_RETURN_IF_ERROR(
      (*queue->device)->copy(queue->id, source->id, from_region, target->id, to_region));
  queue->count();
  return {};
}

Outcome fill(ob_queue queue_handle, const ob_place& to, const void* pattern,
             std::uint32_t pattern_bytes, std::uint64_t count) {
  if (!std::has_single_bit(pattern_bytes) || pattern_bytes > 16) {
    return mistake("a pattern of " + std::to_string(pattern_bytes) +
                   " bytes; it has 1, 2, 4, 8 or 16");
  }
  if (pattern == nullptr) return mistake("no pattern (the pointer is NULL)");
  OB_ASSIGN_OR_RETURN(const QueueUse queue, QueueUse::begin(queue_handle));
  OB_ASSIGN_OR_RETURN(const auto buffer, buffer_of(to, *queue->device));
  const Region region{.offset_bytes = to.offset_bytes,
                      .element_bytes = pattern_bytes,
                      .rows = count,
                      .cols = 1,
                      .ld = count,
                      .word_bytes = static_cast<std::uint8_t>(std::min(pattern_bytes, 8u))};
  OB_RETURN_IF_ERROR(check_inside("fill", *buffer, region));
  if (count == 0) return {};
  const std::span element(static_cast<const std::byte*>(pattern), pattern_bytes);
  OB_RETURN_IF_ERROR((*queue->device)->fill(queue->id, buffer->id, region, element));
  queue->count();
  return {};
}

// --- queues --------------------------------------------------------------------------------------

Outcome create_queue(ob_device handle, std::uint32_t flags, ob_queue* made) {
  if (made == nullptr) return mistake("no place for the queue (the pointer is NULL)");
  if (flags != 0) return unknown_flags("ob_queue_create", "0");
  OB_ASSIGN_OR_RETURN(const DevicePtr device, find<OpenDevice>(handle));
  OB_ASSIGN_OR_RETURN(const QueueId id, (*device)->create_queue());
  *made = add(std::make_shared<Queue>(device, id));
  return {};
}

Outcome destroy_queue(ob_queue handle) {
  OB_RETURN_IF_ERROR(check_may_wait("ob_queue_destroy"));
  OB_ASSIGN_OR_RETURN(const QueueUse queue, QueueUse::begin(handle));
  return take<Queue>(handle).status();  // the queue waits at the end of its use
}

Outcome set_accuracy(ob_queue handle, std::int32_t mode) {
  if (mode < OB_STANDARD || mode > OB_EMULATED) {
    return mistake("accuracy " + std::to_string(mode) +
                   " (unknown); pass OB_STANDARD, OB_STRICT, OB_FAST or OB_EMULATED");
  }
  OB_ASSIGN_OR_RETURN(const QueueUse queue, QueueUse::begin(handle));
  return (*queue->device)->set_accuracy(queue->id, static_cast<Accuracy>(mode));
}

Outcome call_back(ob_queue handle, void (*done)(void* user, const ob_report*), void* user) {
  if (done == nullptr) return mistake("no callback (the pointer is NULL)");
  const auto released = std::make_shared<std::atomic<bool>>(false);
  Status asked;
  {
    OB_ASSIGN_OR_RETURN(const QueueUse queue, QueueUse::begin(handle));
    asked = queue->call_back(done, user, released);
  }
  *released = true;
  released->notify_one();
  return asked;
}

Outcome synchronize(ob_queue handle, std::int64_t timeout_ms, ob_report* report) {
  if (report != nullptr) {
    if (Outcome outcome = check_size(report, "ob_report"); !outcome.ok()) return outcome;
  }
  if (timeout_ms != 0) OB_RETURN_IF_ERROR(check_may_wait("ob_queue_synchronize"));
  OB_ASSIGN_OR_RETURN(const Deadline deadline, deadline_after(timeout_ms));
  OB_ASSIGN_OR_RETURN(const QueueUse queue, QueueUse::begin(handle));
  // One wait: after a second one, the report could be that of the connection's end, and the outcome
  // that of a command before.
  const auto all = queue->await(true, deadline);
  if (!all) {
    return Outcome(Status(Code::deadline_exceeded, "the queue is still working; wait again"));
  }
  const Outcome outcome = queue->outcome_of(*all);
  queue->forget_calls();
  if (report != nullptr) {
    ob_report result{};
    describe(*all, outcome, result);
    give(result, *report);
  }
  return outcome;
}

}  // namespace
}  // namespace ob::api

using namespace ob::api;  // NOLINT(google-build-using-namespace): exported C functions only

OB_EXPORT ob_status ob_queue_create(ob_device device, uint32_t flags, ob_queue* queue) {
  return answer([&] { return create_queue(device, flags, queue); });
}

OB_EXPORT ob_status ob_queue_destroy(ob_queue queue) {
  return answer([&] { return destroy_queue(queue); });
}

OB_EXPORT ob_status ob_queue_flush(ob_queue queue) {
  return answer([&]() -> Outcome {
    OB_ASSIGN_OR_RETURN(const QueueUse use, QueueUse::begin(queue));
    ob::client::SharedDevice* const remote = use->device->remote();
    return remote == nullptr ? ob::Status() : remote->flush(use->id);  // others start at once
  });
}

OB_EXPORT ob_status ob_queue_accuracy(ob_queue queue, int32_t mode) {
  return answer([&] { return set_accuracy(queue, mode); });
}

OB_EXPORT ob_status ob_queue_synchronize(ob_queue queue, int64_t timeout_ms, ob_report* report) {
  return answer([&] { return synchronize(queue, timeout_ms, report); });
}

OB_EXPORT ob_status ob_write(ob_queue queue, ob_place to, const void* from, uint64_t bytes,
                             uint32_t flags) {
  return answer([&]() -> Outcome {
    if ((flags & ~std::uint32_t{OB_CAPTURE}) != 0) {
      return unknown_flags("ob_write", "0 or OB_CAPTURE");
    }
    return write(queue, to, from, {bytes_at(to.offset_bytes, bytes), bytes_at(0, bytes)}, flags);
  });
}

OB_EXPORT ob_status ob_read(ob_queue queue, void* to, ob_place from, uint64_t bytes,
                            uint32_t flags) {
  return answer([&]() -> Outcome {
    if ((flags & ~std::uint32_t{OB_WAIT}) != 0) return unknown_flags("ob_read", "0 or OB_WAIT");
    return read(queue, to, from, {bytes_at(from.offset_bytes, bytes), bytes_at(0, bytes)}, flags);
  });
}

OB_EXPORT ob_status ob_write_2d(ob_queue queue, ob_place to, const void* from,
                                const ob_rect* rect) {
  return answer([&]() -> Outcome {
    Sides sides;
    if (Outcome outcome = sides_of(rect, to.offset_bytes, sides); !outcome.ok()) return outcome;
    if ((rect->flags & ~std::uint32_t{OB_CAPTURE}) != 0) {
      return unknown_flags("ob_write_2d", "0 or OB_CAPTURE");
    }
    return write(queue, to, from, sides, rect->flags);
  });
}

OB_EXPORT ob_status ob_read_2d(ob_queue queue, void* to, ob_place from, const ob_rect* rect) {
  return answer([&]() -> Outcome {
    Sides sides;
    if (Outcome outcome = sides_of(rect, from.offset_bytes, sides); !outcome.ok()) return outcome;
    if ((rect->flags & ~std::uint32_t{OB_WAIT}) != 0) {
      return unknown_flags("ob_read_2d", "0 or OB_WAIT");
    }
    return read(queue, to, from, sides, rect->flags);
  });
}

OB_EXPORT ob_status ob_copy(ob_queue queue, ob_place to, ob_place from, uint64_t bytes) {
  return answer([&] { return copy(queue, to, from, bytes_at(0, bytes), bytes_at(0, bytes)); });
}

OB_EXPORT ob_status ob_copy_2d(ob_queue queue, ob_place to, ob_place from, const ob_rect* rect) {
  return answer([&]() -> Outcome {
    Sides sides;
    if (Outcome outcome = sides_of(rect, 0, sides); !outcome.ok()) return outcome;
    if (rect->flags != 0) return unknown_flags("ob_copy_2d", "0");
    return copy(queue, to, from, sides.device, sides.host);
  });
}

OB_EXPORT ob_status ob_fill(ob_queue queue, ob_place to, const void* pattern,
                            uint32_t pattern_bytes, uint64_t count) {
  return answer([&] { return fill(queue, to, pattern, pattern_bytes, count); });
}

OB_EXPORT ob_status ob_queue_callback(ob_queue queue, void (*done)(void* user, const ob_report*),
                                      void* user) {
  return answer([&] { return call_back(queue, done, user); });
}
