// outboard-sial runs the programs of a SIAL job. It is built without MPI, and once for each MPI
// library that is installed. `outboard sial run` starts it.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "host_gemm.hpp"
#include "host_lapack.hpp"
#include "sial/builtins/builtins.hpp"
#include "sial/code/load_program.hpp"
#include "sial/exchange/sim/simulation.hpp"
#include "sial/job/binding.hpp"
#include "sial/job/read_job.hpp"
#include "sial_options.hpp"
#include "state_dump.hpp"
#ifdef OUTBOARD_SIAL_MPI
#include "sial/exchange/mpi/mpi_rank.hpp"
#endif

namespace {

using ob::Code;
using ob::Result;
using ob::Status;
using namespace ob::sial;

// Exit statuses. 1 belongs to the compiler.
enum { kUsage = 2, kProgramError = 3, kRankLost = 4, kInternal = 5 };

int status_of(const Status& status) {
  switch (status.code()) {
    case Code::ok: return 0;
    case Code::invalid_argument:
    case Code::unavailable: return kProgramError;
    default: return kInternal;
  }
}

// A program of the job, ready to run.
struct Loaded {
  Program program;
  Binding binding;
  std::optional<Geometry> geometry;
  std::uint64_t digest = 0;
};

Result<std::vector<char>> file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad() || bytes.empty()) {
    return Status(Code::invalid_argument, "cannot read " + path.string() +
                                              "; compile the program with `outboard sial compile`");
  }
  return bytes;
}

Result<std::unique_ptr<Loaded>> load(const Job& job, const std::string& name) {
  std::filesystem::path path = job.folder / name;
  path.replace_extension(".sialc");
  OB_ASSIGN_OR_RETURN(const std::vector<char> bytes, file_bytes(path));
  auto loaded = std::make_unique<Loaded>();
  OB_ASSIGN_OR_RETURN(loaded->program,
                      load_program(std::as_bytes(std::span(bytes)), path.filename().string()));
  OB_ASSIGN_OR_RETURN(loaded->binding, bind(loaded->program, job));
  OB_ASSIGN_OR_RETURN(loaded->geometry, Geometry::create(loaded->program, loaded->binding.layout));
  ob::Digester digester;
  digester.update(std::as_bytes(std::span(bytes)));
  loaded->digest = digester.digest().low;
  return loaded;
}

Result<std::vector<std::unique_ptr<Loaded>>> load_all(const Job& job) {
  std::vector<std::unique_ptr<Loaded>> programs;
  std::string problems;
  for (const std::string& name : job.programs) {
    auto loaded = load(job, name);
    if (loaded.ok()) {
      programs.push_back(std::move(*loaded));
    } else {
      problems += (problems.empty() ? "" : "\n") + loaded.status().message();
    }
  }
  if (!problems.empty()) return Status(Code::invalid_argument, problems);
  return programs;
}

int complain(const Status& status, int code) {
  if (!status.message().empty()) std::fprintf(stderr, "outboard-sial: %s\n", status.message().c_str());
  return code;
}

WorkerSetting setting_of(const Loaded& loaded, const ob::apps::SialOptions& options, Gemm& gemm,
                         const SuperFunctions& functions) {
  WorkerSetting setting;
  setting.program = &loaded.program;
  setting.binding = &loaded.binding;
  setting.geometry = &*loaded.geometry;
  setting.functions = &functions;
  setting.gemm = &gemm;
  setting.workers = options.workers;
  setting.servers = options.servers;
  setting.schedule = options.schedule == "static" ? Schedule::fixed : Schedule::balanced;
  setting.memory_bytes = options.worker_memory_bytes;
  setting.drop_cache = options.drop_cache;
  setting.print = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  };
  setting.warn = [](std::string_view text) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
  };
  return setting;
}

BlockServer::Options server_options(const ob::apps::SialOptions& options, Rank rank) {
  return {rank, options.server_memory_bytes, options.races == "iteration"};
}

// Runs all ranks of a program in this process.
Status run_here(const WorkerSetting& setting, const ob::apps::SialOptions& options,
                ob::apps::StateDump& dump) {
  Simulation simulation(setting, server_options(options, 0), options.seed);
  OB_RETURN_IF_ERROR(simulation.run());
  if (options.dump_state.empty()) return {};
  for (Rank rank = 0; rank < setting.workers; ++rank) {
    dump.add(*setting.program, rank, simulation.worker(rank));
  }
  return {};
}

#ifdef OUTBOARD_SIAL_MPI
// One third of the ranks are servers, as long as nobody says otherwise.
bool divide_ranks(Rank ranks, ob::apps::SialOptions& options) {
  if (options.servers == 0) {
    options.servers = options.workers != 0 ? ranks - options.workers : std::max(1U, ranks / 3);
  }
  if (options.workers == 0) options.workers = ranks - std::min(ranks, options.servers);
  return options.workers >= 1 && options.servers >= 1 && options.workers + options.servers == ranks;
}
#endif

class Ranks {
 public:
  Status start(int* argc, char*** argv, ob::apps::SialOptions& options) {
#ifdef OUTBOARD_SIAL_MPI
    OB_ASSIGN_OR_RETURN(exchange_, MpiExchange::create(argc, argv));
    if (exchange_->ranks() > 1) {
      if (!divide_ranks(exchange_->ranks(), options)) {
        return {Code::unsupported, "--workers and --servers do not make up the " +
                                       std::to_string(exchange_->ranks()) + " ranks"};
      }
      rank_ = std::make_unique<MpiRank>(*exchange_);
      return {};
    }
#else
    (void)argc;
    (void)argv;
#endif
    options.workers = std::max(1U, options.workers);
    options.servers = std::max(1U, options.servers);
    return {};
  }

  bool first() const noexcept {
#ifdef OUTBOARD_SIAL_MPI
    return exchange_->rank() == 0;
#else
    return true;
#endif
  }

  Status run(const Loaded& loaded, const WorkerSetting& setting,
             const ob::apps::SialOptions& options, ob::apps::StateDump& dump) {
#ifdef OUTBOARD_SIAL_MPI
    if (rank_ != nullptr) {
      return rank_->run(setting, server_options(options, exchange_->rank()), [&](Worker& worker) {
        if (!options.dump_state.empty()) dump.add(loaded.program, exchange_->rank(), worker);
      });
    }
#endif
    (void)loaded;
    return run_here(setting, options, dump);
  }

  // Checks that all ranks have the same programs.
  Status compare(const std::vector<std::unique_ptr<Loaded>>& programs) {
    std::uint64_t digest = programs.size();
    for (const auto& loaded : programs) digest = digest * 31 + loaded->digest;
#ifdef OUTBOARD_SIAL_MPI
    if (rank_ != nullptr) return exchange_->compare(digest);
#endif
    return {};
  }

  std::string dump_path(const ob::apps::SialOptions& options) const {
#ifdef OUTBOARD_SIAL_MPI
    if (rank_ != nullptr) return options.dump_state + "." + std::to_string(exchange_->rank());
#endif
    return options.dump_state;
  }

  // Ends all ranks after a failure or success.
  void close(int status) {
#ifdef OUTBOARD_SIAL_MPI
    constexpr unsigned kPatienceMs = 5000;  // a rank that is busy with a long instruction
    if (rank_ != nullptr && !exchange_->close(kPatienceMs)) exchange_->abort(status);
#else
    (void)status;
#endif
  }

 private:
#ifdef OUTBOARD_SIAL_MPI
  std::unique_ptr<MpiExchange> exchange_;
  std::unique_ptr<MpiRank> rank_;
#endif
};

int run(Ranks& ranks, ob::apps::SialOptions& options) {
  auto job = read_job(options.job);
  if (!job.ok()) return ranks.first() ? complain(job.status(), kUsage) : kUsage;
  auto programs = load_all(*job);
  if (!programs.ok()) return ranks.first() ? complain(programs.status(), kUsage) : kUsage;
  if (const Status same = ranks.compare(*programs); !same.ok()) {
    return ranks.first() ? complain(same, kUsage) : kUsage;
  }
  auto gemm = ob::apps::open_host_gemm(options.threads);
  if (!gemm.ok()) return complain(gemm.status(), kInternal);
  auto lapack = ob::apps::open_host_lapack(options.threads);
  if (!lapack.ok()) return complain(lapack.status(), kInternal);
  const SuperFunctions functions = builtin_functions(*lapack);
  ob::apps::StateDump dump;
  for (const auto& loaded : *programs) {
    if (ranks.first()) {
      for (const std::string& warning : loaded->binding.warnings) {
        std::fprintf(stderr, "outboard-sial: warning: %s\n", warning.c_str());
      }
    }
    const WorkerSetting setting = setting_of(*loaded, options, **gemm, functions);
    const Status done = ranks.run(*loaded, setting, options, dump);
    if (!done.ok()) return complain(done, status_of(done));
  }
  if (options.dump_state.empty()) return 0;
  const Status written = dump.write(ranks.dump_path(options));
  return written.ok() ? 0 : complain(written, kUsage);
}

}  // namespace

int main(int argc, char** argv) {
  ob::apps::SialOptions options = ob::apps::read_sial_options(argc, argv);
  Ranks ranks;
  if (const Status started = ranks.start(&argc, &argv, options); !started.ok()) {
    return complain(started, kUsage);
  }
  const int status = run(ranks, options);
  ranks.close(status);
  return status;
}
