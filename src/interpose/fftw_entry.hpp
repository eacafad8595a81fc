#pragma once
// The work of the emitted FFTW entry points. The native library always makes the plan and its
// pointer is the handle, so every function that has no entry here (printing, wisdom, cost, threads)
// keeps working on it.

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

/// Makes the plan natively, and lets the accelerator plan too if the plan is going out. NULL
/// exactly if the native library says NULL. A plan that is going out and asks for measuring is made
/// natively with FFTW_ESTIMATE, unless OUTBOARD_NATIVE_PLAN=as-asked: the native plan is then only
/// the fallback.
/// Threads: as the native planner
void* make_fftw_plan(const FftwProblem& problem, const FftwMaker& maker) noexcept;

/// The same for a callable `void*(unsigned flags)`.
template <class Native>
void* make_fftw_plan(const FftwProblem& problem, const FftwLibrary& library,
                     const void* native_address, const void* caller, Native&& native) noexcept {
  using Callable = std::remove_reference_t<Native>;
  const auto call = [](void* context, unsigned flags) -> void* {
    return (*static_cast<Callable*>(context))(flags);
  };
  return make_fftw_plan(problem, FftwMaker{library, native_address, caller, &native, call});
}

/// The function that a call returning to `caller` would have reached without us.
template <class Function>
Function native_function(Symbol& symbol, const void* caller) noexcept {
  return reinterpret_cast<Function>(original(symbol, caller));
}

/// A function's address as data.
template <class Result, class... Arguments>
const void* address(Result (*function)(Arguments...)) noexcept {
  return reinterpret_cast<const void*>(function);
}

/// True if new-array execution of that kind is the plan's own.
inline bool has_form(const FftwPlan& known, FftKind kind, bool split) noexcept {
  return known.offload.transform.plan.kind == kind && known.offload.split == split;
}

/// nullptr: not ours, call the native function of the caller's scope.   Cost: a few ns
FftwPlan* find_fftw_plan(const void* plan) noexcept;

/// Executes a plan that find_fftw_plan knows, on its own arrays.
void execute_fftw_plan(const FftwPlan& known, const void* plan) noexcept;

/// Executes it on the arrays of the call.   @pre has_form says so for the entry
void execute_fftw_plan(const FftwPlan& known, const void* plan, const FftwArrays& arrays) noexcept;

/// Forgets and destroys a plan; false (and nothing done) if it is unknown or NULL.
bool destroy_fftw_plan(void* plan) noexcept;

/// Forgets all plans of the copy that holds `native_cleanup`; the caller then calls that.
void forget_fftw_plans(const FftwLibrary& library, const void* native_cleanup) noexcept;

}  // namespace ob::interpose
