#include "offload/tuning.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <new>

#include "base/machine.hpp"
#include "offload/library_key.hpp"
#include "offload/local_library.hpp"

namespace ob::offload {
namespace {

// A wait at a busy server counts half after this time.
constexpr double kHalfLifeS = 20;
constexpr double kBlend = 0.5;
// A link that differs so much from its profile has changed. The quick measurement on connecting is
// shorter than the disturbances of a busy machine, so a slower result is weak evidence.
constexpr double kMostFaster = 1.5;
constexpr double kMostSlower = 4;

std::string host_folder(const std::string& folder) {
  if (folder.empty()) return {};
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0 || host[0] == 0) return {};
  return folder + "/" + host;
}

// True if both agree at the largest size of the quick measurement.
bool agree(const Link& profile, const Link& now) {
  const auto same = [](const TransferTimes& a, const TransferTimes& b) {
    if (!a.known() || !b.known()) return false;
    const auto& last = b.samples().back();
    const double slower = last.seconds / a.seconds(last.bytes);
    return slower < kMostSlower && slower > 1 / kMostFaster;
  };
  return same(profile.to, now.to) && same(profile.from, now.from);
}

// The description of a remote device ends with its place, which comes first in the key.
std::string key_of(const std::string& server, const DeviceInfo& device) {
  std::string key = server;
  key.append(" ").append(device.backend).append(" ").append(device.description);
  const std::string place = " at " + server;
  if (key.ends_with(place)) key.resize(key.size() - place.size());
  return key;
}

// A processor whose products take this rate. Only the ratio of its clock to its vectors is unknown,
// which matters to short calls.
policy::LocalLibrary processor_library(double products_flop_per_s) {
  constexpr double kClockHz = 3e9;
  constexpr double kEfficiency = 0.88;  // of large products (policy/shipped_rates)
  return {policy::LibraryKind::tuned, kClockHz, products_flop_per_s / kEfficiency / kClockHz, 1};
}

}  // namespace

const Link& ServerFacts::link() const noexcept {
  static constexpr Link kUnknown;
  const Link* const known = link_.load(std::memory_order_acquire);
  return known != nullptr ? *known : kUnknown;
}

double ServerFacts::waiting_s(std::uint64_t now_ns) const noexcept {
  const double last = waited_s_.load(std::memory_order_relaxed);
  if (last <= 0) return 0;
  const std::uint64_t at = waited_at_ns_.load(std::memory_order_relaxed);
  const double age_s = now_ns > at ? static_cast<double>(now_ns - at) * 1e-9 : 0;
  return last * kHalfLifeS / (kHalfLifeS + age_s);
}

void ServerFacts::waited(double seconds, std::uint64_t now_ns) const noexcept {
  const double before = waiting_s(now_ns);
  waited_s_.store(before + kBlend * (seconds - before), std::memory_order_relaxed);
  waited_at_ns_.store(now_ns, std::memory_order_relaxed);
}

void ServerFacts::used(const policy::Work& work) const noexcept {
  const double bytes = work.memory_bytes;
  double most = used_bytes_.load(std::memory_order_relaxed);
  while (most < bytes && !used_bytes_.compare_exchange_weak(most, bytes)) {
  }
}

double ServerFacts::fresh_bytes(const policy::Work& work) const noexcept {
  return std::max(0.0, work.memory_bytes - used_bytes_.load(std::memory_order_relaxed));
}

Tuning::Tuning(const Config& config, const client::ConnectionCache& pool)
    : pool_(pool),
      folder_(host_folder(config.profile_folder)),
      learns_(config.learn && !folder_.empty()),
      servers_(pool.most_servers()) {}

policy::Profile Tuning::load(const char* kind, const std::string& key,
                             std::string& complaint) const {
  if (folder_.empty() || key.empty()) return {};
  auto found = policy::read_profile(policy::profile_path(folder_, kind, key), key);
  if (found.ok()) return std::move(found).value();
  complaint = found.status().message();
  return {};
}

const Library* Tuning::library(const void* function, std::string& complaint) noexcept {
  Dl_info object{};
  if (function == nullptr || ::dladdr(function, &object) == 0) return nullptr;
  for (const auto& slot : libraries_) {
    const Library* known = slot.load(std::memory_order_acquire);
    if (known == nullptr) break;
    if (known->base == object.dli_fbase) return known;
  }
  try {
    auto made = std::make_unique<Library>();
    made->base = object.dli_fbase;
    made->key = library_key(function);
    made->local = local_library(function);
    made->profile = load("library", made->key, complaint);
    const std::lock_guard lock(mutex_);
    for (auto& slot : libraries_) {
      const Library* known = slot.load(std::memory_order_relaxed);
      if (known != nullptr && known->base == object.dli_fbase) return known;
      if (known != nullptr) continue;
      made_libraries_.push_back(std::move(made));
      slot.store(made_libraries_.back().get(), std::memory_order_release);
      return made_libraries_.back().get();
    }
  } catch (...) {  // no memory: as if nothing were known
  }
  return nullptr;
}

const ServerFacts* Tuning::probe(std::size_t index, std::string& complaint) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (const ServerFacts* known = servers_[index].load()) return known;
    const DeviceInfo device = pool_.device_info(index);
    if (device.backend.empty()) return nullptr;
    auto made = std::make_unique<ServerFacts>();
    made->key = key_of(pool_.server_name(index), device);
    made->profile = load("server", made->key, complaint);
    made->flop_per_s = device.gflops_double * 1e9;
    made->routine_rates = device.routine_rates;
    if (device.backend == "cpu") made->processor_library = processor_library(made->flop_per_s);
    made->on_own_processors = device.machine != 0 && device.machine == machine_id() &&
                              have_common_processor(device.processors, usable_processors());
    made->memory_bytes = device.memory_bytes;
    made_servers_.push_back(std::move(made));
    servers_[index].store(made_servers_.back().get());
  } catch (...) {
    return nullptr;
  }
  take_link(index);
  return servers_[index].load();
}

void Tuning::take_link(std::size_t index) noexcept {
  const std::lock_guard lock(mutex_);
  const ServerFacts* const facts = servers_[index].load();
  if (facts == nullptr || facts->taken_ == facts->links_.size()) return;
  const Link now = pool_.link(index);
  if (!now.known() || (facts->taken_ > 0 && facts->link_from_profile_)) return;
  const double known = facts->link().to_bytes_per_s;
  if (facts->taken_ > 0 && now.to_bytes_per_s == known) return;
  if (facts->taken_ == 0) facts->link_from_profile_ = !learns_ && agree(facts->profile.link, now);
  Link& taken = facts->links_[facts->taken_++];
  taken = facts->link_from_profile_ ? facts->profile.link : now;
  taken.fresh_s_per_byte = now.fresh_s_per_byte;
  facts->link_.store(&taken, std::memory_order_release);
}

Status Tuning::save(const char* kind, policy::Profile fresh) const {
  fresh.written_unix_s = static_cast<std::int64_t>(std::time(nullptr));
  const std::string path = policy::profile_path(folder_, kind, fresh.key);
  policy::Profile all;
  if (auto kept = policy::read_profile(path, fresh.key); kept.ok()) all = std::move(kept).value();
  policy::merge(all, fresh);
  return policy::write_profile(path, all);
}

}  // namespace ob::offload
