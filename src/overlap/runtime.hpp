#pragma once
// The library's state in one process: its communicator, its plans, and who moves their messages.

#include <mpi.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "overlap/cores.hpp"
#include "overlap/mode.hpp"
#include "overlap/move_plan.hpp"
#include "overlap/panel_plan.hpp"
#include "overlap/proxy.hpp"
#include "overlap/timeline.hpp"

namespace ob::overlap {

constexpr int kMostProxies = 64;

struct RuntimeOptions {
  Mode mode = Mode::automatic;
  int workers = 1;  ///< threads that compute
  int core = -1;    ///< of the proxy; -1: chosen
  bool check = false;
  double patience_s = 60;
  /// Called when a run has not moved for patience_s; MPI_Abort otherwise.
  void (*on_stuck)(const char* report, void* context) = nullptr;
  void* context = nullptr;
  int proxies = 1;
  std::string trace_path;  ///< without the process id; empty: no trace
};

/// Threads: start(), ready() and wait() come from one thread at a time. tick() may come from any.
/// If MPI provides less than MPI_THREAD_SERIALIZED, all come from the thread that initialised MPI.
class Runtime {
 public:
  /// Collective over `comm`.
  /// @param options those of this rank, or the failure that all ranks get
  /// Errors: invalid_argument if MPI is not running, or if the modes or the numbers of proxies of
  /// ranks differ; unsupported if the thread level does not permit them.
  static Result<std::unique_ptr<Runtime>> attach(MPI_Comm comm,
                                                 const Result<RuntimeOptions>& options);
  /// Waits for what is under way, for at most the patience, and ends the proxy.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  int rank() const noexcept { return rank_; }
  const RuntimeOptions& options() const noexcept { return options_; }
  const std::vector<std::unique_ptr<Plan>>& plans() const noexcept { return plans_; }
  /// Returns the threads that move messages: none if the modes need none.
  const std::vector<std::unique_ptr<Proxy>>& proxies() const noexcept { return proxies_; }
  /// Returns sentences about the thread level and the cores.
  const std::string& note() const noexcept { return note_; }

  /// Make an empty plan with a duplicate of `comm`. Collective over `comm`.
  Result<MovePlan*> create_moves(std::string name, MPI_Comm comm);
  Result<PanelPlan*> create_panels(std::string name, MPI_Comm comm, const PanelOptions& options);
  /// Collective over the plan's communicator, as all of MPI's ends of communicators.
  Status destroy_plan(Plan* plan);
  Status commit(Plan& plan);

  Status start(MovePlan& plan, bool hold_sends);
  Status ready(MovePlan& plan, const Box& box);
  Status tick();
  Status wait(MovePlan& plan);
  Status start(PanelPlan& plan, std::int64_t panel);
  Status wait(PanelPlan& plan, std::int64_t panel);
  /// Returns true if a run of `plan` moves by tick() only.
  static bool ticks(const Plan& plan) noexcept;

  /// Called by MPI_Finalize while the runtime is attached, which is a mistake of the program.
  void on_finalize();

 private:
  explicit Runtime(const RuntimeOptions& options)
      : options_(options), timeline_(options.trace_path) {}
  Status set_up(MPI_Comm comm, const Status& own);
  Status start_proxies();
  Result<std::vector<Communicator>> duplicates(MPI_Comm comm) const;
  Status check_thread() const;
  std::vector<Mode> candidates() const;
  using Reached = bool (Run::*)() const noexcept;  ///< &Run::done or &Run::over

  Result<Mode> next_mode(Plan& plan);
  void launch(Run& run);
  bool poll();
  Status settle(Plan& plan);
  Status await(const Plan& plan, const Run& run, Reached reached);
  Status await_all(const Plan& plan);
  Status drive_until(const Plan& plan, const Run& run, Reached reached);
  Status await_proxy(const Plan& plan, const Run& run, Reached reached);
  Status stuck(const Plan& plan, const Run& run);
  /// Tells the program, or ends the job.   Errors: deadline_exceeded, if the program goes on
  Status give_up(const std::string& report);
  bool thread_permitted() const noexcept { return level_ >= MPI_THREAD_SERIALIZED; }

  RuntimeOptions options_;
  Timeline timeline_;
  Communicator comm_;
  int rank_ = 0;
  int level_ = MPI_THREAD_SINGLE;
  int key_ = MPI_KEYVAL_INVALID;
  bool leaving_ = false;
  ProxyCores cores_;
  std::string note_;
  std::vector<std::unique_ptr<Proxy>> proxies_;
  std::vector<std::unique_ptr<Plan>> plans_;
  std::vector<Run*> driven_;  ///< runs that the program's threads move
  std::atomic<int> driven_count_{0};
  std::atomic_flag driving_;    ///< a thread moves them
  std::atomic<int> ticked_{0};  ///< runs that tick() moves
};

}  // namespace ob::overlap
