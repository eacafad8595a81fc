#include "offload/profiles.hpp"

#include <map>
#include <string>
#include <vector>

namespace ob::offload {
namespace {

using policy::Profile;

// A routine's lines of a file; nullptr if there are none.
template <class Entry>
const std::vector<Entry>* lines_of(const Profile::ByRoutine<Entry>& all, std::string_view name) {
  const auto at = all.find(name);
  return at == all.end() ? nullptr : &at->second;
}

// @param shipped(flop): the rate that ships for this size
template <class Shipped>
void suppose(policy::RateModel& rates, const std::vector<Profile::Run>* runs, Shipped shipped) {
  if (runs == nullptr) return;
  for (const Profile::Run& run : *runs)
    rates.suppose(run.flop, run.flop / run.seconds, shipped(run.flop));
}

template <class Key, class Entry>
void put(Profile::ByRoutine<Entry>& all, const Key& name, std::vector<Entry> entries) {
  if (!entries.empty()) all.emplace(name, std::move(entries));
}

std::vector<Profile::Run> runs_of(const policy::RateModel& rates) {
  std::vector<Profile::Run> runs;
  rates.each([&](double flop, double rate) { runs.push_back({flop, flop / rate}); });
  return runs;
}

std::vector<Profile::Whole> calls_of(const RoutineRecord& record) {
  std::vector<Profile::Whole> calls;
  record.rates.whole.each_ratio([&](double flop, double rate, double ratio) {
    calls.push_back({flop, ratio * flop / rate, flop / rate});
  });
  return calls;
}

struct Learnt {
  std::map<const Library*, Profile> libraries;
  std::map<const ServerFacts*, Profile> servers;

  void add(const RoutineRecord& record) {
    const std::string_view name = record.name;
    if (const Library* library = record.library.load())
      put(libraries[library].local, name, runs_of(record.rates.local));
    if (const ServerFacts* server = record.server.load()) {
      Profile& profile = servers[server];
      put(profile.device, name, runs_of(record.rates.remote));
      put(profile.whole, name, calls_of(record));
    }
  }
};

Status save(const Tuning& tuning, Learnt& learnt) {
  Status status;
  for (auto& [library, profile] : learnt.libraries) {
    profile.key = library->key;
    const Status saved = tuning.save("library", std::move(profile));
    if (!saved.ok()) status = saved;
  }
  for (auto& [server, profile] : learnt.servers) {
    profile.key = server->key;
    profile.link = server->link();
    const Status saved = tuning.save("server", std::move(profile));
    if (!saved.ok()) status = saved;
  }
  return status;
}

void load_library(Tuning& tuning, Journal& journal, RoutineRecord& record, const void* function) {
  std::string complaint;
  const Library* const library = tuning.library(function, complaint);
  if (!complaint.empty()) journal.notice(complaint);
  if (library == nullptr) return;
  record.library.store(library, std::memory_order_relaxed);
  suppose(record.rates.local, lines_of(library->profile.local, record.name),
          [&](double flop) { return shipped_here(record, flop); });
}

void load_server(RoutineRecord& record, const ServerFacts& server) {
  suppose(record.rates.remote, lines_of(server.profile.device, record.name),
          [&](double flop) { return shipped_there(record, server, flop); });
  if (const auto* calls = lines_of(server.profile.whole, record.name)) {
    for (const Profile::Whole& call : *calls) {
      const policy::Work work{.flop = call.flop};
      record.rates.whole.suppose(call.flop, call.flop / call.seen_s,
                                 policy::predicted_rate(work, call.predicted_s, 1));
    }
  }
  record.server.store(&server, std::memory_order_relaxed);
}

}  // namespace

void load_profile(Tuning& tuning, Journal& journal, RoutineRecord& record, const void* library,
                  const ServerFacts* server) noexcept {
  const bool library_is_new =
      library != nullptr && record.library.load(std::memory_order_relaxed) == nullptr;
  const bool server_is_new =
      server != nullptr && record.server.load(std::memory_order_relaxed) == nullptr;
  if (!library_is_new && !server_is_new) return;
  try {
    if (library_is_new) load_library(tuning, journal, record, library);
    if (server_is_new) load_server(record, *server);
  } catch (...) {  // no memory: as if there were no profiles
  }
}

void save_profiles(const Tuning& tuning, Journal& journal, RoutineRecords& records) noexcept {
  if (!tuning.learns()) return;
  try {
    Learnt learnt;
    for (const auto& record : records.all()) learnt.add(*record);
    const Status status = save(tuning, learnt);
    if (!status.ok()) journal.notice(status.message());
  } catch (...) {  // no memory: nothing is kept
  }
}

}  // namespace ob::offload
