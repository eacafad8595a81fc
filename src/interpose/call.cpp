#include "interpose/call.hpp"

#include <algorithm>

#include "interpose/preserve_errno.hpp"
#include "interpose/process_engine.hpp"
#include "offload/clock.hpp"

namespace ob::interpose {

void Call::decide(const offload::LibraryCall& call) noexcept {
  offload::Engine* const engine = process_engine();
  if (engine == nullptr) return;
  accuracy_ = call.accuracy;
  decision_ = engine->decide(call);
  counted_ = decision_.is_watched;
}

Call::Call(const Descriptor& routine, const Argument* arguments, const void* original) noexcept
    : routine_(routine) {
  if (!nesting_.outermost()) return;
  const PreserveErrno preserve_errno;
  decide({routine, arguments, {}, original, thread_accuracy()});
}

Call::Call(const Descriptor& routine, std::span<const CallArguments> calls,
           const void* original) noexcept
    : routine_(routine) {
  if (!nesting_.outermost()) return;
  const PreserveErrno preserve_errno;
  // Groups of different sizes are rare; the smallest call decides.
  const auto smallest =
      std::min_element(calls.begin(), calls.end(), [&](const auto& a, const auto& b) {
        return routine.flops(a.items) < routine.flops(b.items);
      });
  decide({routine, smallest->items, calls, original, thread_accuracy()});
}

bool Call::run(const offload::LibraryCall& call) noexcept {
  const PreserveErrno preserve_errno;
  offload::Engine* const engine = process_engine();
  return engine != nullptr && engine->run(call, decision_);
}

bool Call::run(const Argument* arguments) noexcept {
  return run({routine_, arguments, {}, nullptr, accuracy_});
}

bool Call::run(std::span<const CallArguments> calls) noexcept {
  return run({routine_, calls.front().items, calls, nullptr, accuracy_});
}

bool Call::run_part(const Argument* part) noexcept {
  const PreserveErrno preserve_errno;
  offload::Engine* const engine = process_engine();
  return engine != nullptr && engine->run_part({routine_, part, {}, nullptr, accuracy_});
}

void Call::shared(bool remotely) noexcept {
  const PreserveErrno preserve_errno;
  offload::Engine* const engine = process_engine();
  if (engine != nullptr && remotely) engine->count_shared(routine_, decision_);
}

void Call::rehearse(const Argument* arguments) noexcept {
  const PreserveErrno preserve_errno;
  offload::Engine* const engine = process_engine();
  if (engine != nullptr) engine->rehearse({routine_, arguments, {}, nullptr, accuracy_}, decision_);
}

void Call::begin_local() noexcept {
  if (counted_) started_ns_ = offload::now_ns();
}

Call::~Call() {
  if (started_ns_ == 0) return;
  const PreserveErrno preserve_errno;
  if (offload::Engine* const engine = process_engine()) {
    engine->count_local(routine_, decision_, started_ns_);
  }
}

}  // namespace ob::interpose
