#include "interpose/fft_offload.hpp"

#include "interpose/nesting.hpp"
#include "interpose/preserve_errno.hpp"
#include "interpose/process_engine.hpp"
#include "offload/clock.hpp"

namespace ob::interpose {

FftDecision decide_fft(const FftTransform& transform, FftMoment moment,
                       const void* original) noexcept {
  const PreserveErrno preserve_errno;
  offload::Engine* const engine = process_engine();
  if (engine == nullptr) return FftDecision::local;
  return engine->decide_fft({transform, original, thread_accuracy()}, moment);
}

void plan_ahead(const FftTransform& transform) noexcept {
  const PreserveErrno preserve_errno;
  if (offload::Engine* const engine = process_engine()) (void)engine->plan_fft(transform);
}

bool execute_fft(const FftTransform& transform, void* input, void* output) noexcept {
  const PreserveErrno preserve_errno;
  offload::Engine* const engine = process_engine();
  if (engine == nullptr) return false;
  const Nesting nesting;
  return engine->run_fft({transform, nullptr, thread_accuracy()}, {input, output});
}

void rehearse_fft(const FftTransform& transform, void* input, void* output) noexcept {
  const PreserveErrno preserve_errno;
  offload::Engine* const engine = process_engine();
  if (engine == nullptr) return;
  const Nesting nesting;
  engine->rehearse_fft({transform, nullptr, thread_accuracy()}, {input, output});
}

LocalFft::LocalFft(const FftTransform& transform, const void* original) noexcept
    : transform_(transform) {
  const PreserveErrno preserve_errno;
  offload::Engine* const engine = process_engine();
  if (engine == nullptr) return;
  counted_ = true;
  engine->begin_local_fft({transform, original, {}});
  started_ns_ = offload::now_ns();
}

LocalFft::~LocalFft() {
  if (!counted_) return;
  const PreserveErrno preserve_errno;
  if (offload::Engine* const engine = process_engine()) {
    engine->count_local_fft(transform_, started_ns_);
  }
}

}  // namespace ob::interpose
