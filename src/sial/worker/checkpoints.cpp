// A checkpoint is made at a barrier: all workers write what they hold, and worker 0 has the servers
// write their blocks. When all have done that, worker 0 names the files in the table of saved
// objects. A worker leaves the barrier only when all files are written, so no block changes before.

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "base/checksum.hpp"
#include "sial/persist/block_file.hpp"
#include "sial/persist/durable_file.hpp"
#include "sial/persist/state_bytes.hpp"
#include "sial/worker/worker.hpp"

namespace ob::sial {
namespace {

// The place of a block of a worker, in the order of its file of blocks.
enum class HeldAs : std::uint8_t { whole_static, block, region };
struct HeldBlock {
  HeldAs as = HeldAs::block;
  std::uint32_t array = 0;
  std::uint64_t number = 0;
  std::array<std::int64_t, 2 * kMaxRank> bounds{};  // of a region
};

// A predefined static that has its value of the job. Its elements stay in the job's file.
struct UnchangedStatic {
  std::uint32_t array = 0;
  std::uint64_t checksum = 0;
};

std::uint64_t checksum_of_data(const DoubleArray& array) {
  return checksum(std::as_bytes(std::span(array.data)));
}

void put_loop(StateWriter& to, const ActiveLoop& loop) {
  to.put(loop.loop);
  to.put(loop.execution);
  to.put(loop.lower);
  to.put(loop.upper);
  to.put(loop.candidate);
  to.put(loop.total);
  to.put(loop.survivors);
  std::vector<std::uint64_t> coming(loop.coming.size());
  for (std::size_t i = 0; i < coming.size(); ++i) coming[i] = loop.coming[i];
  to.put(coming);
  to.put(loop.begun);
}

ActiveLoop take_loop(StateReader& from) {
  ActiveLoop loop;
  from.take(loop.loop);
  from.take(loop.execution);
  from.take(loop.lower);
  from.take(loop.upper);
  from.take(loop.candidate);
  from.take(loop.total);
  from.take(loop.survivors);
  std::vector<std::uint64_t> coming;
  from.take(coming);
  for (const std::uint64_t raw : coming) loop.coming.push_back(raw);
  from.take(loop.begun);
  return loop;
}

}  // namespace

bool Worker::is_kept(std::uint32_t array) const {
  const std::string& name = program_.arrays[array].name;
  const std::string plain = name.substr(name.rfind('.') + 1);
  return std::ranges::any_of(setting_.record->progress.statics, [&](const KeptStatic& kept) {
    return kept.name.substr(kept.name.rfind('.') + 1) == plain;
  });
}

// Says whether a predefined static has the value that the job file gives it.
bool Worker::is_unchanged(std::uint32_t array) const {
  const DoubleArray* const data = setting_.binding->predefined[array];
  // Those that earlier programs changed may differ from worker to worker.
  if (data == nullptr || is_kept(array)) return false;
  const Block& whole = *store_.whole_static(array);
  return std::equal(data->data.begin(), data->data.end(), whole.data(),
                    whole.data() + whole.elements());
}

// Worker 0: begins a checkpoint, if one is due, with the result of a barrier.
void Worker::begin_checkpoint(Message& result) {
  if (setting_.record == nullptr || !setting_.record->checkpoint_s) return;
  if (result.contribution != Contribution::barrier) return;
  if (code_[result.instruction].op == Opcode::halt) return;
  const auto passed = static_cast<double>(steady_ns() - checkpoint_.last_ns) * 1e-9;
  if (passed < *setting_.record->checkpoint_s) return;
  auto folder = setting_.saved->new_files();
  if (folder.ok()) {
    result.text = *folder;
  } else {
    fail(folder.status());
  }
}

// Writes a checkpoint. Returns `next` when all ranks have written their files.
Worker::Step Worker::write_checkpoint() {
  if (!checkpoint_.written) {
    checkpoint_.written = true;
    if (const Status written = write_state(); !written.ok()) {
      return fail("R11 the checkpoint: " + written.message());
    }
    if (rank_ == 0) save_arrays();
  }
  if (open_requests_ != 0) return Step::wait;
  Message part;
  const Step step = collective(Contribution::meeting, std::move(part));
  if (step != Step::next) return step;
  result_.reset();
  const std::string folder = std::exchange(checkpoint_.folder, "");
  checkpoint_.written = false;
  if (rank_ != 0) return Step::next;
  const Status kept = commit_checkpoint(folder);
  checkpoint_.last_ns = steady_ns();
  return kept.ok() ? Step::next : fail(kept);
}

// Has the servers write the arrays that have changed since the last checkpoint.
void Worker::save_arrays() {
  for (std::uint32_t array = 0; array < program_.arrays.size(); ++array) {
    if (!checkpoint_.unsaved[array]) continue;
    std::vector<std::string>& files = checkpoint_.arrays[array];
    files.clear();
    for (Rank server = 0; server < setting_.servers; ++server) {
      files.push_back(checkpoint_.folder + "/array-" + std::to_string(array) + "." +
                      std::to_string(server) + ".blocks");
      Message message = message_about_array(MessageKind::save, array, server);
      message.text = (setting_.saved->folder() / files.back()).string();
      ++open_requests_;
      exchange_.send(std::move(message));
    }
    checkpoint_.unsaved[array] = false;
  }
}

Status Worker::commit_checkpoint(const std::string& folder) {
  OB_ASSIGN_OR_RETURN(SavedTable table, setting_.saved->read());
  table.run = setting_.record->progress;
  Checkpoint& made = table.run->checkpoint.emplace();
  for (Rank worker = 0; worker < setting_.workers; ++worker) {
    const std::string stem = folder + "/worker-" + std::to_string(worker);
    made.states.push_back(stem + ".state");
    made.blocks.push_back(stem + ".blocks");
  }
  made.arrays = checkpoint_.arrays;
  return setting_.saved->commit(table);
}

Status Worker::write_state() {
  StateWriter state;
  state.put(at_);
  state.put(std::vector<Value>(stack_.begin(), stack_.begin() + static_cast<long>(depth_)));
  state.put(ints_);
  state.put(scalars_);
  state.put(values_);
  state.put<std::uint64_t>(calls_.size());
  for (const auto& [address, loops] : calls_) {
    state.put(address);
    state.put<std::uint64_t>(loops);
  }
  state.put<std::uint64_t>(loops_.size());
  for (const ActiveLoop& loop : loops_) put_loop(state, loop);
  state.put(executions_);
  state.put(print_all_);
  state.put<std::uint64_t>(saving_.size());
  for (const auto& [label, what] : saving_) {
    state.put(label);
    state.put(what);
  }
  std::vector<UnchangedStatic> unchanged;
  std::vector<HeldBlock> held;
  std::vector<ConstBlockPtr> blocks;
  for (std::uint32_t array = 0; array < program_.arrays.size(); ++array) {
    if (store_.whole_static(array) != nullptr) {
      if (is_unchanged(array)) {
        unchanged.push_back({array, checksum_of_data(*setting_.binding->predefined[array])});
        continue;
      }
      held.push_back({HeldAs::whole_static, array});
      blocks.push_back(store_.whole_static(array));
    }
    for (const LocalRegion& region : store_.regions(array)) {
      HeldBlock& one = held.emplace_back(HeldBlock{HeldAs::region, array});
      std::ranges::copy(region.bounds, one.bounds.begin());
      blocks.push_back(region.block);
    }
  }
  store_.for_each_pointer([&](std::uint32_t array, std::uint64_t number, const BlockPtr& block) {
    held.push_back({HeldAs::block, array, number});
    blocks.push_back(block);
  });
  state.put(unchanged);
  state.put(held);
  state.put(store_.ending());
  const std::string stem =
      (setting_.saved->folder() / checkpoint_.folder / "worker-").string() + std::to_string(rank_);
  OB_RETURN_IF_ERROR(state.write(stem + ".state"));
  std::vector<std::uint64_t> numbers(blocks.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  return write_block_file(stem + ".blocks", numbers, [&](std::uint64_t number) {
    return Result<ConstBlockPtr>(blocks[number]);
  });
}

// Makes this worker what it was at a checkpoint, and has the servers read their blocks.
Status Worker::read_checkpoint() {
  const std::optional<Checkpoint>& from = setting_.record->progress.checkpoint;
  if (!from || rank_ >= from->states.size()) {
    return {Code::invalid_argument, "R12 there is no checkpoint of this worker"};
  }
  OB_RETURN_IF_ERROR(read_state(*from).in("R12 the checkpoint"));
  checkpoint_.resuming = true;
  if (rank_ != 0) return {};
  checkpoint_.arrays = from->arrays;
  for (const auto& [array, files] : from->arrays) {
    for (Rank server = 0; server < setting_.servers; ++server) {
      Message message = message_about_array(MessageKind::restore, array, server);
      for (const std::string& file : files) {
        message.text += (setting_.saved->folder() / file).string() + "\n";
      }
      message.words = {server, setting_.servers};
      ++open_requests_;
      exchange_.send(std::move(message));
    }
  }
  return {};
}

// Waits at the barrier of the checkpoint until the servers have their blocks.
Worker::Step Worker::end_resuming() {
  if (open_requests_ != 0) return Step::wait;
  Message part;
  const Step step = collective(Contribution::meeting, std::move(part));
  if (step != Step::next) return step;
  result_.reset();
  checkpoint_.resuming = false;
  return Step::next;
}

Status Worker::read_state(const Checkpoint& from) {
  const Status damaged(Code::invalid_argument,
                       from.states[rank_] + " does not fit the program (it is damaged)");
  OB_ASSIGN_OR_RETURN(StateReader state,
                      StateReader::open(setting_.saved->folder() / from.states[rank_]));
  state.take(at_);
  std::vector<Value> stack;
  state.take(stack);
  if (at_ >= code_.size() || stack.size() > stack_.size()) return damaged;
  std::ranges::copy(stack, stack_.begin());
  depth_ = stack.size();
  state.take(ints_);
  state.take(scalars_);
  state.take(values_);
  for (std::size_t left = state.take_count(12); left > 0; --left) {
    const auto address = state.take<std::uint32_t>();
    const auto loops = state.take<std::uint64_t>();
    calls_.emplace_back(address, static_cast<std::size_t>(loops));
    if (address >= code_.size()) return damaged;
  }
  for (std::size_t left = state.take_count(4); left > 0; --left) {
    loops_.push_back(take_loop(state));
    if (loops_.back().loop >= program_.loops.size()) return damaged;
  }
  state.take(executions_);
  state.take(print_all_);
  for (std::size_t left = state.take_count(8); left > 0; --left) {
    std::string label;
    state.take(label);
    state.take(saving_[label]);
  }
  const bool fits = ints_.size() == program_.ints.size() &&
                    scalars_.size() == program_.scalars.size() &&
                    values_.size() == program_.indices.size();
  if (!state.good() || !fits) return damaged;
  return read_held(state, from);
}

Status Worker::read_held(StateReader& state, const Checkpoint& from) {
  const Status damaged(Code::invalid_argument,
                       from.states[rank_] + " does not fit the program (it is damaged)");
  std::vector<UnchangedStatic> unchanged;
  std::vector<HeldBlock> held;
  std::vector<BlockStore::Ending> ending;
  state.take(unchanged);
  state.take(held);
  state.take(ending);
  if (!state.good()) return damaged;
  for (const UnchangedStatic& one : unchanged) {
    if (one.array >= program_.arrays.size()) return damaged;
    const DoubleArray* const data = setting_.binding->predefined[one.array];
    if (data != nullptr && checksum_of_data(*data) == one.checksum) continue;
    return {Code::invalid_argument, "R04 the job's array " + program_.arrays[one.array].name +
                                        " has changed; start the job anew, without --resume"};
  }
  std::size_t got = 0;
  bool fits = true;
  const BlockReceiver receiver{
      [&](std::uint64_t number) { return number == got && number < held.size(); },
      [&](const Shape& shape) {
        // The static that it replaces would lie beside it.
        if (held[got].as == HeldAs::whole_static) store_.whole_static(held[got].array).reset();
        return pool_.allocate(shape);
      },
      [&](std::uint64_t, BlockPtr block) {
        const HeldBlock& one = held[got++];
        if (one.as == HeldAs::whole_static) {
          fits = fits && block->shape() == geometry_.whole(one.array);
          store_.whole_static(one.array) = std::move(block);
        } else if (one.as == HeldAs::block) {
          store_.insert(one.array, one.number, std::move(block));
        } else {
          const std::size_t count = 2 * program_.arrays[one.array].indices.size();
          store_.add_region(one.array,
                            {{one.bounds.begin(), one.bounds.begin() + static_cast<long>(count)},
                             std::move(block)});
        }
      }};
  for (const HeldBlock& one : held) {
    if (one.array >= program_.arrays.size()) return damaged;
  }
  OB_RETURN_IF_ERROR(read_block_file(setting_.saved->folder() / from.blocks[rank_], receiver));
  store_.set_ending(std::move(ending));
  return fits && got == held.size() ? Status() : damaged;
}

}  // namespace ob::sial
