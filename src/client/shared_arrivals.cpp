// Waits of a SharedDevice that tell of reads on several connections.

#include <algorithm>
#include <utility>

#include "client/shared_device.hpp"

namespace ob::client {
namespace {

using MarkDone = std::function<void(const QueueMark&)>;
struct Arrival {
  std::shared_ptr<DataArrivals> data;
  std::uint64_t sequence;
};
using Arrivals = std::shared_ptr<const std::vector<Arrival>>;

// Calls `done` when all arrivals from number `next` on have come.
void call_after(const Arrivals& arrivals, std::size_t next, const QueueMark& mark,
                const MarkDone& done) {
  for (; next < arrivals->size(); ++next) {
    const Arrival& arrival = (*arrivals)[next];
    const auto gate = arrival.data->gate(arrival.sequence);
    if (gate == nullptr) continue;
    gate->when_open([arrivals, next, mark, done](const Status& outcome) {
      if (outcome.ok()) return call_after(arrivals, next + 1, mark, done);
      QueueMark failed = mark;
      if (failed.report.status.ok()) failed.report.status = outcome;
      done(failed);
    });
    return;
  }
  done(mark);
}

}  // namespace

// The queue waits, with its command `sequence`, for a record. What that queue has read, and what it
// has waited for itself, may still be under way on other connections.
void SharedDevice::note_reads(QueueId queue, std::uint64_t sequence, const Use& recorded) {
  const std::lock_guard lock(mutex_);
  const auto at = queues_.find(queue);
  if (at == queues_.end()) return;
  std::vector<Reads>& mine = at->second.reads;
  const auto arrived = [](const Reads& reads) {
    return reads.connection->arrivals().complete(reads.other_sequence);
  };
  std::erase_if(mine, arrived);
  const auto add = [&](const Reads& reads) {
    if (reads.connection != at->second.connection && !arrived(reads)) mine.push_back(reads);
  };
  for (const auto& [id, other] : queues_) {
    if (id == queue || other.progress != recorded.progress) continue;
    for (const Reads& reads : other.reads) {
      if (reads.sequence <= recorded.sequence) {
        add({sequence, reads.connection, reads.other_sequence});
      }
    }
  }
  add({sequence, recorded.connection, recorded.sequence});
}

// After a wait for the queue: the daemon has sent the data of reads that it tells of.
Status SharedDevice::wait_reads(QueueId queue) {
  std::vector<Reads> over;
  {
    const std::lock_guard lock(mutex_);
    const auto at = queues_.find(queue);
    if (at == queues_.end() || at->second.reads.empty()) return {};
    std::erase_if(at->second.reads, [&](const Reads& reads) {
      if (!at->second.progress->is_over(reads.sequence)) return false;
      over.push_back(reads);
      return true;
    });
  }
  for (const Reads& reads : over) {
    OB_RETURN_IF_ERROR(reads.connection->wait_data(reads.other_sequence));
  }
  return {};
}

// Returns a function that calls `done` when the data of reads that the queue's mark tells of have
// arrived, too.
MarkDone SharedDevice::after_reads(QueueId queue, MarkDone done) const {
  auto arrivals = std::make_shared<std::vector<Arrival>>();
  {
    const std::lock_guard lock(mutex_);
    const auto at = queues_.find(queue);
    if (at == queues_.end() || at->second.reads.empty()) return done;
    for (const Reads& reads : at->second.reads) {
      arrivals->push_back({reads.connection->shared_arrivals(), reads.other_sequence});
    }
  }
  return [arrivals = Arrivals(std::move(arrivals)), done = std::move(done)](const QueueMark& mark) {
    // A queue that has failed may have skipped its waits.
    if (!mark.report.status.ok()) return done(mark);
    call_after(arrivals, 0, mark, done);
  };
}

}  // namespace ob::client
