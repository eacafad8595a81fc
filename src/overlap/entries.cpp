// The exported functions of outboard/overlap.h, without those of panel plans.
#include <algorithm>
#include <cstring>

#include "overlap/agreement.hpp"
#include "overlap/arguments.hpp"
#include "overlap/explain.hpp"
#include "overlap/handles.hpp"

namespace {

using namespace ob::overlap;
using ob::Code;
using ob::Result;
using ob::Status;

// Tags of messages within a rank; those of users are below.
constexpr int kFirstOwnTag = 16384;

thread_local ob_overlap_error last_error{};

template <std::size_t size>
void copy_text(char (&to)[size], const std::string& text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

}  // namespace

namespace ob::overlap {

ob_status failed(const Status& status, const Plan* plan) {
  last_error = {};
  last_error.code = ob_status(status.code());
  last_error.rank = plan ? plan->world_rank() : -1;
  last_error.neighbour = plan ? plan->failed_neighbour() : -1;
  copy_text(last_error.plan, plan ? plan->name() : "");
  copy_text(last_error.message, plan ? plan->name() + ": " + status.message() : status.message());
  return last_error.code;
}

ob_status failed_without_words(ob_status code) noexcept {
  last_error = {};
  return last_error.code = code;
}

ob_status null_handle() noexcept {
  return guarded(nullptr, [] { return Status(Code::invalid_argument, "a handle is NULL"); });
}

ob_status wrong_kind(ob_overlap_plan plan) noexcept {
  return guarded(plan->plan, [&] {
    return Status(Code::invalid_argument, plan->panels != nullptr
                                              ? "a plan of panels does not have this function, use "
                                                "ob_overlap_panel_start and ob_overlap_panel_wait"
                                              : "the function is for plans of panels");
  });
}

ob_overlap_plan handle_of(ob_overlap_runtime runtime, MovePlan* moves, PanelPlan* panels) {
  Plan* const plan = moves != nullptr ? static_cast<Plan*>(moves) : panels;
  runtime->plans.push_back(
      std::unique_ptr<ob_overlap_plan_s>(new ob_overlap_plan_s{runtime, plan, moves, panels}));
  return runtime->plans.back().get();
}

}  // namespace ob::overlap

namespace {

Status describe(const ob_overlap_field* field, const ob_overlap_box* box, Message& message) {
  OB_ASSIGN_OR_RETURN(const FieldView view, field_from(field));
  OB_ASSIGN_OR_RETURN(message.box, box_from(box, view));
  message.regions.emplace_back(view, message.box);
  message.name = to_string(message.box, view.dims);
  return {};
}

/// Adds a message to a plan that is not committed. The plan keeps a failure for its commit.
Status add(MovePlan& plan, bool sends, const ob_overlap_field* field, const ob_overlap_box* box,
           int peer, int tag) {
  if (plan.committed()) return Status(Code::invalid_argument, "the plan is committed already");
  Message message;
  message.sends = sends;
  message.peer = peer;
  message.tag = tag;
  const Status status = describe(field, box, message);
  if (status.ok()) plan.described().push_back(std::move(message));
  return plan.keep(status);
}

Status add_tagged(MovePlan& plan, bool sends, const ob_overlap_field* field,
                  const ob_overlap_box* box, int peer, int tag) {
  if (tag >= 0 && tag < kFirstOwnTag) return add(plan, sends, field, box, peer, tag);
  return plan.keep(
      Status(Code::invalid_argument, "tag " + std::to_string(tag) + " is not in 0 to 16383"));
}

}  // namespace

extern "C" {

ob_status ob_overlap_last_error(ob_overlap_error* error) {
  if (error == nullptr || error->struct_bytes != sizeof *error) return OB_INVALID_ARGUMENT;
  *error = last_error;
  error->struct_bytes = sizeof *error;
  return OB_OK;
}

ob_status ob_overlap_mode_named(const char* name, int32_t* mode) {
  if (name == nullptr || mode == nullptr) return null_handle();
  return guarded(nullptr, [&]() -> Status {
    OB_ASSIGN_OR_RETURN(const Mode found, mode_named(name));
    *mode = int32_t(found);
    return {};
  });
}

const char* ob_overlap_mode_name(int32_t mode) {
  return mode >= 0 && mode < kModes ? to_string(Mode(mode)) : nullptr;
}

ob_status ob_overlap_attach(MPI_Comm comm, const ob_overlap_options* options,
                            ob_overlap_runtime* runtime) {
  if (runtime == nullptr) return null_handle();
  return guarded(nullptr, [&]() -> Status {
    OB_ASSIGN_OR_RETURN(auto made, Runtime::attach(comm, options_from(options)));
    *runtime = new ob_overlap_runtime_s{std::move(made), {}};
    return {};
  });
}

ob_status ob_overlap_detach(ob_overlap_runtime runtime) {
  if (runtime == nullptr) return null_handle();
  return guarded(nullptr, [&]() -> Status {
    delete runtime;
    return {};
  });
}

ob_status ob_overlap_halo(ob_overlap_runtime runtime, MPI_Comm cart,
                          const ob_overlap_halo_options* options, ob_overlap_plan* plan) {
  if (runtime == nullptr || plan == nullptr) return null_handle();
  return guarded(nullptr, [&]() -> Status {
    const char* name = options && options->name ? options->name : "halo";
    OB_ASSIGN_OR_RETURN(MovePlan* const made, runtime->runtime->create_moves(name, cart));
    const Result<HaloDescription> halo = halo_from(options);
    Status own = halo.status();
    if (own.ok())
      own = describe_halo(*made, cart, halo->shape, halo->stencil, halo->fields,
                          halo->mask ? &*halo->mask : nullptr);
    if (Status all = agree(made->comm().get(), {}, own); !all.ok()) {
      (void)runtime->runtime->destroy_plan(made);
      return all;
    }
    *plan = handle_of(runtime, made, nullptr);
    return {};
  });
}

ob_status ob_overlap_moves(ob_overlap_runtime runtime, MPI_Comm comm, const char* name,
                           ob_overlap_plan* plan) {
  if (runtime == nullptr || plan == nullptr) return null_handle();
  return guarded(nullptr, [&]() -> Status {
    OB_ASSIGN_OR_RETURN(MovePlan* const made,
                        runtime->runtime->create_moves(name ? name : "moves", comm));
    *plan = handle_of(runtime, made, nullptr);
    return {};
  });
}

ob_status ob_overlap_send(ob_overlap_plan plan, const ob_overlap_field* field,
                          const ob_overlap_box* box, int32_t to, int32_t tag) {
  return guarded_moves(
      plan, [&](MovePlan& moves) { return add_tagged(moves, true, field, box, to, tag); });
}

ob_status ob_overlap_receive(ob_overlap_plan plan, const ob_overlap_field* field,
                             const ob_overlap_box* box, int32_t from, int32_t tag) {
  return guarded_moves(
      plan, [&](MovePlan& moves) { return add_tagged(moves, false, field, box, from, tag); });
}

ob_status ob_overlap_move(ob_overlap_plan plan, const ob_overlap_field* from,
                          const ob_overlap_box* from_box, const ob_overlap_field* to,
                          const ob_overlap_box* to_box) {
  return guarded_moves(plan, [&](MovePlan& moves) -> Status {
    const int self = moves.comm().rank();
    const int tag = kFirstOwnTag + int(moves.described().size());
    const Status sends = add(moves, true, from, from_box, self, tag);
    return sends.ok() ? add(moves, false, to, to_box, self, tag) : sends;
  });
}

ob_status ob_overlap_commit(ob_overlap_plan plan) {
  if (plan == nullptr) return null_handle();
  return guarded(plan->plan, [&] { return plan->owner->runtime->commit(*plan->plan); });
}

ob_status ob_overlap_plan_destroy(ob_overlap_plan plan) {
  if (plan == nullptr) return null_handle();
  return guarded(nullptr, [&]() -> Status {
    auto& plans = plan->owner->plans;
    const Status ended = plan->owner->runtime->destroy_plan(plan->plan);
    if (ended.code() == Code::deadline_exceeded) return ended;  // the plan lives on
    plans.erase(std::find_if(plans.begin(), plans.end(),
                             [&](const auto& owned) { return owned.get() == plan; }));
    return ended;
  });
}

ob_status ob_overlap_interior(ob_overlap_plan plan, ob_overlap_box* interior) {
  if (plan == nullptr || interior == nullptr) return null_handle();
  if (plan->moves == nullptr || !plan->moves->cells)
    return failed(Status(Code::unsupported, "interior is for halo plans"), plan->plan);
  *interior = box_to(plan->moves->cells->interior);
  return OB_OK;
}

ob_status ob_overlap_boundary(ob_overlap_plan plan, ob_overlap_box boundary[8], int32_t* count) {
  if (plan == nullptr || boundary == nullptr || count == nullptr) return null_handle();
  if (plan->moves == nullptr || !plan->moves->cells)
    return failed(Status(Code::unsupported, "boundary is for halo plans"), plan->plan);
  const std::vector<Box>& boxes = plan->moves->cells->boundary;
  std::transform(boxes.begin(), boxes.end(), boundary, box_to);
  *count = int32_t(boxes.size());
  return OB_OK;
}

ob_status ob_overlap_start(ob_overlap_plan plan, uint32_t flags) {
  return guarded_moves(plan, [&](MovePlan& moves) -> Status {
    if ((flags & ~uint32_t{OB_OVERLAP_HOLD}) != 0)
      return Status(Code::invalid_argument, "unknown flags of start");
    return plan->owner->runtime->start(moves, (flags & OB_OVERLAP_HOLD) != 0);
  });
}

ob_status ob_overlap_ready(ob_overlap_plan plan, const ob_overlap_box* box) {
  if (box == nullptr) return null_handle();
  return guarded_moves(
      plan, [&](MovePlan& moves) { return plan->owner->runtime->ready(moves, box_from(*box)); });
}

ob_status ob_overlap_tick(ob_overlap_runtime runtime) {
  if (runtime == nullptr) return null_handle();
  return guarded(nullptr, [&] { return runtime->runtime->tick(); });
}

int32_t ob_overlap_ticks(ob_overlap_plan plan) {
  return plan != nullptr && Runtime::ticks(*plan->plan) ? 1 : 0;
}

ob_status ob_overlap_wait(ob_overlap_plan plan) {
  return guarded_moves(plan, [&](MovePlan& moves) { return plan->owner->runtime->wait(moves); });
}

ob_status ob_overlap_explain(ob_overlap_runtime runtime, char* text, size_t capacity,
                             size_t* needed) {
  if (runtime == nullptr) return null_handle();
  return guarded(nullptr, [&]() -> Status {
    const std::string lines = explain(*runtime->runtime);
    if (needed != nullptr) *needed = lines.size() + 1;
    if (text == nullptr || capacity == 0) return {};
    const std::size_t length = std::min(lines.size(), capacity - 1);
    std::memcpy(text, lines.data(), length);
    text[length] = '\0';
    return {};
  });
}

}  // extern "C"
