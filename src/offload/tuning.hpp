#pragma once
// Knowledge about servers and libraries that outlives the process: the profiles of `outboard tune`.
// They are read when they are first needed, and written at the end by an engine that learns.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/link.hpp"
#include "client/connection_cache.hpp"
#include "offload/config.hpp"
#include "policy/model.hpp"
#include "policy/profile.hpp"
#include "policy/shipped_rates.hpp"

namespace ob::offload {

/// A library that computes locally.   Memory: lives as long as the Tuning
struct Library {
  const void* base = nullptr;  ///< load address of the object
  std::string key;
  policy::LocalLibrary local;  ///< for the rates that ship
  policy::Profile profile;
};

/// The link to a server is measured so often at most.
inline constexpr std::size_t kMostLinks = 4;

/// A server that was connected to.   Memory: lives as long as the Tuning
struct ServerFacts {
  std::string key;
  double flop_per_s = 0;                   ///< the device's own figure, of dgemm
  std::vector<RoutineRate> routine_rates;  ///< the rates of other routines that it measured
  /// The library of a device that is a processor, as far as its own figure tells; else unknown.
  policy::LocalLibrary processor_library;
  /// The device computes on processors that this process may use, too.
  bool on_own_processors = false;
  std::uint64_t memory_bytes = 0;
  policy::Profile profile;

  /// The link of the profile, or the measured one if they disagree; unknown until it is measured.
  /// The reference stays valid.
  const Link& link() const noexcept;
  bool link_from_profile() const noexcept {
    return link_.load(std::memory_order_acquire) != nullptr && link_from_profile_;
  }

  /// The time that calls wait for the work of other clients. The last waits count, less as they get
  /// older.   Units: seconds
  double waiting_s(std::uint64_t now_ns) const noexcept;
  void waited(double seconds, std::uint64_t now_ns) const noexcept;

  /// Notes that a call used its memory. Connections keep memory for later calls.
  void used(const policy::Work& work) const noexcept;
  /// The part of the call's memory beyond that of the largest call so far.   Units: bytes
  double fresh_bytes(const policy::Work& work) const noexcept;

 private:
  friend class Tuning;
  // Readers may still use an older measurement, so each has its own place.
  mutable std::array<Link, kMostLinks> links_;
  mutable std::size_t taken_ = 0;
  mutable std::atomic<const Link*> link_{nullptr};
  mutable bool link_from_profile_ = false;  // constant once link_ is set
  mutable std::atomic<double> used_bytes_{0};
  mutable std::atomic<double> waited_s_{0};
  mutable std::atomic<std::uint64_t> waited_at_ns_{0};
};

/// Threads: any
class Tuning {
 public:
  Tuning(const Config& config, const client::ConnectionCache& pool);

  /// The library that holds `function`; nullptr without memory, or if there are too many.
  /// `complaint` gets the mistake in its profile.
  const Library* library(const void* function, std::string& complaint) noexcept;
  /// nullptr until the server was connected to.
  const ServerFacts* server(std::size_t index) const noexcept { return servers_[index].load(); }
  /// The same. The entry is made if the server was connected to meanwhile; `complaint` as above.
  const ServerFacts* probe(std::size_t index, std::string& complaint) noexcept;

  /// Takes over the link to the server, if it was measured, or measured again.
  void take_link(std::size_t index) noexcept;

  bool learns() const noexcept { return learns_; }
  const std::string& folder() const noexcept { return folder_; }
  /// Merges `fresh` into the profile of `kind` ("library", "server").
  Status save(const char* kind, policy::Profile fresh) const;

 private:
  policy::Profile load(const char* kind, const std::string& key, std::string& complaint) const;

  const client::ConnectionCache& pool_;
  const std::string folder_;  ///< folder of this host's profiles; empty: none are used
  const bool learns_;
  std::mutex mutex_;  // held while an entry of the members below is made
  std::vector<std::unique_ptr<const Library>> made_libraries_;
  std::vector<std::unique_ptr<const ServerFacts>> made_servers_;
  std::array<std::atomic<const Library*>, 16> libraries_{};
  std::vector<std::atomic<const ServerFacts*>> servers_;
};

}  // namespace ob::offload
