#pragma once
// The handles of outboard/overlap.h, and what all exported functions share.

#include <outboard/overlap.h>

#include <memory>
#include <new>
#include <vector>

#include "base/status.hpp"
#include "overlap/runtime.hpp"

struct ob_overlap_runtime_s {
  std::unique_ptr<ob::overlap::Runtime> runtime;
  std::vector<std::unique_ptr<ob_overlap_plan_s>> plans;
};

struct ob_overlap_plan_s {
  ob_overlap_runtime owner;
  ob::overlap::Plan* plan;
  // One of them is null.
  ob::overlap::MovePlan* moves;
  ob::overlap::PanelPlan* panels;
};

namespace ob::overlap {

/// Keeps the failure for ob_overlap_last_error() and returns its code.
ob_status failed(const Status& status, const Plan* plan = nullptr);
ob_status failed_without_words(ob_status code) noexcept;
ob_status null_handle() noexcept;
/// Returns OB_INVALID_ARGUMENT for a function that plans of this kind do not have.
ob_status wrong_kind(ob_overlap_plan plan) noexcept;

/// Gives the plan its handle.
ob_overlap_plan handle_of(ob_overlap_runtime runtime, MovePlan* moves, PanelPlan* panels);

/// Runs `body`, which returns a Status, and keeps exceptions inside.
template <class Body>
ob_status guarded(const Plan* plan, Body&& body) noexcept {
  try {
    const Status status = body();
    return status.ok() ? OB_OK : failed(status, plan);
  } catch (const std::bad_alloc&) {
    return failed_without_words(OB_OUT_OF_MEMORY);
  } catch (...) {
    return failed_without_words(OB_INTERNAL);
  }
}

/// The same for a function of move and halo plans, which gets the plan.
template <class Body>
ob_status guarded_moves(ob_overlap_plan plan, Body&& body) noexcept {
  if (plan == nullptr) return null_handle();
  if (plan->moves == nullptr) return wrong_kind(plan);
  return guarded(plan->plan, [&]() -> Status { return body(*plan->moves); });
}

/// The same for a function of panel plans.
template <class Body>
ob_status guarded_panels(ob_overlap_plan plan, Body&& body) noexcept {
  if (plan == nullptr) return null_handle();
  if (plan->panels == nullptr) return wrong_kind(plan);
  return guarded(plan->plan, [&]() -> Status { return body(*plan->panels); });
}

}  // namespace ob::overlap
