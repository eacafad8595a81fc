// outboard-sial runs the programs of a SIAL job. It is built without MPI, and once for each MPI
// library that is installed. `outboard sial run` starts it.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
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
  if (!status.message().empty())
    std::fprintf(stderr, "outboard-sial: %s\n", status.message().c_str());
  return code;
}

WorkerSetting setting_of(const Loaded& loaded, const ob::apps::SialOptions& options, Gemm& gemm,
                         const SuperFunctions& functions, const SavedObjects& saved) {
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
  setting.saved = &saved;
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

// Keeps the predefined statics of a worker for the next program of the job.
void keep_statics(const Program& program, Worker& worker, Job& job) {
  for (std::uint32_t array = 0; array < program.arrays.size(); ++array) {
    const Array& record = program.arrays[array];
    if (!record.predefined || record.storage != Storage::static_) continue;
    const std::string plain = record.name.substr(record.name.rfind('.') + 1);
    DoubleArray& kept = job.arrays[job.arrays.contains(record.name) ? record.name : plain];
    const Block& whole = *worker.store().whole_static(array);
    kept.shape.assign(whole.shape().extents.begin(),
                      whole.shape().extents.begin() + whole.shape().rank);
    kept.data.assign(whole.data(), whole.data() + whole.elements());
  }
}

// Runs all ranks of a program in this process.
Status run_here(const WorkerSetting& setting, const ob::apps::SialOptions& options,
                ob::apps::StateDump& dump, Job& job) {
  Simulation simulation(setting, server_options(options, 0), options.seed);
  OB_RETURN_IF_ERROR(simulation.run());
  keep_statics(*setting.program, simulation.worker(0), job);
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
             const ob::apps::SialOptions& options, ob::apps::StateDump& dump, Job& job) {
#ifdef OUTBOARD_SIAL_MPI
    if (rank_ != nullptr) {
      return rank_->run(setting, server_options(options, exchange_->rank()), [&](Worker& worker) {
        keep_statics(loaded.program, worker, job);
        if (!options.dump_state.empty()) dump.add(loaded.program, exchange_->rank(), worker);
      });
    }
#endif
    (void)loaded;
    return run_here(setting, options, dump, job);
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

// Takes the defaults of the job file for options that the command line does not give.
void take_defaults(const RunDefaults& run, ob::apps::SialOptions& options) {
  const auto take = [](auto& option, const auto& value) {
    if (value && option == std::decay_t<decltype(option)>{}) {
      option = static_cast<std::decay_t<decltype(option)>>(*value);
    }
  };
  take(options.workers, run.workers);
  take(options.servers, run.servers);
  take(options.worker_memory_bytes, run.worker_memory);
  take(options.server_memory_bytes, run.server_memory);
  take(options.schedule, run.schedule);
  take(options.races, run.races);
  if (options.races.empty()) options.races = "worker";
  options.drop_cache = options.drop_cache || run.drop_cache.value_or(false);
}

// Warns of keys under [run] that this version reads and does not follow yet.
void warn_of_defaults(const RunDefaults& run) {
  const auto warn = [](const char* key, bool given) {
    if (!given) return;
    std::fprintf(stderr, "outboard-sial: warning: run.%s has no effect in this version\n", key);
  };
  warn("spill", run.spill.has_value());
  warn("prefetch", run.prefetch.has_value() || !run.prefetch_lines.empty());
  warn("placement", run.placement.has_value());
  warn("place", run.place.has_value());
  warn("deterministic", run.deterministic.has_value());
  warn("check", run.check.has_value());
  warn("checkpoint", run.checkpoint_s.has_value());
  warn("liveness", run.liveness_s.has_value());
}

// Returns the folder of what the job saves.
std::filesystem::path state_folder(const Job& job, const ob::apps::SialOptions& options) {
  if (!options.state.empty()) return options.state;
  return job.folder / job.run.state.value_or(job.name + ".state");
}

int run(Ranks& ranks, Job& job, const ob::apps::SialOptions& options) {
  auto programs = load_all(job);
  if (!programs.ok()) return ranks.first() ? complain(programs.status(), kUsage) : kUsage;
  if (const Status same = ranks.compare(*programs); !same.ok()) {
    return ranks.first() ? complain(same, kUsage) : kUsage;
  }
  auto gemm = ob::apps::open_host_gemm(options.threads);
  if (!gemm.ok()) return complain(gemm.status(), kInternal);
  auto lapack = ob::apps::open_host_lapack(options.threads);
  if (!lapack.ok()) return complain(lapack.status(), kInternal);
  const SuperFunctions functions = builtin_functions(*lapack);
  const SavedObjects saved(state_folder(job, options));
  ob::apps::StateDump dump;
  for (const auto& loaded : *programs) {
    if (ranks.first()) {
      for (const std::string& warning : loaded->binding.warnings) {
        std::fprintf(stderr, "outboard-sial: warning: %s\n", warning.c_str());
      }
    }
    // An earlier program of the job may have changed predefined statics.
    auto binding = bind(loaded->program, job);
    if (!binding.ok()) return complain(binding.status(), kUsage);
    loaded->binding = std::move(*binding);
    const WorkerSetting setting = setting_of(*loaded, options, **gemm, functions, saved);
    const Status done = ranks.run(*loaded, setting, options, dump, job);
    if (!done.ok()) return complain(done, status_of(done));
  }
  if (options.dump_state.empty()) return 0;
  const Status written = dump.write(ranks.dump_path(options));
  return written.ok() ? 0 : complain(written, kUsage);
}

}  // namespace

int main(int argc, char** argv) {
  ob::apps::SialOptions options = ob::apps::read_sial_options(argc, argv);
  auto job = read_job(options.job);
  if (job.ok()) take_defaults(job->run, options);
  Ranks ranks;
  if (const Status started = ranks.start(&argc, &argv, options); !started.ok()) {
    return complain(started, kUsage);
  }
  int status = kUsage;
  if (job.ok()) {
    if (ranks.first()) warn_of_defaults(job->run);
    status = run(ranks, *job, options);
  } else if (ranks.first()) {
    complain(job.status(), kUsage);
  }
  ranks.close(status);
  return status;
}
