#include "support/hostile_session.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <future>
#include <thread>
#include <utility>

namespace ob::test {
namespace {

constexpr std::size_t kOthers = 4;
// After so many calls all buffers are compared, not only those of the call. Where they are mapped
// this is cheap.
constexpr std::uint64_t kFullInspection = 16;
// Calls that take longer are worth a line.
constexpr double kLongMs = 400;

Region line_of(std::uint64_t size_bytes, std::uint64_t offset_bytes = 0) {
  return {.offset_bytes = offset_bytes, .rows = size_bytes, .cols = 1, .ld = size_bytes};
}

// Changes words while another process computes with them.
class Scribbler {
 public:
  Scribbler(std::byte* memory, const ScribbledWords& words)
      : thread_([this, memory, words] { run(memory, words); }) {}
  ~Scribbler() {
    ending_ = true;
    thread_.join();
  }
  Scribbler(const Scribbler&) = delete;
  Scribbler& operator=(const Scribbler&) = delete;

 private:
  void run(std::byte* memory, const ScribbledWords& words) {
    auto* const at = reinterpret_cast<std::int64_t*>(memory + words.offset_bytes);
    while (!ending_) {
      for (const std::int64_t value : {words.one, words.other}) {
        for (std::size_t i = 0; i < words.count; ++i)
          std::atomic_ref(at[i]).store(value, std::memory_order_relaxed);
      }
    }
  }
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

// Libraries iterate on the numbers of these operands, and trust them to be finite.
bool iterates(const HostileCall& call) {
  if (call.routine == nullptr) return false;
  const auto values = call.routine->values;
  return std::find(values.begin(), values.end(), "finite") != values.end();
}

bool ends_executor(const Status& status) {
  const std::string& text = status.message();
  return (status.code() == Code::device_error && text.find("executor") != std::string::npos) ||
         (status.code() == Code::busy && text.starts_with("stopped"));
}

// The daemon kills an executor in which a plan takes too long, also while it runs another call.
bool killed_by_daemon(const Status& status) {
  return status.message().find("(signal 9,") != std::string::npos;
}

bool covers(const Columns& columns, BufferId buffer, std::uint64_t at) {
  if (columns.buffer != buffer || at < columns.first) return false;
  const std::uint64_t pitch = std::max<std::uint64_t>(1, columns.pitch);
  const std::uint64_t column = std::min((at - columns.first) / pitch, columns.count - 1);
  return at - columns.first - column * pitch < columns.width;
}

bool may_change(const HostileCall& call, const Judgement& judgement, BufferId buffer,
                std::uint64_t at) {
  const auto& words = call.scribbled;
  if (words && covers({words->buffer, words->offset_bytes, words->count * 8, 0, 1}, buffer, at))
    return true;
  return std::any_of(judgement.may_change.begin(), judgement.may_change.end(),
                     [&](const Columns& columns) { return covers(columns, buffer, at); });
}

std::string in_hex(const std::vector<std::byte>& bytes, std::size_t first) {
  std::string text;
  char digits[4];
  for (std::size_t at = first; at < std::min(first + 8, bytes.size()); ++at) {
    std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(bytes[at]));
    text += digits;
  }
  return text;
}

// Calls `see` for each byte that differs. Most blocks are equal.
template <class See>
void for_each_difference(const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                         See&& see) {
  constexpr std::size_t kBlock = 64;
  static_assert(HostileBuffers::kBytes % kBlock == 0);
  for (std::size_t block = 0; block < a.size(); block += kBlock) {
    if (std::memcmp(a.data() + block, b.data() + block, kBlock) == 0) continue;
    for (std::size_t at = block; at < block + kBlock; ++at) {
      if (a[at] != b[at]) see(at);
    }
  }
}

}  // namespace

Result<std::unique_ptr<HostileSession>> HostileSession::create(Device& device, HostileWay& way,
                                                               const Account& account,
                                                               BufferId foreign) {
  std::unique_ptr<HostileSession> session(new HostileSession(device, way));
  OB_RETURN_IF_ERROR(session->open(account, foreign));
  return session;
}

Status HostileSession::open(const Account& account, BufferId foreign) {
  OB_ASSIGN_OR_RETURN(queue_, device_.create_queue(account));
  buffers_.foreign = foreign;
  for (std::size_t i = 0; i < kMaxArguments + kOthers; ++i) {
    OB_ASSIGN_OR_RETURN(const BufferId buffer, device_.allocate(HostileBuffers::kBytes, account));
    (i < kMaxArguments ? buffers_.operands : buffers_.others).push_back(buffer);
    std::vector<std::byte>& contents = known_[buffer.value];
    contents.resize(HostileBuffers::kBytes);
    for (std::size_t at = 0; at < contents.size(); ++at)
      contents[at] = static_cast<std::byte>(i * 37 + at * 11 + at / 256);
    OB_RETURN_IF_ERROR(device_.write(queue_, buffer, line_of(contents.size()),
                                     Layout::bytes(contents.data(), contents.size())));
    OB_RETURN_IF_ERROR(device_.synchronize(queue_).status);
  }
  OB_ASSIGN_OR_RETURN(buffers_.freed, way_.allocate(HostileBuffers::kBytes));
  OB_RETURN_IF_ERROR(way_.free(buffers_.freed));
  OB_ASSIGN_OR_RETURN(buffers_.doomed, way_.allocate(HostileBuffers::kBytes));
  return {};
}

HostileSession::~HostileSession() {
  for (const std::vector<BufferId>* buffers : {&buffers_.operands, &buffers_.others}) {
    for (const BufferId buffer : *buffers) (void)device_.free(buffer);
  }
  (void)way_.free(buffers_.doomed);
  (void)device_.destroy_queue(queue_);
}

// Returns the buffer whose words change; nullptr if there is none, or another damage has moved
// them.
std::byte* HostileSession::scribbled_memory(const HostileCall& call) {
  if (!call.scribbled || call.scribbled->offset_bytes > HostileBuffers::kBytes) return nullptr;
  const std::uint64_t room = HostileBuffers::kBytes - call.scribbled->offset_bytes;
  if (call.scribbled->count * 8 > room) return nullptr;
  return known_.contains(call.scribbled->buffer.value) ? device_.host_view(call.scribbled->buffer)
                                                       : nullptr;
}

std::optional<KnownBuffer> HostileSession::find(BufferId buffer) const {
  if (buffer == buffers_.doomed) return KnownBuffer{HostileBuffers::kBytes, {}};
  const auto found = known_.find(buffer.value);
  if (found == known_.end()) return std::nullopt;
  return KnownBuffer{found->second.size(), found->second};
}

Status HostileSession::upload(const HostileCall& call) {
  for (const Contents& contents : call.contents) {
    std::vector<std::byte>& known = known_[contents.buffer.value];
    std::copy(contents.bytes.begin(), contents.bytes.end(),
              known.begin() + static_cast<std::ptrdiff_t>(contents.offset_bytes));
    OB_RETURN_IF_ERROR(device_.write(
        queue_, contents.buffer, line_of(contents.bytes.size(), contents.offset_bytes),
        Layout::bytes(known.data() + contents.offset_bytes, contents.bytes.size())));
  }
  return device_.synchronize(queue_).status;
}

Status HostileSession::submit(const HostileCall& call) {
  OB_RETURN_IF_ERROR(call.routine != nullptr
                         ? way_.call(queue_, *call.routine, call.arguments)
                         : way_.transform(queue_, call.plan, call.input, call.output));
  if (!call.frees_doomed) return {};
  OB_RETURN_IF_ERROR(way_.free(buffers_.doomed));
  OB_ASSIGN_OR_RETURN(buffers_.doomed, way_.allocate(HostileBuffers::kBytes));
  return {};
}

Result<HostileOutcome> HostileSession::run(std::span<const std::byte> bytes) {
  const HostileCall call = hostile_call(bytes, buffers_);
  HostileOutcome outcome;
  outcome.text = call.text;
  OB_RETURN_IF_ERROR(upload(call));
  std::byte* const mapped = scribbled_memory(call);
  const Judgement judgement = judge(
      call, [this](BufferId id) { return find(id); }, mapped == nullptr);
  const auto start = std::chrono::steady_clock::now();
  {
    std::unique_ptr<Scribbler> scribbler;
    if (mapped != nullptr) scribbler = std::make_unique<Scribbler>(mapped, *call.scribbled);
    outcome.status = submit(call);
    const Status waited = way_.wait(queue_);
    if (outcome.status.ok()) outcome.status = waited;
  }
  const auto took = std::chrono::steady_clock::now() - start;
  outcome.took_ms = std::chrono::duration<double, std::milli>(took).count();
  outcome.executor_ended = ends_executor(outcome.status);
  OB_ASSIGN_OR_RETURN(outcome.violation, inspect(call, judgement, ++calls_ % kFullInspection == 0));
  const bool refused =
      outcome.status.code() == Code::invalid_argument || outcome.status.code() == Code::unsupported;
  if (outcome.violation == "results" && !refused) outcome.violation.clear();
  outcome.own_damage = !outcome.violation.empty() && mapped != nullptr && iterates(call);
  if (outcome.own_damage) outcome.violation.clear();
  // Its checks must refuse such a call before a library sees it.
  const bool crashed = outcome.executor_ended && !killed_by_daemon(outcome.status);
  if (!judgement.refuse.empty() && (outcome.status.ok() || crashed))
    outcome.violation =
        (outcome.status.ok() ? "accepted: " : "crashed its executor: ") + judgement.refuse;
  if (!outcome.violation.empty() || outcome.own_damage || outcome.executor_ended ||
      outcome.took_ms > kLongMs)
    outcome.details = description(call);
  return outcome;
}

Status HostileSession::probe() {
  const Descriptor& scal = *routines::find("dscal");
  Argument arguments[kMaxArguments];
  for (std::size_t i = 0; i < scal.kinds.size(); ++i) {
    if (scal.kinds[i] == Kind::dim) arguments[i].dim = 1;
    if (scal.kinds[i] == Kind::scalar) arguments[i].scalar = {1, 0};
    if (is_memory(scal.kinds[i])) arguments[i].device = {buffers_.doomed, 0, 1};
  }
  OB_RETURN_IF_ERROR(way_.call(queue_, scal, arguments));
  return way_.wait(queue_);
}

std::vector<BufferId> HostileSession::inspected(const HostileCall& call, bool all) const {
  std::vector<BufferId> ids = buffers_.others;
  if (all) {
    ids.insert(ids.end(), buffers_.operands.begin(), buffers_.operands.end());
    return ids;
  }
  const auto add = [&](BufferId id) {
    if (known_.contains(id.value) && std::find(ids.begin(), ids.end(), id) == ids.end())
      ids.push_back(id);
  };
  for (std::size_t i = 0; call.routine != nullptr && i < call.routine->kinds.size(); ++i) {
    if (is_memory(call.routine->kinds[i])) add(call.arguments[i].device.buffer);
  }
  if (call.scribbled) add(call.scribbled->buffer);
  add(call.input.buffer);
  add(call.output.buffer);
  return ids;
}

Result<std::string> HostileSession::inspect(const HostileCall& call, const Judgement& judgement,
                                            bool all) {
  const std::vector<BufferId> ids = inspected(call, all);
  std::vector<std::vector<std::byte>> found(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    found[i].resize(HostileBuffers::kBytes);
    OB_RETURN_IF_ERROR(device_.read(queue_, ids[i], line_of(found[i].size()),
                                    Layout::bytes(found[i].data(), found[i].size())));
  }
  OB_RETURN_IF_ERROR(device_.synchronize(queue_).status);
  std::string violation;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::vector<std::byte>& known = known_[ids[i].value];
    std::uint64_t changed = 0;
    std::size_t first = 0;
    for_each_difference(found[i], known, [&](std::size_t at) {
      if (may_change(call, judgement, ids[i], at)) {
        if (!call.scribbled && violation.empty()) violation = "results";
      } else if (changed++ == 0) {
        first = at;
      }
    });
    if (changed > 0) {
      violation = std::to_string(changed) + " bytes of buffer " + std::to_string(ids[i].value) +
                  ", which are none of its results, have changed, from byte " +
                  std::to_string(first) + ": " + in_hex(known, first) + " is now " +
                  in_hex(found[i], first);
    }
    known = std::move(found[i]);
  }
  return violation;
}

}  // namespace ob::test
