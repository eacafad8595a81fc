#include "base/status.hpp"

namespace ob {

const char* to_string(Code code) noexcept {
  switch (code) {
    case Code::ok: return "ok";
    case Code::invalid_argument: return "invalid argument";
    case Code::unsupported: return "unsupported";
    case Code::out_of_memory: return "out of memory";
    case Code::deadline_exceeded: return "deadline exceeded";
    case Code::denied: return "denied";
    case Code::version_mismatch: return "version mismatch";
    case Code::protocol_error: return "protocol error";
    case Code::connection_lost: return "connection lost";
    case Code::device_error: return "device error";
    case Code::unavailable: return "unavailable";
    case Code::internal: return "internal error";
    case Code::busy: return "busy";
    case Code::declined: return "declined";
    case Code::build_failed: return "build failed";
    case Code::kernel_fault: return "kernel fault";
    case Code::fenced: return "fenced";
  }
  return "unknown code";
}

}  // namespace ob
