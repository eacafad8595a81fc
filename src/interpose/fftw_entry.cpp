#include "interpose/fftw_entry.hpp"

#include <pthread.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#include "interpose/call.hpp"

namespace ob::interpose {
namespace {

// Process state of the drop-in library: no constructor, no destructor, so that entries work before
// main and at exit.
constinit FftwPlanTable g_plans;
static_assert(std::is_trivially_destructible_v<FftwPlanTable>);
constinit std::atomic<bool> g_fork_handled{false};

void handle_fork() noexcept {
  if (g_fork_handled.exchange(true, std::memory_order_relaxed)) return;
  pthread_atfork([] { g_plans.lock(); }, [] { g_plans.unlock(); }, [] { g_plans.unlock(); });
}

// Below the gate nothing is decided or counted. The gate is 0 until the configuration has been
// read.
bool below_gate(const FftTransform& transform) noexcept {
  return flops(transform.plan) < g_min_flops.load(std::memory_order_relaxed);
}

bool wants_native_as_asked() noexcept {
  const char* value = std::getenv("OUTBOARD_NATIVE_PLAN");
  return value != nullptr && std::strcmp(value, "as-asked") == 0;
}

// Measuring takes seconds to minutes for sizes worth sending, and overwrites the arrays; ESTIMATE
// does neither. Callers must expect both outcomes, since a measuring planner that finds wisdom
// leaves the arrays alone as well.
unsigned native_flags(unsigned asked, FftDecision decision) noexcept {
  const bool measures = (asked & (kFftwEstimate | kFftwWisdomOnly)) == 0;
  if (decision != FftDecision::remote || !measures || wants_native_as_asked()) return asked;
  return (asked & ~(kFftwPatient | kFftwExhaustive)) | kFftwEstimate;
}

void* make_native(const FftwMaker& maker, unsigned asked, FftDecision decision) noexcept {
  const unsigned flags = native_flags(asked, decision);
  void* plan = maker.call(maker.context, flags);
  // NULL must mean what it means without us.
  return plan == nullptr && flags != asked ? maker.call(maker.context, asked) : plan;
}

void discard(FftwPlan* plan) noexcept {
  forget_plan(plan->remote);
  delete plan;
}

void remember(const void* key, FftwPlan* plan) noexcept {
  handle_fork();
  FftwPlan* replaced = nullptr;
  if (!g_plans.insert(key, plan, replaced)) replaced = plan;  // out of memory: stays native
  if (replaced != nullptr) discard(replaced);
}

// A plan that is none of ours, at an address that may have been.
void* untracked(void* native) noexcept {
  if (FftwPlan* stale = g_plans.erase(native)) discard(stale);
  return native;
}

bool overlap(const std::byte* a, const ByteRange& of_a, const std::byte* b,
             const ByteRange& of_b) noexcept {
  const auto at_a = reinterpret_cast<std::intptr_t>(a);
  const auto at_b = reinterpret_cast<std::intptr_t>(b);
  return at_a + of_a.low < at_b + of_b.high && at_b + of_b.low < at_a + of_a.high;
}

// Arrays that break the rules of new-array execution, or interleave, are the native library's to
// judge.
bool arrays_fit(const FftwOffload& offload, const void* input, const void* output) noexcept {
  if (input == nullptr || output == nullptr) return false;
  if (offload.transform.plan.in_place) return input == output;
  return !overlap(static_cast<const std::byte*>(input), offload.input,
                  static_cast<const std::byte*>(output), offload.output);
}

bool goes_out(const FftwPlan& known, const void* input, const void* output) noexcept {
  if (known.decision == FftDecision::local || !arrays_fit(known.offload, input, output))
    return false;
  return known.decision == FftDecision::remote ||
         decide_fft(known.offload.transform) == FftDecision::remote;
}

template <class Native>
void run(const FftwPlan& known, void* input, void* output, Native&& native) noexcept {
  const FftTransform& transform = known.offload.transform;
  if (goes_out(known, input, output) && execute_fft(transform, known.remote, input, output)) return;
  const LocalFft counted(transform);
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
  const FftDecision decision = decide_fft(offload->transform);
  if (decision == FftDecision::local &&
      below_gate(offload->transform)) {  // the gate has just been read
    return untracked(maker.call(maker.context, asked));
  }
  const FftwProvider* provider = fftw_provider(maker.library, maker.native);
  FftwPlan* plan = nullptr;
  if (provider != nullptr &&
      provider->execute_new[static_cast<std::size_t>(problem.call.kind)] != nullptr) {
    plan = new (std::nothrow)
        FftwPlan{*offload, decision, 0, problem.call.input, problem.call.output, provider};
  }
  if (plan == nullptr) return untracked(maker.call(maker.context, asked));
  if (decision == FftDecision::remote) plan->remote = plan_ahead(plan->offload.transform);
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
  run(known, known.input, known.output, [&] { known.provider->execute(plan); });
}

void execute_fftw_plan(const FftwPlan& known, const void* plan, void* input,
                       void* output) noexcept {
  const auto kind = static_cast<std::size_t>(kind_of(known));
  run(known, input, output, [&] { known.provider->execute_new[kind](plan, input, output); });
}

bool destroy_fftw_plan(void* plan) noexcept {
  // Out of the table first: afterwards the address may be another thread's new plan.
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
