#include "sial_progress.hpp"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "sial/persist/state_bytes.hpp"

namespace ob::apps {

using namespace ob::sial;

SialProgress::SialProgress(const SavedObjects& saved, JobIdentity identity,
                           const SialOptions& options)
    : saved_(saved),
      options_(options),
      keeps_(identity.codes.size() > 1 || options.checkpoint_s || options.resume) {
  record_.progress.identity = std::move(identity);
  record_.checkpoint_s = options.checkpoint_s;
}

Status SialProgress::open() {
  if (!options_.resume) return {};
  OB_ASSIGN_OR_RETURN(const SavedTable table, saved_.read());
  if (!table.run) return {};
  const std::string changed = differences(table.run->identity, record_.progress.identity);
  if (!changed.empty()) {
    return {Code::invalid_argument,
            "R04 the job has changed since the run that it should go on with (" + changed +
                "); undo the change, or start anew without --resume"};
  }
  found_ = true;
  record_.progress = *table.run;
  first_ = static_cast<std::size_t>(table.run->finished);
  if (!table.run->checkpoint) return {};
  record_.resumes = true;
  const std::size_t workers = table.run->checkpoint->states.size();
  if (workers == options_.workers) return {};
  return {Code::invalid_argument, "R04 the checkpoint has " + std::to_string(workers) +
                                      " workers, and this run " + std::to_string(options_.workers) +
                                      " (each goes on with its "
                                      "own variables); run with --workers " +
                                      std::to_string(workers) + " and any number of servers"};
}

std::uint64_t SialProgress::place() const noexcept {
  return 2 * std::uint64_t{first_} + (record_.resumes ? 1 : 0);
}

Status SialProgress::take_statics(Job& job) const {
  for (const KeptStatic& kept : record_.progress.statics) {
    auto file = StateReader::open(saved_.folder() / kept.file);
    if (!file.ok()) return file.status().in("R12");
    DoubleArray array;
    file->take(array.shape);
    file->take(array.data);
    if (!file->good()) return {Code::invalid_argument, "R12 " + kept.file + " is damaged"};
    const std::string plain = kept.name.substr(kept.name.rfind('.') + 1);
    job.arrays[job.arrays.contains(kept.name) ? kept.name : plain] = std::move(array);
  }
  return {};
}

Status SialProgress::forget_last_run() const {
  if (options_.resume) return {};
  auto table = saved_.read();
  // A program that saves or restores something reports a damaged table.
  if (!table.ok()) return keeps_ ? table.status() : Status();
  if (!table->run) return {};
  if (table->run->checkpoint) {
    std::fprintf(stderr,
                 "outboard-sial: warning: the job starts anew, and the checkpoint of its "
                 "last run is removed; --resume would have gone on from it\n");
  }
  table->run.reset();
  return saved_.commit(*table);
}

std::string SialProgress::announcement() const {
  if (!options_.resume) return {};
  if (!found_) return "there is no run to go on with; the job starts with its first program";
  const auto& codes = record_.progress.identity.codes;
  if (first_ >= codes.size()) return "all programs of the job have finished; nothing is left to do";
  return "goes on with " + codes[first_].program +
         (record_.resumes ? " from its last checkpoint" : " from its start");
}

Result<const RunRecord*> SialProgress::record_for(std::size_t program) {
  if (!keeps_) return static_cast<const RunRecord*>(nullptr);
  if (program != first_) {
    // Worker 0 has noted the end of the program before.
    OB_ASSIGN_OR_RETURN(const SavedTable table, saved_.read());
    if (table.run) record_.progress = *table.run;
    record_.progress.checkpoint.reset();
    record_.resumes = false;
  }
  return static_cast<const RunRecord*>(&record_);
}

}  // namespace ob::apps
