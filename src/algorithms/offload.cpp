#include "algorithms/offload.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "algorithms/device_buffer.hpp"
#include "algorithms/residency/placed_operand.hpp"
#include "base/host_scratch.hpp"
#include "device/stopwatch.hpp"

namespace ob::algorithms {
namespace {

// A result that returns to the host: its place on the device, its place in the program's memory,
// and the scratch memory where it waits.
class Returning {
 public:
  Returning(BufferId buffer, const Region& region, const Layout& home, bool waits, Kind kind)
      : buffer_(buffer), region_(region), home_(home), waits_(waits), kind_(kind) {}

  // Requests the elements. Write-only elements are read directly into the program's memory. Other
  // elements wait in scratch memory. If the host can access the device's memory, all elements wait
  // there.
  Status fetch(Device& device, QueueId queue) {
    view_ = device.host_view(buffer_);
    if (view_ != nullptr) return {};
    if (!waits_) return device.read(queue, buffer_, region_, home_);
    scratch_.emplace(home_.total_bytes());
    if (scratch_->data() == nullptr) {
      return Status(Code::out_of_memory, "no memory for " + std::to_string(home_.total_bytes()) +
                                             " bytes of results on this side");
    }
    return device.read(queue, buffer_, region_,
                       Layout::bytes(scratch_->data(), home_.total_bytes()));
  }

  // Copies the elements to the program's memory. This cannot fail.
  // @pre the queue was synchronized without error
  void commit() const {
    if (view_ != nullptr) {
      copy(home_, Layout::matrix(view_, region_));
    } else if (scratch_) {
      copy(home_, Layout::bytes(scratch_->data(), home_.total_bytes()));
    }
  }

  std::uint64_t bytes() const { return home_.total_bytes(); }
  Kind kind() const { return kind_; }

  // @pre that of commit(), and the result is a 64-bit integer
  std::int64_t first_integer() const {
    std::int64_t value = 0;
    const std::byte* at = view_ != nullptr ? view_ + region_.offset_bytes
                          : scratch_       ? scratch_->data()
                                           : Layout::Cursor(home_).piece().data();
    std::memcpy(&value, at, sizeof value);
    return value;
  }

 private:
  BufferId buffer_;
  Region region_;
  Layout home_;
  bool waits_;
  Kind kind_;
  std::byte* view_ = nullptr;
  std::optional<HostScratch> scratch_;
};

Status fetch_all(Device& device, QueueId queue, std::vector<Returning>& results) {
  for (Returning& result : results) OB_RETURN_IF_ERROR(result.fetch(device, queue));
  return {};
}

// The place where calls run, and the receivers of their timings and results.
struct Target {
  Device& device;
  QueueId queue;
  CallTimings& timings;
  Commits* commits = nullptr;
};

// Completes a call after the last byte is sent: fetches the results, waits, commits them if `check`
// succeeds, and fills in the timings.
template <class Check>
Status finish(const Target& target, std::vector<Returning>& results, const Check& check,
              const Stopwatch& watch) {
  auto& [device, queue, timings, commits] = target;
  timings.to_server_ns = watch.elapsed_ns();
  if (const Status status = fetch_all(device, queue, results); !status.ok()) {
    return settle(device, queue, status);
  }
  const QueueReport report = device.synchronize(queue);
  OB_RETURN_IF_ERROR(report.status);
  OB_RETURN_IF_ERROR(check());
  OB_RETURN_IF_ERROR(commit_or_wait(commits, [&] {
    for (const Returning& result : results) result.commit();
  }));
  for (const Returning& result : results) timings.bytes_from += result.bytes();
  const std::uint64_t after_ns = watch.elapsed_ns() - timings.to_server_ns;
  timings.plan_ns = report.plan_ns;
  timings.compute_ns = report.compute_ns;
  timings.waited_ns = report.waited_ns;
  const std::uint64_t named_ns = report.plan_ns + report.compute_ns + report.waited_ns;
  timings.from_server_ns = after_ns - std::min(after_ns, named_ns);
  return {};
}

enum Side : bool { kReading = false, kWriting = true };

Layout home_of(const Descriptor& routine, const Operand& operand, const HostOperand& host,
               Side side) {
  return Layout::matrix(host.data, home_region(routine, operand, host, side));
}

// The device side of one call: a dense buffer for each operand.
struct OnDevice {
  Operands operands;
  std::optional<DeviceBuffer> buffers[kMaxOperands];  // used for this call only
  bool placed[kMaxOperands] = {};  // up to date on the device: cached, or shared with the last call
  Argument arguments[kMaxArguments];
};

// Some calls of one routine: their arguments and their operands on the device.
struct Batch {
  const Descriptor& routine;
  const CallArguments* given;
  OnDevice* on_device;
  std::size_t count;
  Residency::Call* resident;  // nullptr: nothing is cached on the device
};

// Detects a problem that is too large for the device before any operand is sent.
Status check_room(Device& device, const Batch& batch) {
  std::uint64_t needed_bytes = 0;
  for (std::size_t i = 0; i < batch.count; ++i) {
    for (const Operand& operand : batch.on_device[i].operands.span()) {
      const std::uint64_t bytes = extent_bytes(device_region(operand, kReading));
      needed_bytes = bytes > UINT64_MAX - needed_bytes ? UINT64_MAX : needed_bytes + bytes;
    }
  }
  return needed_bytes <= device.info().memory_bytes ? Status() : no_room(device, needed_bytes);
}

// True if the operand of call `i` is an input that the call before it has in the same place.
bool is_shared(const Batch& batch, std::size_t i, int index) {
  const Operand& operand = batch.on_device[i].operands.items[index];
  if (i == 0 || operand.written || operand.consumed) return false;
  const Operand& other = batch.on_device[i - 1].operands.items[index];
  const HostOperand& mine = batch.given[i].items[operand.argument].host;
  const HostOperand& previous = batch.given[i - 1].items[operand.argument].host;
  return mine.data == previous.data && mine.ld == previous.ld && operand.rows == other.rows &&
         operand.cols == other.cols && operand.triangle == other.triangle &&
         operand.read == other.read;
}

// Returns the buffer of operand `o` of call `i`. A cached operand is brought up to date.
Result<BufferId> place(Device& device, QueueId queue, const Batch& batch, std::size_t i, int o,
                       CallTimings& timings) {
  OnDevice& call = batch.on_device[i];
  const Operand& operand = call.operands.items[o];
  if (batch.resident != nullptr) {
    const HostOperand& host = batch.given[i].items[operand.argument].host;
    OB_ASSIGN_OR_RETURN(const auto placement,
                        batch.resident->place(queue, placed_operand(batch.routine, operand, host)));
    if (placement) {
      call.placed[o] = true;
      timings.bytes_to += placement->sent_bytes;
      timings.bytes_kept += placement->kept_bytes;
      return placement->buffer;
    }
  }
  const Region region = device_region(operand, kReading);
  OB_RETURN_IF_ERROR(call.buffers[o].emplace(device).allocate(extent_bytes(region)));
  return call.buffers[o]->id();
}

Status place(Device& device, QueueId queue, const Batch& batch, std::size_t i,
             CallTimings& timings) {
  OnDevice& call = batch.on_device[i];
  for (int o = 0; o < call.operands.count; ++o) {
    const Operand& operand = call.operands.items[o];
    DeviceOperand& on_device = call.arguments[operand.argument].device;
    if (is_shared(batch, i, o)) {
      on_device = batch.on_device[i - 1].arguments[operand.argument].device;
      call.placed[o] = true;
      continue;
    }
    OB_ASSIGN_OR_RETURN(const BufferId buffer, place(device, queue, batch, i, o, timings));
    const std::int64_t ld = batch.given[i].items[operand.argument].host.ld;
    on_device = {buffer, 0, dense_ld(operand, batch.routine.kinds[operand.argument], ld)};
  }
  return {};
}

Status place_all(Device& device, QueueId queue, const Batch& batch, std::vector<Returning>& results,
                 CallTimings& timings) {
  std::size_t operands = 0;
  for (std::size_t i = 0; i < batch.count; ++i) {
    OnDevice& call = batch.on_device[i];
    call.operands = batch.routine.operands(batch.given[i].items);
    std::copy_n(batch.given[i].items, batch.routine.kinds.size(), call.arguments);
    operands += static_cast<std::size_t>(call.operands.count);
  }
  results.reserve(operands);  // nothing may fail between the first read and synchronize()
  OB_RETURN_IF_ERROR(check_room(device, batch));
  for (std::size_t i = 0; i < batch.count; ++i) {
    OB_RETURN_IF_ERROR(place(device, queue, batch, i, timings));
  }
  return {};
}

Status submit(Device& device, QueueId queue, const Batch& batch, std::size_t i,
              std::vector<Returning>& results, CallTimings& timings) {
  const OnDevice& call = batch.on_device[i];
  for (int o = 0; o < call.operands.count; ++o) {
    const Operand& operand = call.operands.items[o];
    const HostOperand& host = batch.given[i].items[operand.argument].host;
    const BufferId buffer = call.arguments[operand.argument].device.buffer;
    if (operand.read && !call.placed[o]) {
      const Layout home = home_of(batch.routine, operand, host, kReading);
      OB_RETURN_IF_ERROR(device.write(queue, buffer, device_region(operand, kReading), home));
      timings.bytes_to += home.total_bytes();
    }
    if (operand.written) {
      // If info can declare the results invalid, they wait, even if they replace unread data.
      const bool waits = operand.read || batch.routine.rerun;
      results.emplace_back(buffer, device_region(operand, kWriting),
                           home_of(batch.routine, operand, host, kWriting), waits,
                           batch.routine.kinds[operand.argument]);
    }
  }
  return device.call(queue, batch.routine, call.arguments);
}

Status submit_all(Device& device, QueueId queue, const Batch& batch,
                  std::vector<Returning>& results, CallTimings& timings) {
  OB_RETURN_IF_ERROR(place_all(device, queue, batch, results, timings));
  for (std::size_t i = 0; i < batch.count; ++i) {
    OB_RETURN_IF_ERROR(submit(device, queue, batch, i, results, timings));
  }
  return {};
}

// Checks the info that the routine returns. The arguments were accepted before the call, so a
// negative info is a difference between two libraries.
Status check_info(const Descriptor& routine, const std::vector<Returning>& results) {
  for (const Returning& result : results) {
    if (result.kind() != Kind::info) continue;
    const std::int64_t info = result.first_integer();
    if (info == 0 || (info > 0 && !routine.rerun)) continue;
    return {Code::declined,
            std::string(routine.name) + " gave info = " + std::to_string(info) + " on the device"};
  }
  return {};
}

// @param results outlives the buffers of the batch, because pending reads may still write to it
Status run_batch(const Target& target, const Batch& batch, std::vector<Returning>& results) {
  auto& [device, queue, timings, commits] = target;
  const Stopwatch watch;
  if (const Status status = submit_all(device, queue, batch, results, timings); !status.ok()) {
    return settle(device, queue, status);
  }
  const auto check = [&] { return check_info(batch.routine, results); };
  OB_RETURN_IF_ERROR(finish(target, results, check, watch));
  if (batch.resident != nullptr) batch.resident->succeeded();
  return {};
}

}  // namespace

Status offload_call(const CallContext& context) {
  std::vector<Returning> results;
  OnDevice on_device;
  CallArguments given;
  std::copy_n(context.arguments, context.routine.kinds.size(), given.items);
  std::optional<Residency::Call> resident;
  if (context.residency != nullptr) resident.emplace(*context.residency);
  const Batch batch{context.routine, &given, &on_device, 1, resident ? &*resident : nullptr};
  return run_batch({context.device, context.queue, context.timings, context.commits}, batch,
                   results);
}

Status offload_calls(Device& device, QueueId queue, const Descriptor& routine,
                     std::span<const CallArguments> calls, CallTimings& timings) {
  std::vector<Returning> results;
  const std::unique_ptr<OnDevice[]> on_device(new OnDevice[calls.size()]);
  const Batch batch{routine, calls.data(), on_device.get(), calls.size(), nullptr};
  return run_batch({device, queue, timings}, batch, results);
}

namespace {

Status submit_fft(Device& device, QueueId queue, const PlannedFft& fft, DeviceBuffer& in,
                  DeviceBuffer& out) {
  const FftPlan& shape = fft.shape;
  const std::uint64_t result_bytes = output_bytes(shape);
  OB_RETURN_IF_ERROR(in.allocate(std::max(input_bytes(shape), shape.in_place ? result_bytes : 0)));
  if (!shape.in_place) OB_RETURN_IF_ERROR(out.allocate(result_bytes));
  OB_RETURN_IF_ERROR(
      device.write(queue, in.id(), line(input_bytes(shape), shape.precision), fft.input));
  return device.execute(queue, fft.plan, {in.id(), 0}, {shape.in_place ? in.id() : out.id(), 0});
}

}  // namespace

Status offload_planned_fft(Device& device, QueueId queue, const PlannedFft& fft,
                           CallTimings& timings) {
  const FftPlan& shape = fft.shape;
  const Stopwatch watch;
  DeviceBuffer in(device);
  DeviceBuffer out(device);
  const Status status = submit_fft(device, queue, fft, in, out);
  if (!status.ok()) return settle(device, queue, status);
  timings.bytes_to += fft.input.total_bytes();
  std::vector<Returning> results;
  results.reserve(1);
  results.emplace_back(shape.in_place ? in.id() : out.id(),
                       line(output_bytes(shape), shape.precision), fft.output, fft.in_out,
                       Kind::vector);
  const auto check = [] { return Status(); };
  return finish({device, queue, timings}, results, check, watch);
}

}  // namespace ob::algorithms
