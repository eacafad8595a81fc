#include "interpose/fftw_entry.hpp"

#include <pthread.h>

#include <cstdlib>
#include <new>
#include <type_traits>

#include "interpose/gate.hpp"
#include "interpose/setting_table.hpp"

namespace ob::interpose {
namespace {

// Process state of the drop-in library. It has no constructor and no destructor, so entries work
// before main() and at exit.
constinit FftwPlanTable g_plans;
static_assert(std::is_trivially_destructible_v<FftwPlanTable>);
constinit pthread_once_t g_fork_of_plans_handled = PTHREAD_ONCE_INIT;

// Every caller waits until the handlers are registered, not only the one that registers them.
void handle_fork_of_plans() noexcept {
  (void)pthread_once(&g_fork_of_plans_handled, [] {
    (void)pthread_atfork([] { g_plans.lock(); }, [] { g_plans.unlock(); },
                         [] { g_plans.unlock(); });
  });
}

// Below the gate nothing is decided or counted. The gate is 0 until the configuration has been
// read.
bool below_gate(const FftTransform& transform) noexcept {
  return flops(transform.plan) < g_min_flops.load(std::memory_order_relaxed);
}

bool wants_native_as_asked() noexcept {
  static_assert(setting_table::kNativePlanChoices[1] == "as-asked");
  const char* value = std::getenv(setting_table::kNativePlan.variable);
  return value != nullptr && value == setting_table::kNativePlanChoices[1];
}

bool goes_out(FftDecision decision) noexcept {
  return decision == FftDecision::remote || decision == FftDecision::likely;
}

// Measuring takes seconds to minutes for sizes that are worth sending, and overwrites the arrays.
// ESTIMATE does neither. Callers must expect both outcomes, because a measuring planner that finds
// wisdom does not overwrite the arrays either.
unsigned native_flags(unsigned asked, FftDecision decision) noexcept {
  const bool measures = (asked & (kFftwEstimate | kFftwWisdomOnly)) == 0;
  if (!goes_out(decision) || !measures || wants_native_as_asked()) return asked;
  return (asked & ~(kFftwPatient | kFftwExhaustive)) | kFftwEstimate;
}

void* make_native(const FftwMaker& maker, unsigned asked, FftDecision decision) noexcept {
  const unsigned flags = native_flags(asked, decision);
  void* plan = maker.call(maker.context, flags);
  // NULL must have the same meaning as without this library.
  return plan == nullptr && flags != asked ? maker.call(maker.context, asked) : plan;
}

void discard(FftwPlan* plan) noexcept { delete plan; }

void remember(const void* key, FftwPlan* plan) noexcept {
  handle_fork_of_plans();
  FftwPlan* replaced = nullptr;
  if (!g_plans.insert(key, plan, replaced)) replaced = plan;  // out of memory: stays native
  if (replaced != nullptr) discard(replaced);
}

// Returns a native plan that is not tracked. Its address may be that of an earlier plan in the
// table, which is removed.
void* untracked(void* native) noexcept {
  if (FftwPlan* stale = g_plans.erase(native)) discard(stale);
  return native;
}

// True if the plan needs no entry in the table: it is local for its whole life, and nobody counts
// its executes. The gate is 0 if calls are counted.
bool is_settled(FftDecision decision, const FftTransform& transform) noexcept {
  return decision == FftDecision::local &&
         (below_gate(transform) || g_min_flops.load(std::memory_order_relaxed) > 0);
}

bool can_execute(const FftwProvider& provider, const FftwCall& call) noexcept {
  if (!call.split) return provider.execute_new[static_cast<std::size_t>(call.kind)] != nullptr;
  switch (call.kind) {
    case FftKind::c2c: return provider.execute_split != nullptr;
    case FftKind::r2c: return provider.execute_split_r2c != nullptr;
    case FftKind::c2r: return provider.execute_split_c2r != nullptr;
    case FftKind::r2r: break;
  }
  return false;
}

// Runs new-array execution in the copy that made the plan.
void execute_natively(const FftwPlan& known, const void* plan, const FftwArrays& a) noexcept {
  const FftwProvider& provider = *known.provider;
  const FftKind kind = known.offload.transform.plan.kind;
  if (!known.offload.split) {
    provider.execute_new[static_cast<std::size_t>(kind)](plan, a.input, a.output);
  } else if (kind == FftKind::c2c) {
    provider.execute_split(plan, a.input, a.input_imaginary, a.output, a.output_imaginary);
  } else if (kind == FftKind::r2c) {
    provider.execute_split_r2c(plan, a.input, a.output, a.output_imaginary);
  } else {
    provider.execute_split_c2r(plan, a.input, a.input_imaginary, a.output);
  }
}

const void* original_of(const FftwPlan& known) noexcept {
  return reinterpret_cast<const void*>(known.provider->execute);
}

bool execute_remotely(const FftwPlan& known, const FftwArrays& arrays) noexcept {
  if (known.decision == FftDecision::local) return false;
  FftTransform transform;
  if (!place(known.offload, arrays, transform)) return false;
  if (known.decision != FftDecision::remote) {
    const FftDecision now = decide_fft(transform, FftMoment::execute, original_of(known));
    if (now == FftDecision::trial) rehearse_fft(transform, arrays.input, arrays.output);
    if (!goes_out(now)) return false;
  }
  return execute_fft(transform, arrays.input, arrays.output);
}

template <class Native>
void run(const FftwPlan& known, const FftwArrays& arrays, Native&& native) noexcept {
  if (execute_remotely(known, arrays)) return;
  const LocalFft counted(known.offload.transform, original_of(known));
  native();
}

}  // namespace

void* make_fftw_plan(const FftwProblem& problem, const FftwMaker& maker) noexcept {
  const unsigned asked = problem.call.flags;
  const std::optional<FftwOffload> offload = to_offload(problem);
  if (!offload || below_gate(offload->transform))
    return untracked(maker.call(maker.context, asked));
  if (is_same_object(maker.caller, maker.native))
    return untracked(maker.call(maker.context, asked));
  const FftDecision decision = decide_fft(offload->transform, FftMoment::plan, maker.native);
  if (is_settled(decision, offload->transform)) {
    return untracked(maker.call(maker.context, asked));
  }
  const FftwProvider* provider = fftw_provider(maker.library, maker.native);
  FftwPlan* plan = nullptr;
  if (provider != nullptr && can_execute(*provider, problem.call)) {
    plan = new (std::nothrow) FftwPlan{*offload, decision, problem.call.arrays, provider};
  }
  if (plan == nullptr) return untracked(maker.call(maker.context, asked));
  if (goes_out(decision)) plan_ahead(plan->offload.transform);
  void* native = make_native(maker, asked, decision);
  if (native == nullptr) {
    discard(plan);
  } else {
    remember(native, plan);
  }
  return native;
}

FftwPlan* find_fftw_plan(const void* plan) noexcept { return g_plans.find(plan); }

void execute_fftw_plan(const FftwPlan& known, const void* plan) noexcept {
  run(known, known.arrays, [&] { known.provider->execute(plan); });
}

void execute_fftw_plan(const FftwPlan& known, const void* plan, const FftwArrays& arrays) noexcept {
  run(known, arrays, [&] { execute_natively(known, plan, arrays); });
}

bool destroy_fftw_plan(void* plan) noexcept {
  // The plan leaves the table first. Once it is destroyed, another thread's new plan may have the
  // same address.
  FftwPlan* known = g_plans.erase(plan);
  if (known == nullptr) return false;
  const FftwProvider* provider = known->provider;
  discard(known);
  provider->destroy(plan);
  return true;
}

void forget_fftw_plans(const FftwLibrary& library, const void* native_cleanup) noexcept {
  const FftwProvider* provider = fftw_provider(library, native_cleanup);
  if (provider != nullptr) g_plans.erase_all(provider, discard);
}

}  // namespace ob::interpose
