#include "sial_trace.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "sial/exchange/steady_time.hpp"

namespace ob::apps {
namespace {

using Json = nlohmann::ordered_json;
using Kind = sial::TraceSlice::Kind;

// A file of a process has at most about 150 MB, which Perfetto can show.
constexpr std::uint64_t kMostEvents = 1'000'000;

// Tracks of a rank.
enum { kStatements = 1, kTransfers = 2 };

Json name_event(const char* what, sial::Rank rank, int track, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", rank}, {"tid", track}, {"args", {{"name", name}}}};
}

}  // namespace

Result<std::unique_ptr<SialTrace>> SialTrace::create(const SialOptions& options,
                                                     sial::Rank process) {
  const std::string path = options.trace + "." + std::to_string(process);
  std::ofstream file(path, std::ios::trunc);
  if (!file) {
    return Status(Code::unavailable, "cannot write the trace " + path + "; check its folder");
  }
  return std::unique_ptr<SialTrace>(new SialTrace(path, std::move(file), options.workers));
}

SialTrace::SialTrace(std::string path, std::ofstream file, sial::Rank workers)
    : path_(std::move(path)),
      file_(std::move(file)),
      workers_(workers),
      origin_ns_(sial::steady_ns()) {}

Status SialTrace::finish() {
  const std::lock_guard lock(mutex_);
  if (left_out_ != 0) write_left_out();
  if (file_.flush()) return {};
  return {Code::unavailable, "the trace " + path_ + " was not written; is the disk full?"};
}

void SialTrace::write_left_out() {
  const auto microseconds = static_cast<double>(sial::steady_ns() - origin_ns_) * 1e-3;
  write(Json{{"name", "the trace is full: " + std::to_string(left_out_) + " events are left out"},
             {"ph", "i"},
             {"s", "g"},
             {"ts", microseconds},
             {"pid", 0},
             {"tid", kStatements}}
            .dump());
}

void SialTrace::name_ranks(sial::Rank first, sial::Rank count) {
  const std::lock_guard lock(mutex_);
  for (sial::Rank rank = first; rank < first + count; ++rank) {
    const bool works = rank < workers_;
    const std::string name =
        works ? "worker " + std::to_string(rank) : "server " + std::to_string(rank - workers_);
    write(name_event("process_name", rank, kStatements, name).dump());
    write(name_event("thread_name", rank, kStatements, works ? "program" : "messages").dump());
    if (works) write(name_event("thread_name", rank, kTransfers, "transfers").dump());
  }
}

void SialTrace::add(const sial::TraceSlice& slice) {
  const auto microseconds = [&](std::int64_t ns) { return static_cast<double>(ns) * 1e-3; };
  const double begin = microseconds(slice.begin_ns - origin_ns_);
  Json event{{"name", slice.name}, {"pid", slice.rank}};
  if (slice.bytes != 0) event["args"]["bytes"] = slice.bytes;
  if (slice.ahead) event["args"]["ahead"] = true;
  if (slice.on_device) event["args"]["on_device"] = true;
  const std::lock_guard lock(mutex_);
  if (events_ >= kMostEvents) {
    ++left_out_;
    return;
  }
  if (slice.kind != Kind::transfer) {
    event.update({{"cat", slice.kind == Kind::wait ? "wait" : "work"},
                  {"ph", "X"},
                  {"tid", kStatements},
                  {"ts", begin},
                  {"dur", microseconds(slice.end_ns - slice.begin_ns)}});
    if (slice.kind == Kind::wait) event["name"] = "wait: " + slice.name;
    return write(event.dump());
  }
  // Transfers overlap, so that each has a beginning and an end that belong together by their id.
  event.update({{"cat", "transfer"},
                {"id", std::to_string(slice.rank) + "." + std::to_string(slice.request)},
                {"tid", kTransfers},
                {"ph", "b"},
                {"ts", begin}});
  write(event.dump());
  event["ph"] = "e";
  event["ts"] = microseconds(slice.end_ns - origin_ns_);
  write(event.dump());
}

void SialTrace::write(const std::string& event) {
  ++events_;
  file_ << event << ",\n";
}

}  // namespace ob::apps
