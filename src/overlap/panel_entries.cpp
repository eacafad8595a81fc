// The exported functions of outboard/overlap.h for panel plans.
#include "overlap/agreement.hpp"
#include "overlap/arguments.hpp"
#include "overlap/handles.hpp"

using namespace ob::overlap;
using ob::Result;
using ob::Status;

extern "C" {

ob_status ob_overlap_panels(ob_overlap_runtime runtime, MPI_Comm group,
                            const ob_overlap_panel_options* options, ob_overlap_plan* plan) {
  if (runtime == nullptr || plan == nullptr) return null_handle();
  return guarded(nullptr, [&]() -> Status {
    const Result<PanelOptions> own = panels_from(options);
    const char* name = own.ok() && options && options->name ? options->name : "panels";
    OB_ASSIGN_OR_RETURN(PanelPlan* const made, runtime->runtime->create_panels(
                                                   name, group, own.ok() ? *own : PanelOptions()));
    if (Status all = agree(made->comm().get(), {}, own.status()); !all.ok()) {
      (void)runtime->runtime->destroy_plan(made);
      return all;
    }
    *plan = handle_of(runtime, nullptr, made);
    return {};
  });
}

ob_status ob_overlap_panel(ob_overlap_plan plan, int32_t owner, const ob_overlap_field* panel) {
  return guarded_panels(plan, [&](PanelPlan& panels) -> Status {
    const Result<FieldView> view = panel_from(panel);
    return view.ok() ? panels.add(owner, *view) : panels.keep(view.status());
  });
}

ob_status ob_overlap_panel_start(ob_overlap_plan plan, int64_t panel) {
  return guarded_panels(
      plan, [&](PanelPlan& panels) { return plan->owner->runtime->start(panels, panel); });
}

ob_status ob_overlap_panel_wait(ob_overlap_plan plan, int64_t panel) {
  return guarded_panels(
      plan, [&](PanelPlan& panels) { return plan->owner->runtime->wait(panels, panel); });
}

ob_status ob_overlap_panel_data(ob_overlap_plan plan, int64_t panel, const void** data) {
  if (data == nullptr) return null_handle();
  return guarded_panels(plan, [&](PanelPlan& panels) -> Status {
    OB_ASSIGN_OR_RETURN(const std::byte* const first, panels.data(panel));
    *data = first;
    return {};
  });
}

}  // extern "C"
