#include <algorithm>

#include "sial/exchange/sim/simulation.hpp"
#include "sial_ranks.hpp"

namespace ob::apps {
namespace {

class RanksHere final : public Ranks {
 public:
  explicit RanksHere(const SialOptions& options) : options_(options) {}

  bool first() const noexcept override { return true; }
  sial::Rank here() const noexcept override { return options_.workers + options_.servers; }
  Status compare(std::uint64_t /*checksum*/) override { return {}; }
  Status run(const sial::WorkerSetting& setting, const Look& look) override {
    sial::Simulation simulation(setting, server_options(options_, 0), options_.seed);
    OB_RETURN_IF_ERROR(simulation.run());
    peaks_ = simulation.server_peaks();
    for (sial::Rank rank = 0; rank < setting.workers; ++rank) {
      look(rank, simulation.worker(rank));
    }
    return {};
  }
  const std::vector<sial::ServerPeaks>& server_peaks() const noexcept override { return peaks_; }
  std::string dump_path(const std::string& path) const override { return path; }
  void close(int /*status*/) override {}

 private:
  const SialOptions options_;
  std::vector<sial::ServerPeaks> peaks_;
};

}  // namespace

sial::BlockServer::Options server_options(const SialOptions& options, sial::Rank rank) {
  return {rank,
          options.server_memory_bytes,
          options.races == "iteration",
          options.spill,
          options.workers,
          options.deterministic};
}

std::unique_ptr<Ranks> ranks_here(SialOptions& options) {
  options.workers = std::max(1U, options.workers);
  options.servers = std::max(1U, options.servers);
  if (options.prefetch.empty()) options.prefetch = "off";  // blocks are there at once
  return std::make_unique<RanksHere>(options);
}

}  // namespace ob::apps
