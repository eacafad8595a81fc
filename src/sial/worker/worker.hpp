#pragma once
// A worker: it interprets a program and exchanges blocks with the servers.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.hpp"
#include "sial/devices/device_place.hpp"
#include "sial/exchange/message.hpp"
#include "sial/exchange/steady_time.hpp"
#include "sial/job/binding.hpp"
#include "sial/operations/contraction.hpp"
#include "sial/operations/copy.hpp"
#include "sial/operations/gemm.hpp"
#include "sial/operations/scratch.hpp"
#include "sial/persist/saved_objects.hpp"
#include "sial/persist/state_bytes.hpp"
#include "sial/plugin/super_instruction.hpp"
#include "sial/trace/run_trace.hpp"
#include "sial/worker/active_loop.hpp"
#include "sial/worker/block_placement.hpp"
#include "sial/worker/block_store.hpp"
#include "sial/worker/collective_hub.hpp"
#include "sial/worker/counts.hpp"
#include "sial/worker/fetched_blocks.hpp"
#include "sial/worker/geometry.hpp"
#include "sial/worker/inventory.hpp"
#include "sial/worker/last_line.hpp"
#include "sial/worker/look_ahead.hpp"
#include "sial/worker/narrowing.hpp"
#include "sial/worker/open_writes.hpp"
#include "sial/worker/pardo_times.hpp"
#include "sial/worker/run_record.hpp"

namespace ob::sial {

/// The things that all workers of a job have in common.
struct WorkerSetting {
  const Program* program = nullptr;
  const Binding* binding = nullptr;
  const Geometry* geometry = nullptr;
  const SuperFunctions* functions = nullptr;
  Gemm* gemm = nullptr;
  DevicePlace* device = nullptr;  ///< for contractions of all workers of the process; may be absent
  Rank workers = 1;
  Rank servers = 1;
  std::optional<Schedule> schedule;                 ///< of all pardos, whatever the program says
  PlacementRule placement = PlacementRule::cyclic;  ///< of blocks on servers
  bool deterministic = false;  ///< each worker has the same iterations in each run
  bool timed = true;           ///< schedules follow the clock; else a run in turns can be repeated
  std::uint64_t memory_bytes = 0;         ///< of blocks; 0: no limit
  std::uint64_t server_memory_bytes = 0;  ///< of each server; 0: no limit
  const SavedObjects* saved = nullptr;    ///< nullptr: programs cannot save or restore
  const RunRecord* record = nullptr;      ///< nullptr: the run leaves no progress
  LastLine* last_line = nullptr;          ///< nullptr: nobody wants to know it
  bool check = false;                     ///< watch what super-instructions write
  bool drop_cache = false;                ///< no fetched block stays over a barrier
  /// Per access of the program: blocks to fetch ahead; nothing: as measured. Empty: all as
  /// measured.
  std::vector<std::optional<unsigned>> prefetch_depths;
  RunTrace* trace = nullptr;  ///< nullptr: nobody wants one
  bool report = false;  ///< measure single instructions, and add up the counters of all workers
  std::function<void(std::string_view)> print;
  std::function<void(std::string_view)> warn;
};

/// Returns the function from arrays and blocks to servers, for the servers.
/// Memory: the setting's geometry must live longer
inline std::function<Rank(std::uint32_t, std::uint64_t)> server_of(const WorkerSetting& setting) {
  return
      [placement = BlockPlacement(setting.placement, *setting.geometry, setting.servers)](
          std::uint32_t array, std::uint64_t number) { return placement.server_of(array, number); };
}

/// Why a worker stopped.
enum class Outcome : std::uint8_t { running, waiting, finished, failed, stopped };

/// Interprets the program from its start to its end. It never blocks: run() returns when it has to
/// wait for a message.
/// Threads: owner only
class Worker : private Future {
 public:
  Worker(const WorkerSetting& setting, Rank rank, Exchange& exchange);
  ~Worker() override;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Sets the predefined variables and allocates the statics, or reads the checkpoint that the run
  /// goes on from.   Errors: invalid_argument (R10, R12, R04)
  Status begin();
  /// Runs at most so many instructions.
  /// @param quickly stop in front of an instruction that may take long, and return `running`
  Outcome run(std::uint64_t most_instructions, bool quickly = false);
  /// Takes a message to this rank.
  void receive(Message message);

  /// Returns the message for the user after `failed`: `program:line: error R01 ...`.
  const std::string& failure() const noexcept { return failure_; }

  // For those who look at the result of a program.
  const std::vector<std::int64_t>& ints() const noexcept { return ints_; }
  const std::vector<double>& scalars() const noexcept { return scalars_; }
  BlockStore& store() noexcept { return store_; }
  /// Returns this worker's counters; those of all workers together once a run with `report` has
  /// finished.
  const WorkerCounts& counts() const noexcept { return counts_; }
  /// Returns the times of pardos on all workers, up to the last barrier.
  const PardoTimes& pardo_times() const noexcept { return pardo_times_; }
  /// True if these are nanoseconds, false if they are numbers of instructions.
  bool timed() const noexcept { return setting_.timed; }

 private:
  union Value {
    std::int64_t i;
    double s;
  };
  // The plan of a contraction, for blocks with these extents and strides.
  struct PlannedContraction {
    View d;
    ConstView b1, b2;
    ContractionPlan plan;
  };
  struct PlannedCopy {
    View d;
    ConstView b;
    CopyPlan plan;
  };
  // The continuation after an instruction.
  enum class Step : std::uint8_t { next, jumped, wait, failed, finished, stopped };
  // The last execution of an instruction.
  struct InstructionTimes {
    std::uint32_t at = 0;
    std::int64_t began_ns = 0;
    std::int64_t ended_ns = 0;
    bool on_device = false;
  };
  // A write that a server has not answered, in a run with a trace.
  struct TracedWrite {
    const char* name = "";
    std::int64_t sent_ns = 0;
    std::uint64_t bytes = 0;
  };
  // An object to be saved.
  struct Saving {
    bool array = false;
    std::uint32_t number = 0;
  };
  using Number = std::pair<std::uint32_t, std::uint64_t>;  // array, block
  // How far blocks_to_list or list_to_blocks has come.
  enum class ListStage : std::uint8_t { before, under_way, after };
  // A get that was executed.
  struct Foreseen {
    std::uint32_t access = 0;
    std::uint64_t number = 0;  // of the block
  };

  const Instruction& instruction() const noexcept { return code_[at_]; }
  Step execute();
  void note_line() noexcept {
    if (setting_.last_line != nullptr) setting_.last_line->set(program_.lines[at_]);
  }
  Step execute_control();
  Step execute_expression();
  Step execute_block();
  Step execute_transfer();
  Step execute_collective();
  Step execute_print();
  Step execute_call();

  Step fail(const std::string& text);
  Step fail(const Status& status) { return fail(status.message()); }
  std::string name_of(std::uint32_t array,
                      const std::array<std::int64_t, kMaxRank>& segments) const;
  std::string name_of(const BlockPlace& place) const {
    return name_of(place.array, place.segments);
  }
  std::string where_text(std::uint32_t instruction) const;
  std::string bound_indices() const;

  // control.cpp
  Step halt();
  Step begin_loop();
  Step end_iteration();
  Step leave_loop();
  Step next_iteration();
  std::optional<bool> survives(const Loop& loop);
  bool find_next(ActiveLoop& active) override;
  void set_indices(const ActiveLoop& active, std::uint64_t raw) override;
  std::optional<ActiveLoop> enter(std::uint32_t number) override;
  void drop_iteration();

  // pardo.cpp
  Schedule schedule_of(std::uint32_t loop) const;
  bool is_mine(const Loop& loop, ActiveLoop& active);
  bool find_in_chunk(ActiveLoop& active);
  bool has_next_chunk(ActiveLoop& active);
  void count_ahead(ActiveLoop& active);
  void keep_times();
  void save_times();
  void note_iteration();
  void divide_by_times(ActiveLoop& active);
  void ask_for_chunk(ActiveLoop& active);
  void take_chunk(const Message& message);
  std::uint64_t least_chunk(const ActiveLoop& active) const;
  std::int64_t schedule_clock() const noexcept {
    return setting_.timed ? steady_ns() : static_cast<std::int64_t>(instructions_);
  }

  // quick_instructions.cpp
  void run_quick(std::uint64_t last);
  bool begin_plain_iteration() noexcept;

  // expressions.cpp
  Value& top() noexcept { return stack_[depth_ - 1]; }
  void push_int(std::int64_t value) noexcept { stack_[depth_++].i = value; }
  void push_scalar(double value) noexcept { stack_[depth_++].s = value; }
  std::int64_t pop_int() noexcept { return stack_[--depth_].i; }
  double pop_scalar() noexcept { return stack_[--depth_].s; }
  Step int_operation();
  Step scalar_operation();
  Step store_int();
  Step store_scalar();
  Step push_element();
  Step push_contraction();

  // block_statements.cpp
  Step operand(std::uint32_t selector, ConstView& view);
  Step operand_at(const BlockPlace& place, ConstView& view);
  Step destination(std::uint32_t selector, bool updates, View& view);
  Step destination_at(const BlockPlace& place, bool updates, View& view);
  Step destination_block(const BlockPlace& place, bool updates, BlockPtr*& block);
  Step region_at(const BlockPlace& place, View& view);
  Step block_statement();
  Step fill_statement();
  Step done(const Status& status);
  Step one_operand_statement();
  Step two_operand_statement();
  const ContractionPlan& planned_contraction();
  const CopyPlan& planned_copy();
  Step slice_statement();
  Step static_statement();
  Step region_statement();
  Step allocate();
  Step allocate_contiguous();
  Step deallocate_contiguous();

  // placement.cpp
  std::optional<Step> contract_on_device();
  Step block_of_its_own(const BlockPlace& place, ConstBlockPtr& block);
  std::uint64_t repeats_into(std::uint32_t selector) const;
  void find_hints();
  bool device_failed();

  // transfers.cpp
  Step get();
  Step put_block();
  Step put_scalar();
  Step delete_array();
  bool may_write(const BlockPlace& place, bool with_block);
  void send_write(Message message);
  Step out_of_memory(const Status& status);
  Message message_to_server(MessageKind kind, std::uint32_t array, std::uint64_t number);
  Message message_about_array(MessageKind kind, std::uint32_t array, Rank server);
  Step granted_block(const BlockPlace& place, ConstBlockPtr& block);
  void request_block(const BlockPlace& place, FetchedBlock& fetched, std::uint32_t access,
                     bool ahead);
  void take_answer(const Message& message);
  void take_failure(const Message& message);

  // foresight.cpp
  void look_ahead();
  bool reaches(std::uint32_t from, std::uint32_t to) override;
  bool foresee_step(std::uint32_t to, bool& known);
  std::optional<std::uint64_t> fetch_ahead(std::uint32_t access) override;

  // counting.cpp
  void count_use(FetchedBlock& fetched);
  Step execute_counted();
  Step add_counts();

  // tracing.cpp
  void trace_step(const InstructionTimes& times, Step step);
  void trace_fetch(const Message& answer, const FetchedBlock& fetched);
  void trace_write_begin(const Message& message);
  void trace_write_end(const Message& answer);

  // collectives.cpp
  Step collective(Contribution kind, Message part);
  Step barrier();
  Step finish_barrier(const Message& result);
  Step execute_sum();
  Step execute_same();
  Step execute_broadcast();

  // persistence.cpp
  void look_at_saved();
  bool check_saved(const SavedObject& object);
  Step persistence();
  Step save();
  Status check_fits(const SavedObject& object, const std::string& label, std::uint32_t array) const;
  void send_restore(std::uint32_t array, const SavedObject& object);
  Status begin_save();
  Status save_array(const std::string& label, std::uint32_t array, SavedObject& object);

  Status save_changed_statics();

  // lists.cpp
  Step list_statement(WorkerTask task);
  Status begin_list(std::uint32_t array);
  Status end_list(std::uint32_t array);
  Status load_list(std::uint32_t array);

  // checkpoints.cpp
  bool is_kept(std::uint32_t array) const;
  bool is_unchanged(std::uint32_t array) const;
  void begin_checkpoint(Message& result);
  Step write_checkpoint();
  void save_arrays();
  Status commit_checkpoint(const std::string& folder);
  Status write_state();
  Status read_checkpoint();
  Step end_resuming();
  Status read_state(const Checkpoint& from);
  Status read_held(StateReader& state, const Checkpoint& from);

  // calls.cpp
  const SuperInstruction& next_called() const;
  const KnownFunction* known_function(const std::string& name) const;
  char next_intent() const;
  void clear(const CallArgument& argument);
  Step block_argument();
  Step array_argument();
  Step region_argument();
  Step call_function();

  // printing.cpp
  bool prints() const noexcept { return rank_ == 0 || print_all_; }
  std::string line_text() const;
  void print_named(const std::string& name, const std::string& value);
  Step print_block();
  void print_elements(const std::string& title, const ConstView& view);
  void finish_print();

  const WorkerSetting setting_;
  const Program& program_;
  const Geometry& geometry_;
  const std::vector<Instruction>& code_;
  const Narrowing narrowing_;
  const BlockPlacement placement_;
  const Rank rank_;
  const bool measured_;  // instructions are, for a report or a trace
  Exchange& exchange_;
  BlockPool pool_;
  BlockStore store_;
  Scratch scratch_;
  ConstBlockPtr held_;  // the former contents of the destination
  std::string failure_;

  std::uint32_t at_ = 0;
  std::array<Value, kMaxStack> stack_{};
  std::size_t depth_ = 0;
  std::vector<std::int64_t> ints_;
  std::vector<double> scalars_;
  IndexValues values_;
  std::vector<ActiveLoop> loops_;
  std::vector<ActiveLoop> ended_loops_;                       // whose memory the next ones use
  std::vector<std::pair<std::uint32_t, std::size_t>> calls_;  // return address, loops around
  std::vector<bool> exits_;         // per loop: `exit` or `return` may leave it
  std::uint64_t pardo_count_ = 0;   // survivors of balanced pardos since the last barrier
  std::uint64_t pardos_ = 0;        // begun since the last barrier
  std::uint64_t iteration_ = 0;     // of the present pardo; differs from those of other pardos
  std::uint64_t executions_ = 0;    // of loops
  bool resumes_pardo_ = false;      // the pardo has begun, and waits for its first chunk
  std::uint64_t instructions_ = 0;  // executed
  PardoTimes pardo_times_;
  std::int64_t iteration_began_ = 0;  // of a pardo, on the schedule's clock; 0: none
  double chunk_round_trip_ = 0;       // of a request, on the schedule's clock: the least of late
  bool print_all_ = false;

  std::uint64_t epoch_ = 0;
  std::uint64_t next_request_ = 1;
  std::uint64_t open_requests_ = 0;  // puts and deletes that no server has answered
  OpenWrites open_writes_;
  bool waits_for_credit_ = false;  // the present instruction, which is counted
  std::vector<std::uint32_t> generations_;
  WorkerCounts counts_;
  FetchedBlocks fetched_;
  const WorkerInventory inventory_;
  LookAhead look_ahead_;
  std::vector<Foreseen> due_;           // gets whose look-ahead has not gone on yet
  std::uint64_t open_fetches_ = 0;      // requests for blocks that no server has answered
  bool answers_overlap_ = false;        // there were others when the last answer arrived
  std::uint32_t operands_ = 0;          // read by the present instruction
  std::uint32_t operands_counted_ = 0;  // of these, counted before it had to wait
  std::int64_t begun_ns_ = 0;
  std::int64_t waits_since_ns_ = 0;        // 0: it does not wait
  std::int64_t trace_waits_since_ns_ = 0;  // its first wait, for the trace; 0: none
  std::unordered_map<std::uint64_t, TracedWrite> traced_writes_;  // by request
  std::int64_t clock_ns_ = 0;                 // the clock, when it was read last
  std::uint64_t clock_until_ = 0;             // it counts as the present time up to here
  std::vector<std::vector<Number>> granted_;  // per loop around, from outside
  std::vector<Number> pending_;               // fetched in this epoch
  std::vector<bool> changed_;                 // arrays that this worker wrote in this epoch
  // These belong to the present statement. They are members, because their initialisation would
  // take longer than most of the rest.
  BlockPlace place_;
  View target_;
  ConstView left_, right_;
  std::vector<std::unique_ptr<PlannedContraction>> contractions_;  // per instruction; the last one
  std::vector<std::unique_ptr<PlannedCopy>> copies_;               // the same
  std::vector<std::unique_ptr<DevicePlan>> device_plans_;          // the same; with a device
  std::vector<bool> warned_;                                       // per instruction
  std::vector<bool> hinted_;   // per instruction: between gpu_on and gpu_off
  bool told_of_loss_ = false;  // of the device

  std::unique_ptr<CollectiveHub> hub_;  // of worker 0
  bool contributed_ = false;
  std::optional<Message> result_;
  bool last_barrier_passed_ = false;
  bool counts_added_ = false;
  std::map<std::string, Saving> saving_;  // by label
  std::optional<SavedTable> saved_;
  std::string saving_folder_;  // empty: the save has not begun
  ListStage list_stage_ = ListStage::before;
  SavedObject listed_;  // by blocks_to_list, while servers write its blocks
  CheckpointState checkpoint_;
  std::vector<CallArgument> arguments_;
};

}  // namespace ob::sial
