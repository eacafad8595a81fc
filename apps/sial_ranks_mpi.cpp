// For a build with MPI.

#include <algorithm>
#include <utility>

#include "sial/exchange/mpi/mpi_rank.hpp"
#include "sial_ranks.hpp"

namespace ob::apps {
namespace {

class MpiRanks final : public Ranks {
 public:
  MpiRanks(std::unique_ptr<sial::MpiExchange> exchange, const SialOptions& options)
      : exchange_(std::move(exchange)), rank_(*exchange_), options_(options) {}

  bool first() const noexcept override { return exchange_->rank() == 0; }
  sial::Rank number() const noexcept override { return exchange_->rank(); }
  Status compare(std::uint64_t checksum) override { return exchange_->compare(checksum); }
  Status run(const sial::WorkerSetting& setting, const Look& look) override {
    const sial::Rank rank = exchange_->rank();
    return rank_.run(setting, server_options(options_, rank),
                     [&](sial::Worker& worker) { look(rank, worker); });
  }
  const std::vector<sial::ServerPeaks>& server_peaks() const noexcept override {
    return rank_.server_peaks();
  }
  std::string dump_path(const std::string& path) const override {
    return path + "." + std::to_string(exchange_->rank());
  }
  void close(int status) override {
    constexpr unsigned kPatienceMs = 5000;  // a rank that is busy with a long instruction
    if (!exchange_->close(kPatienceMs, status)) exchange_->abort(status);
  }

 private:
  const std::unique_ptr<sial::MpiExchange> exchange_;
  sial::MpiRank rank_;
  const SialOptions options_;
};

// Keeps MPI for the life of the process. One rank needs no messages.
class OneMpiRank final : public Ranks {
 public:
  OneMpiRank(std::unique_ptr<sial::MpiExchange> exchange, std::unique_ptr<Ranks> here)
      : exchange_(std::move(exchange)), here_(std::move(here)) {}

  bool first() const noexcept override { return true; }
  sial::Rank here() const noexcept override { return here_->here(); }
  Status compare(std::uint64_t checksum) override { return here_->compare(checksum); }
  Status run(const sial::WorkerSetting& setting, const Look& look) override {
    return here_->run(setting, look);
  }
  const std::vector<sial::ServerPeaks>& server_peaks() const noexcept override {
    return here_->server_peaks();
  }
  std::string dump_path(const std::string& path) const override { return path; }
  void close(int status) override {
    here_->close(status);
    exchange_->close(0, status);
  }

 private:
  const std::unique_ptr<sial::MpiExchange> exchange_;
  const std::unique_ptr<Ranks> here_;
};

// A third of the ranks are servers, as long as nobody says otherwise.
bool divide_ranks(sial::Rank ranks, SialOptions& options) {
  if (options.servers == 0) {
    options.servers = options.workers != 0 ? ranks - options.workers : std::max(1U, ranks / 3);
  }
  if (options.workers == 0) options.workers = ranks - std::min(ranks, options.servers);
  return options.workers >= 1 && options.servers >= 1 && options.workers + options.servers == ranks;
}

}  // namespace

Result<std::unique_ptr<Ranks>> start_ranks(int* argc, char*** argv, SialOptions& options) {
  OB_ASSIGN_OR_RETURN(std::unique_ptr<sial::MpiExchange> exchange,
                      sial::MpiExchange::create(argc, argv));
  if (exchange->ranks() == 1) {
    return std::unique_ptr<Ranks>(
        std::make_unique<OneMpiRank>(std::move(exchange), ranks_here(options)));
  }
  if (!divide_ranks(exchange->ranks(), options)) {
    return Status(Code::unsupported, "--workers and --servers do not make up the " +
                                         std::to_string(exchange->ranks()) + " ranks");
  }
  return std::unique_ptr<Ranks>(std::make_unique<MpiRanks>(std::move(exchange), options));
}

}  // namespace ob::apps
