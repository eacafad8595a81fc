#include "api/outcome.hpp"

#include "api/copy_text.hpp"

namespace ob::api {
namespace {

// Plain memory: a thread that ends runs no code of this library.
thread_local ob_error t_last_error{};

std::int32_t origin_of(Code code) noexcept {
  switch (code) {
    case Code::ok: return OB_FROM_NOBODY;
    case Code::invalid_argument: return OB_FROM_CALLER;
    case Code::deadline_exceeded:
    case Code::version_mismatch:
    case Code::protocol_error:
    case Code::connection_lost:
    case Code::unavailable: return OB_FROM_CONNECTION;
    case Code::denied:
    case Code::fenced: return OB_FROM_DAEMON;
    case Code::build_failed: return OB_FROM_COMPILER;
    case Code::kernel_fault: return OB_FROM_KERNEL;
    default: return OB_FROM_DEVICE;
  }
}

}  // namespace

Outcome::Outcome(Status failed) : status(std::move(failed)), origin(origin_of(status.code())) {}

Outcome mistake(std::string message) {
  return Outcome(Status(Code::invalid_argument, std::move(message)));
}

void describe(const Outcome& outcome, ob_error& error) noexcept {
  error.code = static_cast<ob_status>(outcome.status.code());
  error.origin = outcome.origin;
  error.command = outcome.command;
  copy_text(error.name, outcome.name);
  copy_text(error.message, outcome.status.message());
}

ob_status keep(const Outcome& outcome) noexcept {
  t_last_error.struct_bytes = sizeof t_last_error;
  describe(outcome, t_last_error);
  return t_last_error.code;
}

const ob_error& last_error() noexcept { return t_last_error; }

}  // namespace ob::api
