#include "sial/worker/worker.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace ob::sial {
namespace {

// True for operations on blocks, and for super-instructions.
bool may_take_long(Opcode op) noexcept {
  return op == Opcode::push_contraction || (op >= Opcode::block_fill && op < Opcode::get) ||
         op == Opcode::put_block || (op >= Opcode::allocate && op < Opcode::collective_scalar) ||
         op >= Opcode::argument_block;
}

}  // namespace

Worker::Worker(const WorkerSetting& setting, Rank rank, Exchange& exchange)
    : setting_(setting),
      program_(*setting.program),
      geometry_(*setting.geometry),
      code_(setting.program->code),
      narrowing_(program_, setting.binding->layout),
      placement_(setting.placement, geometry_, setting.servers),
      rank_(rank),
      measured_(setting.report || setting.trace != nullptr),
      exchange_(exchange),
      pool_(setting.memory_bytes),
      store_(program_, geometry_, pool_),
      values_(program_.indices.size()),
      exits_(program_.loops.size()),
      pardo_times_(program_, setting.binding->layout, setting.workers),
      // Three quarters are for temps and locals, and for new values of blocks on their way.
      open_writes_(setting.servers, PutCredit::of(setting.server_memory_bytes, setting.workers),
                   setting.memory_bytes / 4),
      generations_(program_.arrays.size()),
      counts_{std::vector<GetCounts>(program_.accesses.size()),
              std::vector<InstructionCounts>(measured_ ? program_.code.size() : 0),
              std::vector<MemoryPeaks>(setting.report ? setting.workers : 0)},
      // The other half is for temps and locals.
      fetched_(program_.arrays.size(), setting.memory_bytes / 2, counts_.gets),
      inventory_(program_, geometry_, store_, fetched_),
      look_ahead_(program_, setting.prefetch_depths, *this, counts_.gets),
      changed_(program_.arrays.size()),
      contractions_(program_.code.size()),
      copies_(program_.code.size()),
      warned_(program_.code.size()) {
  for (std::uint32_t at = 0; at < code_.size(); ++at) {
    if (code_[at].op == Opcode::loop_exit) exits_[code_[at].a] = true;
    if (code_[at].op != Opcode::return_) continue;
    for (std::size_t loop = 0; loop < program_.loops.size(); ++loop) {
      const Loop& around = program_.loops[loop];
      if (around.begin < at && at < around.end) exits_[loop] = true;
    }
  }
  if (setting.device != nullptr) find_hints();
  if (rank == 0) hub_ = std::make_unique<CollectiveHub>(setting.workers);
}

Worker::~Worker() = default;

Status Worker::begin() {
  begun_ns_ = steady_ns();
  if (setting_.last_line != nullptr) setting_.last_line->begin(program_);
  ints_ = setting_.binding->ints;
  scalars_ = setting_.binding->scalars;
  at_ = program_.procs[0].begin;
  if (const Status allocated = store_.allocate_statics(); !allocated.ok()) {
    return {Code::invalid_argument,
            program_.name + ": error R10 " + allocated.message() + "; raise --worker-memory"};
  }
  for (std::uint32_t array = 0; array < program_.arrays.size(); ++array) {
    const DoubleArray* data = setting_.binding->predefined[array];
    if (data == nullptr) continue;
    std::copy(data->data.begin(), data->data.end(), store_.whole_static(array)->data());
  }
  keep_times();
  look_at_saved();
  checkpoint_.last_ns = begun_ns_;
  checkpoint_.unsaved.resize(program_.arrays.size());
  if (setting_.record == nullptr || !setting_.record->resumes) return {};
  return read_checkpoint().in(program_.name + ": error");
}

Outcome Worker::run(std::uint64_t most_instructions, bool quickly) {
  if (!failure_.empty()) return Outcome::failed;
  if (checkpoint_.resuming) {
    if (end_resuming() != Step::next) return Outcome::waiting;
    ++at_;
  }
  clock_until_ = 0;
  for (const std::uint64_t last = instructions_ + most_instructions; instructions_ < last;) {
    if (!due_.empty() && instruction().op != Opcode::get) look_ahead();
    run_quick(last);
    if (instructions_ == last || (quickly && may_take_long(instruction().op))) break;
    operands_ = 0;
    ++instructions_;
    note_line();
    switch (measured_ ? execute_counted() : execute()) {
      case Step::next:
        ++at_;
        operands_counted_ = 0;
        break;
      case Step::jumped: break;
      case Step::wait: return Outcome::waiting;
      case Step::failed: return Outcome::failed;
      case Step::finished: return Outcome::finished;
      case Step::stopped: return Outcome::stopped;
    }
    if (!failure_.empty() || (setting_.device != nullptr && device_failed())) {
      return Outcome::failed;
    }
  }
  return Outcome::running;
}

Worker::Step Worker::execute() {
  const auto op = static_cast<std::uint16_t>(instruction().op);
  if (op < 0x10) return execute_control();
  if (op < 0x30) return execute_expression();
  if (op < 0x40) return execute_block();
  if (op < 0x50) return execute_transfer();
  if (op < 0x60) return execute_block();
  if (op < 0x70) return execute_collective();
  if (op < 0x80) return execute_print();
  return execute_call();
}

std::string Worker::where_text(std::uint32_t instruction) const {
  const Line& line = program_.lines[instruction];
  const std::string& file = line.source == 0 ? program_.name : program_.sources[line.source].name;
  return file + ":" + std::to_string(line.line);
}

std::string Worker::bound_indices() const {
  std::string text;
  for (const ActiveLoop& active : loops_) {
    for (const std::uint32_t index : program_.loops[active.loop].indices) {
      text += text.empty() ? "" : ", ";
      text += program_.indices[index].name + " = " + std::to_string(values_[index]);
    }
  }
  return text;
}

Worker::Step Worker::fail(const std::string& text) {
  if (!failure_.empty()) return Step::failed;
  failure_ = where_text(at_) + ": error " + text;
  const std::string indices = bound_indices();
  if (!indices.empty()) failure_ += " [" + indices + "]";
  return Step::failed;
}

}  // namespace ob::sial
