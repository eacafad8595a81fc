#include "standin_cuda.h"

#include <string>

#include "address_space.hpp"
#include "faults.hpp"
#include "report.hpp"
#include "timeline.hpp"

using standin::Faults;
using standin::Report;
using standin::Timeline;

namespace {
thread_local std::string t_text;
}

extern "C" {

unsigned long long standin_cuda_violations() { return Report::instance().violations(); }

const char* standin_cuda_last_violation() {
  t_text = Report::instance().last_violation();
  return t_text.c_str();
}

void standin_cuda_forget_violations() { Report::instance().forget_violations(); }

const char* standin_cuda_living() {
  t_text = Report::instance().living();
  return t_text.c_str();
}

void standin_cuda_fail(const char* rules) { Faults::instance().add(rules); }
void standin_cuda_fail_no_more() { Faults::instance().clear(); }

void standin_cuda_watch(const char* held) { Timeline::instance().watch(held); }
void standin_cuda_release() { Timeline::instance().release(); }
void standin_cuda_release_one(const char* function) { Timeline::instance().release(function); }
unsigned long long standin_cuda_held() { return Timeline::instance().held(); }
unsigned long long standin_cuda_waiting(const char* function) {
  return Timeline::instance().waiting(function);
}
unsigned long long standin_cuda_overlaps(const char* function, const char* other) {
  return Timeline::instance().overlaps(function, other);
}

unsigned long long standin_cuda_calls(const char* function) {
  return Faults::instance().calls(function);
}

void* standin_cuda_backing(const void* device_pointer) {
  const standin::AddressSpace& space = standin::AddressSpace::instance();
  return space.inside(device_pointer) ? space.backing(device_pointer) : nullptr;
}

}  // extern "C"
