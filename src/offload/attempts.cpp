#include "offload/attempts.hpp"

#include <string>

#include "offload/accuracy.hpp"
#include "offload/clock.hpp"

namespace ob::offload {
namespace {

// A routine that the daemon cannot do is not offered again for this time.
constexpr std::uint64_t kUnsupportedPauseNs = 30'000'000'000ULL;

// @param server nullptr: none was reached
std::string describe(const std::string* server, const Status& status, std::string_view routine) {
  // Failures of a stream name the peer themselves, by number.
  const bool is_named = server == nullptr || status.code() == Code::connection_lost ||
                        status.message().find(*server) != std::string::npos;
  const std::string where = is_named ? std::string() : *server + ": ";
  // A failure for lack of host memory has no message, because a message needs memory.
  const std::string why = status.message().empty() ? to_string(status.code()) : status.message();
  return where + why + "; " + std::string(routine) + " runs locally";
}

}  // namespace

struct Attempts::Attempt {
  algorithms::CallTimings timings;
  bool sent = false;       // a daemon got the job
  bool abandoned = false;  // the run threw; the connection is useless
  bool again = false;      // another attempt may help: another server, or more device memory
  std::size_t server = 0;
  std::uint64_t connected_ns = 0;
};

Status Attempts::run_on(client::AcquiredDevice& acquired, const JobCall& call, DeviceJob& job,
                        Attempt& attempt) {
  try {
    OB_ASSIGN_OR_RETURN(attempt.timings.accuracy, set_accuracy(acquired, call.accuracy));
    const Accuracy used = attempt.timings.accuracy;
    const Status status = job.run(acquired, attempt.timings);
    attempt.timings.accuracy = used;  // jobs may begin their timings anew
    return status;
  } catch (...) {  // most likely out of host memory; answers may still arrive
    acquired.device().abandon();
    attempt.abandoned = true;
    return Status(Code::out_of_memory, "no memory on this side");
  }
}

// True if another attempt may help after this failure.
bool Attempts::may_help(client::AcquiredDevice& acquired, const Status& status) {
  if (status.code() == Code::out_of_memory) return residents_.release(acquired);
  // A connection that broke while it was idle does not count, because the daemon may have
  // restarted.
  const bool server_failed =
      acquired.counts_against_server() || connections_.is_set_aside(acquired.server());
  return acquired.device().broken() && (!server_failed || connections_.server_count() > 1);
}

Status Attempts::try_once(const JobCall& call, DeviceJob& job, bool is_last, Attempt& attempt) {
  auto acquired = connections_.acquire();
  if (!acquired.ok()) {
    // A pool's lease that a program has not used for a while has ended. This is no failure.
    if (acquired.status().code() == Code::declined) return acquired.status();
    journal_.notice(describe(nullptr, acquired.status(), call.record.name));
    return acquired.status();
  }
  const std::string server = connections_.server_name(acquired->server());
  journal_.report.set_server(server);
  attempt.sent = true;
  attempt.server = acquired->server();
  attempt.connected_ns = now_ns();
  const Status status = run_on(*acquired, call, job, attempt);
  if (status.ok() || status.code() == Code::declined || attempt.abandoned) return status;
  // Another client uses the accelerator. This is no failure, so the user gets no message.
  if (status.code() == Code::busy) return status;
  attempt.again = may_help(*acquired, status) && !is_last;
  if (!attempt.again) journal_.notice(describe(&server, status, call.record.name));
  return status;
}

// The daemon reports the time after which it stops clients that compute while others wait
// (--longest-command), but not how long they will compute. Calls stay local until this wait fades.
void Attempts::avoid(std::size_t server) noexcept {
  constexpr double kSeconds = 10;
  const ServerFacts* facts = tuning_.server(server);
  if (facts != nullptr) facts->waited(kSeconds, now_ns());
}

bool Attempts::run(const JobCall& call, DeviceJob& job) noexcept {
  const std::uint64_t asked_ns = now_ns();
  bool lost = false;  // a daemon got the job and did not complete it
  try {
    Status status;
    for (int i = 0; i < kMostAttempts; ++i) {
      Attempt attempt;
      status = try_once(call, job, i + 1 == kMostAttempts, attempt);
      lost = lost || (attempt.sent && status.code() != Code::declined);
      if (status.ok()) {
        const RemoteSpan span{asked_ns, attempt.connected_ns, now_ns(), attempt.server};
        if (call.is_trial) {
          observer_.trial_run(call.record, call.work, attempt.timings, span);
        } else {
          observer_.remote_run(call.record, call.work, attempt.timings, span);
        }
        return true;
      }
      if (status.code() == Code::busy) avoid(attempt.server);
      if (!attempt.again) break;
    }
    if (status.code() == Code::unsupported) {
      call.record.local_until_ns.store(now_ns() + kUnsupportedPauseNs, std::memory_order_relaxed);
    }
  } catch (...) {  // building a message ran out of memory: the call runs locally
  }
  if (ReportRow* const row = records_.row(call.record); row != nullptr && lost && !call.is_trial) {
    add(row->fell_back, 1);
  }
  return false;
}

}  // namespace ob::offload
