#include "overlap/programs/layer.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>

#include "base/json_text.hpp"
#include "overlap/clock.hpp"
#include "overlap/mpi_calls.hpp"
#include "overlap/programs/one_sided.hpp"
#include "overlap/programs/spare_core.hpp"

namespace ob::overlap {
namespace {

constexpr std::int64_t kTickInterval = 100'000;  ///< ticks closer than this gain nothing

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

int level_of_init() {
  const std::string_view number = variable("OMPI_MPI_THREAD_LEVEL");
  const std::string_view name = variable("MPIR_CVAR_DEFAULT_THREAD_LEVEL");
  for (const int level : {MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE})
    if (number == std::to_string(level) || name == thread_level_name(level)) return level;
  return MPI_THREAD_SINGLE;
}

Layer& Layer::instance() {
  alignas(Layer) static char memory[sizeof(Layer)];
  static Layer* const layer = new (memory) Layer;
  return *layer;
}

Layer::Layer() : trace_(std::string(variable("OUTBOARD_TRACE"))) {
  const std::string_view mode = variable("OUTBOARD_MPI_OVERLAP");
  if (mode == "on") mode_ = Mode::on;
  if (mode == "count") mode_ = Mode::count;
}

int Layer::wanted_level(int required) const noexcept {
  if (mode_ == Mode::count) return required;
  if (mode_ == Mode::automatic && one_sided_needs_level(required)) return required;
  return MPI_THREAD_MULTIPLE;
}

int Layer::initialise(int* argc, char*** argv) {
  int provided = MPI_THREAD_SINGLE;
  const int usual = level_of_init();
  if (wanted_level(usual) != usual) return initialise(argc, argv, usual, provided);
  const int rc = PMPI_Init(argc, argv);
  if (rc != MPI_SUCCESS) return rc;
  PMPI_Query_thread(&provided);
  initialised(provided, provided);
  return rc;
}

int Layer::initialise(int* argc, char*** argv, int required, int& provided) {
  int level = MPI_THREAD_SINGLE;
  const int rc = PMPI_Init_thread(argc, argv, wanted_level(required), &level);
  if (rc != MPI_SUCCESS) return rc;
  initialised(required, level);
  provided = visible_level(level);
  return rc;
}

int Layer::visible_level(int level) const noexcept {
  return active() ? std::min(level, required_) : level;
}

void Layer::initialised(int required, int provided) {
  required_ = required;
  provided_ = provided;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  trace_.name_rank(rank_);
  const std::string mode(variable("OUTBOARD_MPI_OVERLAP"));
  if (!mode.empty() && mode != "auto" && mode != "on" && mode != "count")
    say("OUTBOARD_MPI_OVERLAP is '" + mode + "', which is not auto, on or count; auto it is");
  start_driver(required, provided);
  active_ = true;
}

void Layer::start_driver(int required, int provided) {
  if (mode_ == Mode::count) {
    note_ = "nobody makes progress for the program, because only counts are wanted";
    return;
  }
  if (!operations_.open()) {
    note_ = "nobody makes progress for the program, because MPI has no generalized requests";
    say(note_);
    return;
  }
  if (provided < MPI_THREAD_MULTIPLE) {
    const bool kept = wanted_level(required) < MPI_THREAD_MULTIPLE;
    note_ = std::string("no thread makes progress, because MPI provides ") +
            thread_level_name(provided) +
            (kept ? " (the program may use one-sided communication, which this MPI does not have "
                    "with MPI_THREAD_MULTIPLE); calls of the program do"
                  : "; calls of the program do");
    say(note_);
    return;
  }
  const SpareCore core = find_spare_core();
  if (!driver_.start(core.is_spare)) {
    note_ = "no thread makes progress, because the system refuses one; calls of the program do";
    say(note_);
    return;
  }
  // A program may end without MPI_Finalize. MPI's own destructors must not meet the thread.
  std::atexit([] { instance().driver_.stop_at_exit(); });
  note_ = std::string("a thread makes progress on ") +
          (core.is_spare ? "a spare core: " : "the program's cores: ") + core.note;
}

void Layer::say(const std::string& sentence) const {
  if (rank_ != 0 || variable("OUTBOARD_QUIET") == "1") return;
  std::fprintf(stderr, "outboard: overlap: %s\n", sentence.c_str());
}

bool Layer::started(Operation operation) noexcept {
  if (!active()) return false;
  operation.start_ns = now_ns();
  trace_.started(operation);
  operations_.add(operation);
  if (!driving_.load(std::memory_order_relaxed)) return true;
  if (driver_.runs())
    driver_.wake();
  else
    tick();
  return true;
}

void Layer::completed(std::uintptr_t place, const CallSite& call, std::int64_t now) noexcept {
  sites_.add(place, call);
  if (mode_ != Mode::automatic) return;
  const std::lock_guard guard(trial_lock_);
  try {
    trial_.arrive(place, now);
  } catch (...) {
    return;  // no memory: the state stays
  }
  if (trial_.driving() == driving_.load(std::memory_order_relaxed)) return;
  driving_.store(trial_.driving(), std::memory_order_relaxed);
  driver_.enable(trial_.driving());
}

void Layer::tick() noexcept {
  if (mode_ == Mode::count || driver_.runs() || operations_.moving() == 0) return;
  const std::int64_t now = now_ns();
  if (now - last_tick_ns_.load(std::memory_order_relaxed) < kTickInterval) return;
  last_tick_ns_.store(now, std::memory_order_relaxed);
  operations_.drive();
}

void Layer::end() noexcept {
  if (!active()) return;
  active_ = false;
  driver_.stop();
  operations_.close();
  has_ended_ = true;
}

void Layer::report() noexcept {
  if (!has_ended_.exchange(false)) return;
  const std::string_view folder = variable("OUTBOARD_MPI_OVERLAP_REPORT");
  if (folder.empty()) return;
  try {
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    const std::string path =
        std::string(folder) + "/overlap." + host + "." + std::to_string(::getpid()) + ".json";
    const std::string decision = !trial_.decided() ? "open" : trial_.driving() ? "on" : "off";
    const std::string text =
        "{\"version\": 1, \"rank\": " + std::to_string(rank_) +
        ", \"ranks\": " + std::to_string(ranks_) + ", \"host\": " + json_text(host) +
        ", \"pid\": " + std::to_string(::getpid()) + ", \"asked\": \"" +
        thread_level_name(required_) + "\", \"provided\": \"" + thread_level_name(provided_) +
        "\", \"progress\": " + json_text(note_) + ", \"decision\": \"" + decision +
        "\", \"with_ns\": " + std::to_string(trial_.with_ns()) +
        ", \"without_ns\": " + std::to_string(trial_.without_ns()) +
        ", \"processor_ns\": " + std::to_string(driver_.processor_ns()) + ", \"sites\": [" +
        sites_.json() + "]}\n";
    std::FILE* const file = std::fopen(path.c_str(), "we");
    bool written = file != nullptr && std::fputs(text.c_str(), file) >= 0;
    if (file != nullptr) written = std::fclose(file) == 0 && written;
    if (!written) std::fprintf(stderr, "outboard: overlap: cannot write %s\n", path.c_str());
  } catch (...) {
    std::fputs("outboard: overlap: no memory for the report\n", stderr);
  }
}

}  // namespace ob::overlap
