#include "offload/explain.hpp"

#include <algorithm>

#include "base/decimal.hpp"
#include "offload/profiles.hpp"
#include "offload/work.hpp"

namespace ob::offload {
namespace {

using policy::Target;

class Answer {
 public:
  void add(const char* key, std::string_view value) {
    text_.append(key).append(" ").append(value).append("\n");
  }
  void add(const char* key, double value) { add(key, to_decimal(value)); }
  void add_known(const char* key, double value) {
    if (value > 0) add(key, value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void add_profiles(const AskedCall& asked, const ServerFacts* facts, Answer& answer) {
  const Library* library = asked.record->library.load();
  if (library != nullptr) {
    answer.add("library", library->key);
    if (library->profile.exists()) {
      answer.add("profile_library_written", std::to_string(library->profile.written_unix_s));
    }
  }
  if (facts != nullptr && facts->profile.exists())
    answer.add("profile_server_written", std::to_string(facts->profile.written_unix_s));
}

const char* source_of_rate(bool of_profile, bool known, const char* otherwise) {
  return of_profile ? "profile" : known ? "observed" : otherwise;
}

template <class Runs>
bool has(const Runs& runs, std::string_view name) {
  return runs.find(name) != runs.end();
}

const char* why(const policy::Decision& decision, bool reachable, bool cannot_gain) {
  if (!reachable) return "no server can be reached";
  if (cannot_gain)
    return "the accelerator computes on this machine's own cores, and the local library is as fast";
  if (decision.target == Target::remote) return "the accelerator is expected to be faster";
  if (decision.state == policy::State::unknown) return "the time of the local library is unknown";
  return decision.remote_s > decision.local_s
             ? "the local library is expected to be faster"
             : "the accelerator is not expected to gain beyond the error of the prediction";
}

void add_work(const AskedCall& asked, const policy::Work& work, Answer& answer) {
  answer.add("flop", work.flop);
  answer.add("bytes_to", work.bytes_to);
  answer.add("bytes_from", work.bytes_from);
  answer.add("overlaps", work.overlaps ? "1" : "0");
  const Library* library = asked.record->library.load();
  policy::Estimate local;
  const policy::RoutineRates& rates = asked.record->rates;
  const policy::Rate shipped = shipped_here(*asked.record, work.flop);
  policy::estimate_local(rates, work, shipped, 0, local);
  const bool of_profile = library != nullptr && has(library->profile.local, asked.name);
  answer.add_known("local_s", local.local_s);
  answer.add_known("local_error", local.local_s > 0 ? local.local_error : 0);
  answer.add("local_from", source_of_rate(of_profile, rates.local.knows(work.flop),
                                          shipped.flop_per_s > 0 ? "shipped" : "unknown"));
}

void add_estimate(const AskedCall& asked, const policy::Work& work, const ServerFacts& facts,
                  const policy::CallEstimate& found, Answer& answer) {
  const policy::PredictedTime& now = found.now;
  answer.add_known("remote_s", now.whole_s);
  answer.add_known("remote_there_s", found.again.whole_s);
  answer.add("fixed_s", now.fixed_s);
  answer.add("to_s", now.to_s);
  answer.add("compute_s", now.compute_s);
  answer.add("from_s", now.from_s);
  answer.add("waiting_s", now.waiting_s);
  answer.add("correction", found.correction);
  answer.add("remote_error", found.estimate.remote_error);
  answer.add("link_from", facts.link_from_profile() ? "profile" : "measured");
  answer.add("device_from", source_of_rate(has(facts.profile.device, asked.name),
                                           asked.record->rates.remote.knows(work.flop), "told"));
}

// The key begins with the address of the server and a space. The device described itself in the
// rest, which may be missing.
std::string_view device_of(const ServerFacts& facts, const std::string& address) {
  std::string_view key = facts.key;
  key.remove_prefix(std::min(key.size(), address.size() + 1));
  return key;
}

policy::Work work_asked(const AskedCall& call, std::uint64_t memory_bytes) {
  if (call.routine == nullptr) return work_of(call.plan, memory_bytes);
  return work_of(*call.routine, call.arguments.items, 1, memory_bytes);
}

}  // namespace

std::string explain(const ExplainSources& sources, const AskedCall& call, const void* library) {
  load_profile(sources.tuning, sources.journal, *call.record, library, nullptr);
  const auto preferred = sources.connections.preferred();
  const auto [server, facts] =
      preferred ? sources.connector.reach(*preferred, Need::link) : ReachedServer{};
  if (facts != nullptr) load_profile(sources.tuning, sources.journal, *call.record, nullptr, facts);
  const policy::Work work = work_asked(call, facts != nullptr ? facts->memory_bytes : UINT64_MAX);
  const CallQuery query{.record = *call.record, .work = work, .library = library};
  policy::CallEstimate found;
  policy::Decision decision;
  const bool cannot_gain = facts != nullptr && sources.decider.cannot_gain(*call.record, facts);
  if (facts != nullptr) {
    found = sources.decider.estimate(query, server, *facts);
    if (!cannot_gain) decision = call.record->history.expect(found.estimate);
    if (cannot_gain) decision.state = policy::State::settled;
  }
  Answer answer;
  answer.add("choice", decision.target == Target::remote ? "remote" : "local");
  answer.add("state", name_of(decision.state));
  answer.add("why", why(decision, facts != nullptr, cannot_gain));
  if (preferred) {
    const std::string address = sources.connections.server_name(server);
    answer.add("server", address);
    if (facts != nullptr) answer.add("device", device_of(*facts, address));
  }
  add_profiles(call, facts, answer);
  add_work(call, work, answer);
  if (facts != nullptr) add_estimate(call, work, *facts, found, answer);
  return answer.text();
}

}  // namespace ob::offload
