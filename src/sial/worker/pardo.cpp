// The division of a pardo's iterations over the workers.   docs/sial/runtime.md, "Dividing a pardo"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sial/worker/worker.hpp"

namespace ob::sial {
namespace {

// Tuples whose survivors a worker counts with a request, at most: a few milliseconds of work.
constexpr std::uint64_t kMostCounted = std::uint64_t{1} << 16;
// Round trips whose time a chunk takes at least, so that requests cost little.
constexpr double kRoundTrips = 20;
// Tuples of a pardo that is divided by measured times: all are counted before the first one begins.
constexpr std::uint64_t kMostMeasured = std::uint64_t{1} << 16;
// The standard deviation of a worker's time over its mean, above which times say too little.
constexpr double kMostUncertain = 0.03;
constexpr const char* kTimesFile = "pardo-times.txt";
constexpr double kMostLeast = 1 << 20;  // iterations; a wrong measurement must not give all away

}  // namespace

// A pardo that a worker may leave early is divided by the numbers of all its iterations: the
// workers would count different survivors.
Schedule Worker::schedule_of(std::uint32_t number) const {
  const Loop& loop = program_.loops[number];
  if (loop.kind != LoopKind::pardo || exits_[number]) return Schedule::fixed;
  if (setting_.workers == 1) return Schedule::balanced;
  if (setting_.schedule) return *setting_.schedule;
  if (loop.schedule == "static") return Schedule::fixed;
  if (setting_.deterministic) return Schedule::balanced;
  if (loop.schedule == "guided") return Schedule::guided;
  if (loop.schedule == "measured") return Schedule::measured;
  const bool chooses = loop.schedule.empty() && pardo_times_.of(number).uneven;
  return chooses ? Schedule::guided : Schedule::balanced;
}

void Worker::keep_times() {
  for (const auto& [loop, pardo] : pardo_times_.all()) {
    if (schedule_of(loop) == Schedule::measured) pardo_times_.keep_classes(loop);
  }
  const bool reads = rank_ == 0 && setting_.saved != nullptr && setting_.timed;
  if (reads) pardo_times_.load(setting_.saved->folder() / kTimesFile);
}

void Worker::save_times() {
  if (rank_ != 0 || setting_.saved == nullptr || !setting_.timed) return;
  const Status saved = pardo_times_.save(setting_.saved->folder() / kTimesFile);
  if (!saved.ok() && setting_.warn) setting_.warn(program_.name + ": warning: " + saved.message());
}

// Notes the time of the iteration that ends. It is called again while a worker waits for its next
// chunk.
void Worker::note_iteration() {
  const std::uint32_t loop = loops_.back().loop;
  if (program_.loops[loop].kind != LoopKind::pardo || iteration_began_ == 0) return;
  pardo_times_.note(loop, values_, static_cast<double>(schedule_clock() - iteration_began_));
  iteration_began_ = 0;
}

// Gives this worker its share of a pardo by the times that are known, or makes the pardo guided.
void Worker::divide_by_times(ActiveLoop& active) {
  const PardoTimes::Pardo& pardo = pardo_times_.of(active.loop);
  active.schedule = Schedule::guided;
  ClassTimes all;
  double products = 0;
  for (std::size_t one = 0; one < pardo.all.size(); ++one) {
    all.count += pardo.all[one].count;
    all.time += pardo.all[one].time;
    products += pardo.all[one].count * static_cast<double>(pardo.products[one]);
  }
  if (all.time <= 0 || active.total > kMostMeasured) return;
  std::vector<std::uint64_t> counts(pardo.products.size());
  for (std::uint64_t raw = 0; raw < active.total; ++raw) {
    set_indices(active, raw);
    const std::optional<bool> survived = survives(program_.loops[active.loop]);
    if (!survived) return;
    if (*survived) ++counts[pardo_times_.class_of(active.loop, values_)];
  }
  std::vector<double> costs;
  double sum = 0, variance = 0;
  for (std::size_t one = 0; one < counts.size(); ++one) {
    const ClassTimes& times = pardo.all[one];
    // A class without times takes as long per element as the others.
    const double each = times.count > 0
                            ? times.time / times.count
                            : all.time / products * static_cast<double>(pardo.products[one]);
    costs.push_back(each);
    const auto count = static_cast<double>(counts[one]);
    sum += count * each;
    if (times.count > 0) {
      variance += count * std::max(times.squares / times.count - each * each, 0.0);
    }
  }
  const double workers = setting_.workers;
  if (std::sqrt(variance / workers) > kMostUncertain * sum / workers) return;
  active.schedule = Schedule::measured;
  active.classes = longest_first(counts, costs, setting_.workers, rank_);
  active.found.assign(counts.size(), 0);
}

// Says whether this worker computes a surviving iteration, and counts it.
bool Worker::is_mine(const Loop& loop, ActiveLoop& active) {
  if (loop.kind != LoopKind::pardo) return true;
  if (active.schedule == Schedule::measured) {
    const std::size_t one = pardo_times_.class_of(active.loop, values_);
    const std::uint64_t number = active.found[one]++;
    return active.classes[one].first <= number && number < active.classes[one].end;
  }
  const std::uint64_t survivor = active.survivors++;
  const std::uint64_t number =
      active.schedule == Schedule::fixed ? active.candidate : pardo_count_ + survivor;
  return number % setting_.workers == rank_;
}

// find_next() of a guided pardo. It also returns false if the next chunk has not arrived.
bool Worker::find_in_chunk(ActiveLoop& active) {
  const Loop& loop = program_.loops[active.loop];
  do {
    for (; active.survivors < active.share.present.end && active.candidate < active.total;
         ++active.candidate) {
      set_indices(active, active.candidate);
      const std::optional<bool> survived = survives(loop);
      if (!survived) return false;
      if (!*survived || active.survivors++ < active.share.present.begin) continue;
      active.coming.push_back(active.candidate++);
      return true;
    }
  } while (has_next_chunk(active));
  return false;
}

// Goes to the next chunk, if it is there.
bool Worker::has_next_chunk(ActiveLoop& active) {
  ChunkedShare& share = active.share;
  if (!share.next) return false;
  share.present = *std::exchange(share.next, std::nullopt);
  LoopPlace from = share.present.from;
  const Loop& loop = program_.loops[active.loop];
  if (loop.begin + 1 == loop.body) from = {share.present.begin, share.present.begin};
  if (from.raw > active.candidate) {
    active.candidate = from.raw;
    active.survivors = from.survivors;
  }
  return true;
}

// Counts the survivors of some tuples that nobody has counted yet.
void Worker::count_ahead(ActiveLoop& active) {
  const Loop& loop = program_.loops[active.loop];
  LoopPlace& counted = active.share.counted;
  std::uint64_t& window = active.share.window;
  if (active.candidate > counted.raw) counted = {active.candidate, active.survivors};
  if (loop.begin + 1 == loop.body) counted = {active.total, active.total};
  const std::uint64_t end = counted.raw + std::min(window, active.total - counted.raw);
  window = std::min(2 * window, kMostCounted);
  for (; counted.raw < end; ++counted.raw) {
    set_indices(active, counted.raw);
    const std::optional<bool> survived = survives(loop);
    if (!survived) return;
    if (*survived) ++counted.survivors;
  }
}

// Returns how many iterations are worth a request.
std::uint64_t Worker::least_chunk(const ActiveLoop& active) const {
  if (active.begun == 0 || chunk_round_trip_ == 0) return 1;
  const auto took = static_cast<double>(schedule_clock() - active.share.first_ns);
  const double each = std::max(took / static_cast<double>(active.begun), 1.0);
  return static_cast<std::uint64_t>(
      std::clamp(std::ceil(kRoundTrips * chunk_round_trip_ / each), 1.0, kMostLeast));
}

// Asks for the next chunk when the last quarter of the present one begins, so that the look-ahead
// has iterations to go on with.
void Worker::ask_for_chunk(ActiveLoop& active) {
  ChunkedShare& share = active.share;
  const bool begins = !active.coming.empty();  // the next iteration, after this
  const bool enough = begins && share.owned - active.begun - 1 > share.newest / 4;
  if (share.ended || share.request != 0 || enough) return;
  count_ahead(active);
  if (!failure_.empty()) return;
  ChunkRequest request;
  request.worker = rank_;
  request.epoch = epoch_;
  request.pardo = pardos_;
  request.instruction = program_.loops[active.loop].begin;
  request.total = active.total;
  request.least = least_chunk(active);
  request.counted = share.counted;
  Message message = message_of(request);
  message.to = setting_.workers;
  message.request = share.request = next_request_++;
  share.asked_ns = schedule_clock();
  if (share.first_ns == 0) share.first_ns = share.asked_ns;
  exchange_.send(std::move(message));
}

void Worker::take_chunk(const Message& message) {
  const auto of_request = [&](const ActiveLoop& one) {
    return one.share.request == message.request;
  };
  const auto active = std::ranges::find_if(loops_, of_request);
  if (active == loops_.end()) return;
  ChunkedShare& share = active->share;
  const Chunk chunk = chunk_of(message);
  // The interpreter may have been busy when the answer came.
  const bool known = setting_.timed && message.arrived_ns != 0;
  const std::int64_t arrived = known ? message.arrived_ns : schedule_clock();
  const auto took = static_cast<double>(arrived - share.asked_ns);
  // Requests wait for each other, so the shortest time is that of a request alone.
  const bool shorter = chunk_round_trip_ == 0 || took < chunk_round_trip_;
  chunk_round_trip_ = shorter ? std::max(took, 1.0) : chunk_round_trip_ * 1.01;
  share.request = 0;
  share.counted = chunk.counted;
  share.ended = chunk.empty();
  if (chunk.empty()) return;
  share.next = chunk;
  share.newest = chunk.end - chunk.begin;
  share.owned += share.newest;
}

}  // namespace ob::sial
