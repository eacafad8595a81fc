// outboard-sial runs the programs of a SIAL job. It is built without MPI, and once for each MPI
// library that is installed. `outboard sial run` starts it.

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/checksum.hpp"
#include "host_gemm.hpp"
#include "host_lapack.hpp"
#include "sial/builtins/builtins.hpp"
#include "sial/code/load_program.hpp"
#include "sial/job/binding.hpp"
#include "sial/job/import_dat.hpp"
#include "sial/job/read_job.hpp"
#include "sial/job/write_job.hpp"
#include "sial/plugin/plugins.hpp"
#include "sial_device.hpp"
#include "sial_guard.hpp"
#include "sial_options.hpp"
#include "sial_prefetch.hpp"
#include "sial_progress.hpp"
#include "sial_ranks.hpp"
#include "sial_report.hpp"
#include "sial_trace.hpp"
#include "state_dump.hpp"

namespace {

using ob::Code;
using ob::Result;
using ob::Status;
using namespace ob::sial;

// Exit statuses. 1 belongs to the compiler, and 4 to a rank that is lost.
enum { kUsage = 2, kProgramError = 3, kInternal = 5 };

int status_of(const Status& status) {
  switch (status.code()) {
    case Code::ok: return 0;
    case Code::invalid_argument:
    case Code::unavailable: return kProgramError;
    default: return kInternal;
  }
}

const std::map<std::string, Schedule> kSchedules{{"static", Schedule::fixed},
                                                 {"balanced", Schedule::balanced},
                                                 {"guided", Schedule::guided},
                                                 {"measured", Schedule::measured}};

const std::map<std::string, PlacementRule> kPlacements{{"cyclic", PlacementRule::cyclic},
                                                       {"skewed", PlacementRule::skewed},
                                                       {"hash", PlacementRule::hash},
                                                       {"bytes", PlacementRule::bytes}};

// A program of the job, ready to run.
struct Loaded {
  Program program;
  Binding binding;
  std::optional<Geometry> geometry;
  std::uint64_t checksum = 0;  // of the byte code
  std::vector<std::optional<unsigned>> prefetch_depths;
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

Result<std::unique_ptr<Loaded>> load(const Job& job, const std::string& name,
                                     const std::string& prefetch) {
  std::filesystem::path path = job.folder / name;
  path.replace_extension(".sialc");
  OB_ASSIGN_OR_RETURN(const std::vector<char> bytes, file_bytes(path));
  auto loaded = std::make_unique<Loaded>();
  OB_ASSIGN_OR_RETURN(loaded->program,
                      load_program(std::as_bytes(std::span(bytes)), path.filename().string()));
  OB_ASSIGN_OR_RETURN(loaded->binding, bind(loaded->program, job));
  OB_ASSIGN_OR_RETURN(loaded->geometry, Geometry::create(loaded->program, loaded->binding.layout));
  loaded->checksum = ob::checksum(std::as_bytes(std::span(bytes)));
  OB_ASSIGN_OR_RETURN(loaded->prefetch_depths,
                      ob::apps::prefetch_depths(loaded->program, prefetch, job.run.prefetch_lines));
  return loaded;
}

Result<std::vector<std::unique_ptr<Loaded>>> load_all(const Job& job, const std::string& prefetch) {
  std::vector<std::unique_ptr<Loaded>> programs;
  std::string problems;
  for (const std::string& name : job.programs) {
    auto loaded = load(job, name, prefetch);
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

// The things that compute, for all programs of the job.
struct Computing {
  std::unique_ptr<Gemm> gemm;
  std::unique_ptr<DevicePlace> device;  // nullptr: there is none
  SuperFunctions functions;
};

WorkerSetting setting_of(const Loaded& loaded, const ob::apps::SialOptions& options,
                         const Computing& computing, const SavedObjects& saved) {
  WorkerSetting setting;
  setting.program = &loaded.program;
  setting.binding = &loaded.binding;
  setting.geometry = &*loaded.geometry;
  setting.functions = &computing.functions;
  setting.gemm = computing.gemm.get();
  setting.device = computing.device.get();
  setting.workers = options.workers;
  setting.servers = options.servers;
  const auto schedule = kSchedules.find(options.schedule);
  if (schedule != kSchedules.end()) setting.schedule = schedule->second;
  if (!options.placement.empty()) setting.placement = kPlacements.at(options.placement);
  setting.memory_bytes = options.worker_memory_bytes;
  setting.server_memory_bytes = options.server_memory_bytes;
  setting.saved = &saved;
  setting.check = options.check;
  setting.drop_cache = options.drop_cache;
  setting.prefetch_depths = loaded.prefetch_depths;
  setting.deterministic = options.deterministic;
  setting.report = !options.report.empty();
  setting.print = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  };
  setting.warn = [](std::string_view text) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
  };
  return setting;
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

JobIdentity identity_of(const Job& job, const std::vector<std::unique_ptr<Loaded>>& programs) {
  JobIdentity identity{{}, job.ints, job.segments, job.subsegments};
  for (std::size_t i = 0; i < programs.size(); ++i) {
    std::array<char, 17> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx",
                  static_cast<unsigned long long>(programs[i]->checksum));
    identity.codes.push_back({job.programs[i], digits.data()});
  }
  return identity;
}

// Returns a number that is the same on all ranks if they run the same programs.
std::uint64_t checksum_of(const std::vector<std::unique_ptr<Loaded>>& programs,
                          std::uint64_t place) {
  std::vector<std::uint64_t> checksums{place};
  for (const auto& loaded : programs) checksums.push_back(loaded->checksum);
  return ob::checksum(std::as_bytes(std::span(checksums)));
}

// Returns the folder of what the job saves.
std::filesystem::path state_folder(const Job& job, const ob::apps::SialOptions& options) {
  if (!options.state.empty()) return options.state;
  return job.folder / job.run.state.value_or(job.name + ".state");
}

// Returns the folder for blocks that servers have no memory for.
std::filesystem::path spill_folder(const Job& job, const ob::apps::SialOptions& options) {
  if (!options.spill.empty()) return options.spill;
  if (job.run.spill) return job.folder / *job.run.spill;
  return state_folder(job, options) / "spill";
}

// Takes the defaults of the job file for options that the command line does not give.
void take_defaults(const Job& job, ob::apps::SialOptions& options) {
  const RunDefaults& run = job.run;
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
  take(options.prefetch, run.prefetch);
  take(options.place, run.place);
  take(options.placement, run.placement);
  take(options.checkpoint_s, run.checkpoint_s);
  take(options.liveness_s, run.liveness_s);
  if (options.races.empty()) options.races = "worker";
  options.deterministic = options.deterministic || run.deterministic.value_or(false);
  options.drop_cache = options.drop_cache || run.drop_cache.value_or(false);
  options.check = options.check || run.check.value_or(false);
  options.strict = options.strict || run.strict.value_or(false);
  options.spill = spill_folder(job, options);
}

bool is_dynamic(const std::string& schedule) {
  return schedule == "guided" || schedule == "measured";
}

// Pardos of a deterministic run are divided in the same way in each run.
void warn_of_schedules(const Program& program) {
  for (const Loop& loop : program.loops) {
    if (!is_dynamic(loop.schedule)) continue;
    const Line& line = program.lines[loop.begin];
    std::fprintf(stderr,
                 "outboard-sial: warning: %s:%u: the pardo is balanced, not %s (its division would "
                 "depend on times) because of --deterministic\n",
                 program.sources[line.source].name.c_str(), line.line, loop.schedule.c_str());
  }
}

// Makes errors of the warnings about the job.
Status refuse_warnings(const std::vector<std::unique_ptr<Loaded>>& programs) {
  std::string problems;
  for (const auto& loaded : programs) {
    for (const std::string& warning : loaded->binding.warnings) {
      problems += (problems.empty() ? "" : "\n") + warning;
    }
  }
  if (problems.empty()) return {};
  return {Code::invalid_argument, problems + " (--strict makes an error of this warning)"};
}

// Checks that the super-instructions that programs execute are there.
Status find_all(const std::vector<std::unique_ptr<Loaded>>& programs,
                const SuperFunctions& functions) {
  std::string problems;
  const auto add = [&](const std::string& problem) {
    if (problems.find(problem) == std::string::npos)
      problems += (problems.empty() ? "" : "\n") + problem;
  };
  for (const auto& loaded : programs) {
    for (const Instruction& one : loaded->program.code) {
      if (one.op != Opcode::execute) continue;
      const SuperInstruction& special = loaded->program.super_instructions[one.a];
      const auto known = functions.find(special.name);
      if (known == functions.end()) {
        add("program " + loaded->program.name + ": " + no_function(special.name));
      } else if (known->second.intents != special.intents) {
        add("program " + loaded->program.name + ": " + special.name + " has the intents `" +
            known->second.intents + "`, and the program declares `" + special.intents + "`");
      }
    }
  }
  if (problems.empty()) return {};
  return {Code::invalid_argument, problems};
}

// Finds out where the run begins. All ranks call it, and fail together.
Status begin_progress(ob::apps::Ranks& ranks, Job& job,
                      const std::vector<std::unique_ptr<Loaded>>& programs,
                      ob::apps::SialProgress& progress) {
  Status opened = progress.open();
  if (opened.ok()) opened = progress.take_statics(job);
  const Status same =
      ranks.compare(checksum_of(programs, opened.ok() ? progress.place() : ~std::uint64_t{0}));
  if (opened.ok()) opened = same;
  if (opened.ok() && ranks.first()) opened = progress.forget_last_run();
  const std::string announced = opened.ok() ? progress.announcement() : "";
  if (ranks.first() && !announced.empty()) {
    std::fprintf(stderr, "outboard-sial: %s\n", announced.c_str());
  }
  return opened;
}

// Everything that the programs of a job share.
struct Shared {
  const ob::apps::SialOptions& options;
  const Computing& computing;
  const SavedObjects& saved;
  RunTrace* trace;             // nullptr: nobody wants one
  ob::apps::Watched* watched;  // nullptr: nobody watches this process
};

int run_programs(ob::apps::Ranks& ranks, Job& job,
                 const std::vector<std::unique_ptr<Loaded>>& programs,
                 ob::apps::SialProgress& progress, const Shared& shared) {
  const ob::apps::SialOptions& options = shared.options;
  ob::apps::StateDump dump;
  ob::apps::SialReport report;
  for (std::size_t number = progress.first(); number < programs.size(); ++number) {
    Loaded& loaded = *programs[number];
    if (ranks.first()) {
      if (options.deterministic) warn_of_schedules(loaded.program);
      for (const std::string& warning : loaded.binding.warnings) {
        std::fprintf(stderr, "outboard-sial: warning: %s\n", warning.c_str());
      }
    }
    // An earlier program of the job may have changed predefined statics.
    auto binding = bind(loaded.program, job);
    if (!binding.ok()) return complain(binding.status(), kUsage);
    loaded.binding = std::move(*binding);
    WorkerSetting setting = setting_of(loaded, options, shared.computing, shared.saved);
    auto record = progress.record_for(number);
    if (!record.ok()) return complain(record.status(), kUsage);
    setting.record = *record;
    setting.trace = shared.trace;
    if (shared.watched != nullptr) setting.last_line = &shared.watched->last_line;
    const Status done = ranks.run(setting, [&](Rank rank, Worker& worker) {
      // In one process, all workers share the job's copy: worker 0 leaves its own.
      if (rank == 0 || !ranks.first()) keep_statics(loaded.program, worker, job);
      if (!options.dump_state.empty()) dump.add(loaded.program, rank, worker);
      if (rank == 0 && setting.report) report.add(setting, worker, ranks.server_peaks());
    });
    if (!done.ok()) return complain(done, status_of(done));
  }
  if (ranks.first() && !options.report.empty()) {
    const Status written = report.write(options.report);
    if (!written.ok()) return complain(written, kUsage);
  }
  if (options.dump_state.empty()) return 0;
  const Status written = dump.write(ranks.dump_path(options.dump_state));
  return written.ok() ? 0 : complain(written, kUsage);
}

int run(ob::apps::Ranks& ranks, Job& job, const ob::apps::SialOptions& options,
        ob::apps::Watched* watched) {
  if (options.deterministic && is_dynamic(options.schedule)) {
    const Status status(Code::invalid_argument,
                        "--deterministic excludes the schedule " + options.schedule +
                            " (its division depends on times); use balanced or static");
    return ranks.first() ? complain(status, kUsage) : kUsage;
  }
  auto programs = load_all(job, options.prefetch);
  if (!programs.ok()) return ranks.first() ? complain(programs.status(), kUsage) : kUsage;
  if (options.strict) {
    const Status clean = refuse_warnings(*programs);
    if (!clean.ok()) return ranks.first() ? complain(clean, kUsage) : kUsage;
  }
  const SavedObjects saved(state_folder(job, options));
  ob::apps::SialProgress progress(saved, identity_of(job, *programs), options);
  if (const Status begun = begin_progress(ranks, job, *programs, progress); !begun.ok()) {
    return ranks.first() ? complain(begun, kUsage) : kUsage;
  }
  // Times of all ranks count from here, because they have just compared their programs.
  std::unique_ptr<ob::apps::SialTrace> trace;
  if (!options.trace.empty()) {
    auto made = ob::apps::SialTrace::create(options, ranks.number());
    if (!made.ok()) return complain(made.status(), kUsage);
    trace = std::move(*made);
    trace->name_ranks(ranks.number(), ranks.here());
  }
  Computing computing;
  auto gemm = ob::apps::open_host_gemm(options.threads);
  if (!gemm.ok()) return complain(gemm.status(), kInternal);
  computing.gemm = std::move(*gemm);
  auto lapack = ob::apps::open_host_lapack(options.threads);
  if (!lapack.ok()) return complain(lapack.status(), kInternal);
  computing.functions = builtin_functions(*lapack);
  Status found = add_plugins(job, computing.functions);
  if (found.ok()) found = find_all(*programs, computing.functions);
  if (!found.ok()) return ranks.first() ? complain(found, kUsage) : kUsage;
  auto device = ob::apps::open_sial_device(options, ranks, *computing.gemm);
  if (!device.ok()) return complain(device.status(), kUsage);
  computing.device = std::move(*device);
  const int status = run_programs(ranks, job, *programs, progress,
                                  {options, computing, saved, trace.get(), watched});
  if (trace == nullptr) return status;
  const Status traced = trace->finish();
  return traced.ok() || status != 0 ? status : complain(traced, kUsage);
}

int import_job(const ob::apps::SialOptions& options) {
  const auto job = import_dat(options.import_from);
  if (!job.ok()) return complain(job.status(), kUsage);
  const Status written = write_job(options.job, *job);
  return written.ok() ? 0 : complain(written, kUsage);
}

}  // namespace

int main(int argc, char** argv) {
  // A write beyond the limit of file sizes is an error with a message then.
  std::signal(SIGXFSZ, SIG_IGN);
  ob::apps::SialOptions options = ob::apps::read_sial_options(argc, argv);
  if (!options.import_from.empty()) return import_job(options);
  ob::apps::Watched* const watched = options.liveness_s == 0.0 ? nullptr : ob::apps::start_guard();
  auto job = read_job(options.job);
  if (job.ok()) take_defaults(*job, options);
  auto ranks = ob::apps::start_ranks(&argc, &argv, options);
  if (!ranks.ok()) return complain(ranks.status(), kUsage);
  int status = kUsage;
  if (watched != nullptr) {
    watched->rank = (*ranks)->number();
    watched->is_server = watched->rank >= options.workers;
    watched->liveness_ms = static_cast<std::int64_t>(options.liveness_s.value_or(30) * 1000);
  }
  if (job.ok()) {
    status = run(**ranks, *job, options, watched);
  } else if ((*ranks)->first()) {
    complain(job.status(), kUsage);
  }
  (*ranks)->close(status);
  return status;
}
