#include "sial_options.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>

namespace ob::apps {
namespace {

void add_device_options(CLI::App& app, SialOptions& options) {
  app.add_option(
         "--device", options.devices,
         "accelerator for contractions: HOST:PORT, unix:PATH, local:cuda, ..; worker n takes "
         "the n-th of several")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option(
         "--place", options.place,
         "where contractions run: auto, host, device, or hints (on the device between gpu_on "
         "and gpu_off) [auto]")
      ->check(CLI::IsMember({"auto", "host", "device", "hints"}));
  app.add_option("--device-memory", options.device_memory_bytes,
                 "copies of blocks on the device, e.g. 2GiB [nine tenths of its memory]")
      ->transform(CLI::AsSizeValue(false));
}

}  // namespace

SialOptions read_sial_options(int argc, char** argv) {
  SialOptions options;
  CLI::App app{
      "Runs the programs of a SIAL job. `outboard sial run` compiles the programs and starts "
      "it.\n\n"
      "  outboard-sial job.toml                           one process\n"
      "  mpirun -n 4 outboard-sial-openmpi job.toml       3 workers, 1 server\n"
      "  outboard-sial job.toml --checkpoint 600          keeps a checkpoint, for --resume"};
  app.add_option("job", options.job, "the job file")->required();
  app.add_option("--workers", options.workers, "workers [all ranks but the servers; 1]");
  app.add_option("--servers", options.servers, "block servers [a third of the ranks, at least 1]");
  app.add_option("--schedule", options.schedule,
                 "how all pardos are divided [as the program says, or balanced]")
      ->check(CLI::IsMember({"static", "balanced", "guided", "measured"}));
  app.add_option("--races", options.races, "who may conflict: worker or iteration [worker]")
      ->check(CLI::IsMember({"worker", "iteration"}));
  const CLI::AsSizeValue size(false);
  app.add_option("--worker-memory", options.worker_memory_bytes, "blocks of a worker, e.g. 2GiB")
      ->transform(size);
  app.add_option("--server-memory", options.server_memory_bytes, "blocks of a server, e.g. 2GiB")
      ->transform(size);
  app.add_option(
      "--spill", options.spill,
      "folder of what a server has no memory for [`spill` in the folder of saved objects]");
  app.add_option("--threads", options.threads, "threads of a product on each worker [1]")
      ->check(CLI::Range(1, 1024));
  app.add_option("--placement", options.placement,
                 "blocks on servers: cyclic, skewed, hash or bytes [cyclic]")
      ->check(CLI::IsMember({"cyclic", "skewed", "hash", "bytes"}));
  add_device_options(app, options);
  app.add_option("--seed", options.seed,
                 "without MPI: choose at random who runs and which message arrives next");
  app.add_option("--prefetch", options.prefetch,
                 "blocks that a get fetches ahead: auto, off or a number [auto; off for one rank]");
  app.add_option("--import", options.import_from,
                 "convert a job file of the older, binary form into the job, and run nothing");
  app.add_option("--report", options.report, "write what each line did to this JSON file");
  app.add_option("--trace", options.trace,
                 "write statements, waits and transfers to FILE.RANK, for `outboard trace FILE`");
  app.add_flag("--strict", options.strict, "refuse jobs with warnings");
  app.add_option("--state", options.state, "folder of saved objects [NAME.state beside the job]");
  app.add_option("--dump-state", options.dump_state,
                 "write variables, statics and blocks of all workers to this JSON file");
  app.add_flag("--deterministic", options.deterministic,
               "the same bits in each run with as many workers; no guided pardos");
  app.add_flag("--check", options.check, "watch what super-instructions write");
  app.add_flag("--drop-cache", options.drop_cache, "fetched blocks do not stay over a barrier");
  app.add_option("--checkpoint", options.checkpoint_s,
                 "make a checkpoint at the first barrier after this time [seconds], e.g. 600")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--liveness", options.liveness_s,
                 "a rank that does not answer for this time is lost [30 seconds]; 0: never")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--resume", options.resume,
               "go on with the last run of the job, from its last checkpoint or program");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& mistake) {
    const int status = app.exit(mistake);
    std::exit(status == 0 ? 0 : 2);
  }
  return options;
}

}  // namespace ob::apps
