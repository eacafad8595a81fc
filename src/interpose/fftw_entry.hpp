#pragma once
// The work of the emitted FFTW entry points. The native library always makes the plan, and the plan
// pointer is the handle. So every function without an entry here (printing, wisdom, cost, threads)
// still works with the plan.

#include <type_traits>

#include "interpose/fftw_provider.hpp"
#include "interpose/original.hpp"

namespace ob::interpose {

/// The native call of one maker, with the flags still open.
struct FftwMaker {
  FftwLibrary library;
  const void* native;  ///< its address
  const void* caller;  ///< return address of the entry
  void* context;
  void* (*call)(void* context, unsigned flags);
};

/// Makes the plan natively, and lets the accelerator plan too if the plan is going to be remote.
/// The result is NULL exactly if the native library returns NULL. If a plan is going to be remote
/// and asks for measuring, it is made natively with FFTW_ESTIMATE, because the native plan is then
/// only the fallback. OUTBOARD_NATIVE_PLAN=as-asked turns this off.
/// Threads: as the native planner
void* make_fftw_plan(const FftwProblem& problem, const FftwMaker& maker) noexcept;

/// Does the same for a callable `void*(unsigned flags)`.
template <class Native>
void* make_fftw_plan(const FftwProblem& problem, const FftwLibrary& library,
                     const void* native_address, const void* caller, Native&& native) noexcept {
  using Callable = std::remove_reference_t<Native>;
  const auto call = [](void* context, unsigned flags) -> void* {
    return (*static_cast<Callable*>(context))(flags);
  };
  return make_fftw_plan(problem, FftwMaker{library, native_address, caller, &native, call});
}

/// The function that a call returning to `caller` would reach without this library.
template <class Function>
Function native_function(Symbol& symbol, const void* caller) noexcept {
  return reinterpret_cast<Function>(original(symbol, caller));
}

/// The address of a function as a data pointer.
template <class Result, class... Arguments>
const void* address(Result (*function)(Arguments...)) noexcept {
  return reinterpret_cast<const void*>(function);
}

/// True if the plan has this kind of new-array execution.
inline bool has_form(const FftwPlan& known, FftKind kind, bool split) noexcept {
  return known.offload.transform.plan.kind == kind && known.offload.split == split;
}

/// Finds a plan that may leave the machine. nullptr: the plan is not in the table, so the entry
/// calls the native function of the caller's scope.   Cost: a few ns
FftwPlan* find_fftw_plan(const void* plan) noexcept;

/// Executes a plan that find_fftw_plan knows, on its own arrays.
void execute_fftw_plan(const FftwPlan& known, const void* plan) noexcept;

/// Executes the plan on the arrays of the call.   @pre has_form() is true for the entry
void execute_fftw_plan(const FftwPlan& known, const void* plan, const FftwArrays& arrays) noexcept;

/// Forgets and destroys a plan. False if the plan is unknown or NULL; then nothing is done.
bool destroy_fftw_plan(void* plan) noexcept;

/// Forgets all plans of the copy that holds `native_cleanup`. The caller calls that function next.
void forget_fftw_plans(const FftwLibrary& library, const void* native_cleanup) noexcept;

}  // namespace ob::interpose
