// Objects that outlive their program.

#include <algorithm>
#include <filesystem>
#include <utility>

#include "sial/job/npy.hpp"
#include "sial/job/read_job.hpp"
#include "sial/persist/durable_file.hpp"
#include "sial/worker/worker.hpp"

namespace ob::sial {
namespace {

bool is_distributed(const Array& array) noexcept {
  return array.storage == Storage::distributed || array.storage == Storage::served;
}

Status check_same_kind(const SavedObject& object, const std::string& label,
                       const std::vector<SavedDimension>& wanted, bool distributed) {
  if (object.dimensions == wanted && object.distributed == distributed) return {};
  return {Code::invalid_argument, "R12 the object that program " + object.program + " saved as \"" +
                                      label + "\" has another kind, shape or segments"};
}

}  // namespace

// Reads the table of saved objects if the program restores one, and checks those that exist.
void Worker::look_at_saved() {
  for (std::uint32_t at = 0; at < code_.size() && failure_.empty(); ++at) {
    if (code_[at].op != Opcode::restore_persistent) continue;
    const std::uint32_t before = std::exchange(at_, at);
    if (!saved_) {
      if (setting_.saved == nullptr) {
        fail("R12 this job has no folder for saved objects");
        return;
      }
      auto table = setting_.saved->read();
      if (!table.ok()) {
        fail(table.status());
        return;
      }
      saved_ = std::move(*table);
    }
    const auto found = saved_->objects.find(program_.strings[code_[at].b]);
    if (found != saved_->objects.end()) check_saved(found->second);
    if (failure_.empty()) at_ = before;
  }
}

// Checks that a saved object fits the one that the instruction names.
bool Worker::check_saved(const SavedObject& object) {
  const Instruction& now = instruction();
  const std::string& label = program_.strings[now.b];
  const Status fits =
      now.x == 1 ? check_fits(object, label, now.a) : check_same_kind(object, label, {}, false);
  if (!fits.ok()) fail(fits);
  return fits.ok();
}

Status Worker::check_fits(const SavedObject& object, const std::string& label,
                          std::uint32_t array) const {
  const Array& record = program_.arrays[array];
  const Layout& layout = setting_.binding->layout;
  return check_same_kind(object, label, saved_dimensions(program_, layout, record),
                         is_distributed(record));
}

Worker::Step Worker::persistence() {
  const Instruction& now = instruction();
  const std::string& label = program_.strings[now.b];
  if (now.op == Opcode::set_persistent) {
    if (!is_folder_name(label)) {
      return fail("R12 \"" + label + "\" cannot name saved data; use letters, digits, _ - and .");
    }
    saving_[label] = {now.x == 1, now.a};
    return Step::next;
  }
  const auto found = saved_->objects.find(label);
  if (found == saved_->objects.end()) {
    return fail("R12 nothing was saved as \"" + label + "\" (by an earlier program of this job)");
  }
  const SavedObject& object = found->second;
  if (!check_saved(object)) return Step::failed;  // blocks_to_list may have replaced it
  if (now.x == 0) {
    scalars_[now.a] = object.value;
    return Step::next;
  }
  const std::filesystem::path& folder = setting_.saved->folder();
  if (!object.distributed) {
    auto array = read_npy(folder / object.files.at(0));
    if (!array.ok()) return fail("R12 " + array.status().message());
    Block& whole = *store_.whole_static(now.a);
    const auto* data = std::get_if<DoubleArray>(&*array);
    if (data == nullptr || static_cast<std::int64_t>(data->data.size()) != whole.elements()) {
      return fail("R12 " + object.files[0] + " has another shape than it was saved with");
    }
    std::copy(data->data.begin(), data->data.end(), whole.data());
    return Step::next;
  }
  fetched_.forget_all(now.a);
  changed_[now.a] = true;
  if (rank_ == 0) send_restore(now.a, object);  // one worker tells the servers
  return Step::next;
}

void Worker::send_restore(std::uint32_t array, const SavedObject& object) {
  for (Rank server = 0; server < setting_.servers; ++server) {
    Message message = message_about_array(MessageKind::restore, array, server);
    for (const std::string& file : object.files) {
      message.text += (setting_.saved->folder() / file).string() + "\n";
    }
    message.words = {server, setting_.servers};
    ++open_requests_;
    exchange_.send(std::move(message));
  }
}

// Saves what the program has set persistent, after its last barrier.
Worker::Step Worker::save() {
  if (rank_ != 0 || (saving_.empty() && setting_.record == nullptr)) return Step::finished;
  if (saving_folder_.empty()) {
    if (const Status begun = begin_save(); !begun.ok()) return fail(begun);
  }
  if (open_requests_ != 0) return Step::wait;
  if (const Status kept = setting_.saved->commit(*saved_); !kept.ok()) return fail(kept);
  return Step::finished;
}

Status Worker::begin_save() {
  if (setting_.saved == nullptr) {
    return {Code::unavailable, "R11 this job has no folder for saved objects"};
  }
  OB_ASSIGN_OR_RETURN(saved_, setting_.saved->read());
  OB_ASSIGN_OR_RETURN(saving_folder_, setting_.saved->new_files());
  for (const auto& [label, what] : saving_) {
    SavedObject object;
    object.program = program_.name;
    if (what.array) {
      OB_RETURN_IF_ERROR(save_array(label, what.number, object));
    } else {
      object.value = scalars_[what.number];
    }
    saved_->objects[label] = std::move(object);
  }
  return setting_.record != nullptr ? save_changed_statics() : Status();
}

// Keeps the predefined statics that the program has changed for the later programs of the run.
Status Worker::save_changed_statics() {
  saved_->run = setting_.record->progress;
  RunProgress& run = *saved_->run;
  run.checkpoint.reset();
  ++run.finished;
  if (run.has_finished()) {
    run.statics.clear();
    return {};
  }
  for (std::uint32_t array = 0; array < program_.arrays.size(); ++array) {
    const Array& record = program_.arrays[array];
    if (record.storage != Storage::static_ || !record.predefined || is_unchanged(array)) continue;
    const Block& whole = *store_.whole_static(array);
    std::vector<double> elements(whole.data(), whole.data() + whole.elements());
    StateWriter file;
    file.put(std::vector<std::int64_t>(whole.shape().extents.begin(),
                                       whole.shape().extents.begin() + whole.shape().rank));
    file.put(elements);
    const std::string name = saving_folder_ + "/static-" + std::to_string(array) + ".state";
    OB_RETURN_IF_ERROR(file.write(setting_.saved->folder() / name).in("R11"));
    std::erase_if(run.statics, [&](const KeptStatic& kept) { return kept.name == record.name; });
    run.statics.push_back({record.name, name});
  }
  return {};
}

Status Worker::save_array(const std::string& label, std::uint32_t array, SavedObject& object) {
  const Array& record = program_.arrays[array];
  object.dimensions = saved_dimensions(program_, setting_.binding->layout, record);
  object.distributed = is_distributed(record);
  const std::string stem = saving_folder_ + "/" + label;
  if (!object.distributed) {
    const Block& whole = *store_.whole_static(array);
    DoubleArray data;
    for (unsigned d = 0; d < whole.shape().rank; ++d)
      data.shape.push_back(whole.shape().extents[d]);
    data.data.assign(whole.data(), whole.data() + whole.elements());
    object.files.push_back(stem + ".npy");
    const std::filesystem::path file = setting_.saved->folder() / object.files[0];
    OB_RETURN_IF_ERROR(write_npy(file, data).in("R11"));
    return synchronize(file).in("R11");
  }
  for (Rank server = 0; server < setting_.servers; ++server) {
    object.files.push_back(stem + "." + std::to_string(server) + ".blocks");
    Message message = message_about_array(MessageKind::save, array, server);
    message.text = (setting_.saved->folder() / object.files.back()).string();
    ++open_requests_;
    exchange_.send(std::move(message));
  }
  return {};
}

}  // namespace ob::sial
