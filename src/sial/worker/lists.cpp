// blocks_to_list and list_to_blocks: all blocks of a distributed array are saved, or loaded, at
// once. All workers meet before, so that the servers have everything that was put, and after, so
// that nobody changes a block that is not written yet.

#include <algorithm>
#include <utility>

#include "sial/worker/worker.hpp"

namespace ob::sial {

Worker::Step Worker::list_statement(WorkerTask task) {
  if (arguments_.size() != 1 || arguments_[0].kind != ArgumentKind::array) {
    return fail("R08 this super-instruction takes a distributed or served array as a whole");
  }
  // The compiler refuses this; byte code may come from elsewhere.
  const auto is_pardo = [this](const ActiveLoop& one) {
    return program_.loops[one.loop].kind == LoopKind::pardo;
  };
  if (std::ranges::any_of(loops_, is_pardo)) {
    return fail(
        "R08 this super-instruction stands in a pardo, and all workers have to execute it "
        "together; move it behind the pardo");
  }
  const std::uint32_t array = arguments_[0].array;
  if (list_stage_ == ListStage::before) {
    if (!contributed_ && (open_requests_ != 0 || open_fetches_ != 0)) return Step::wait;
    if (const Step met = collective(Contribution::meeting, {}); met != Step::next) return met;
    result_.reset();
    // One worker tells the servers.
    if (rank_ == 0) {
      const Status begun = task == WorkerTask::save_array ? begin_list(array) : load_list(array);
      if (!begun.ok()) return fail(begun);
    }
    list_stage_ = ListStage::under_way;
  }
  if (list_stage_ == ListStage::under_way) {
    if (open_requests_ != 0) return Step::wait;
    if (rank_ == 0 && task == WorkerTask::save_array) {
      if (const Status kept = end_list(array); !kept.ok()) return fail(kept);
    }
    list_stage_ = ListStage::after;
  }
  if (const Step met = collective(Contribution::meeting, {}); met != Step::next) return met;
  result_.reset();
  list_stage_ = ListStage::before;
  arguments_.clear();
  if (task == WorkerTask::restore_array) {
    fetched_.forget_all(array);
    changed_[array] = true;
  } else if (saved_) {
    // A restore_persistent that follows must not look for files that are replaced.
    auto table = setting_.saved->read();
    if (!table.ok()) return fail(table.status());
    saved_ = std::move(*table);
  }
  return Step::next;
}

Status Worker::begin_list(std::uint32_t array) {
  if (setting_.saved == nullptr) {
    return {Code::unavailable, "R11 this job has no folder for saved objects"};
  }
  OB_ASSIGN_OR_RETURN(saving_folder_, setting_.saved->new_files());
  listed_ = SavedObject();
  listed_.program = program_.name;
  return save_array(program_.arrays[array].name, array, listed_);
}

Status Worker::end_list(std::uint32_t array) {
  saving_folder_.clear();
  OB_ASSIGN_OR_RETURN(SavedTable table, setting_.saved->read());
  table.objects[program_.arrays[array].name] = std::move(listed_);
  return setting_.saved->commit(table);
}

Status Worker::load_list(std::uint32_t array) {
  const std::string& label = program_.arrays[array].name;
  SavedTable table;
  if (setting_.saved != nullptr) {
    OB_ASSIGN_OR_RETURN(table, setting_.saved->read());
  }
  const auto found = table.objects.find(label);
  if (found == table.objects.end()) {
    return {Code::invalid_argument, "R12 nothing was saved as \"" + label +
                                        "\" (by blocks_to_list or set_persistent of this job)"};
  }
  OB_RETURN_IF_ERROR(check_fits(found->second, label, array));
  send_restore(array, found->second);
  return {};
}

}  // namespace ob::sial
