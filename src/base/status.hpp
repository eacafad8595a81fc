#pragma once
// Expected failures as values. Nothing in Outboard throws; a function that can fail returns Status
// or Result<T>, and sets its outputs only on success.

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "base/contract.hpp"

namespace ob {

/// Codes of failures, grouped by what they break, from the narrowest to the widest. The values
/// travel on the wire (docs/wire.md).
enum class Code : std::uint8_t {
  ok = 0,
  // this call
  invalid_argument = 1,
  unsupported = 2,
  out_of_memory = 3,
  deadline_exceeded = 4,
  // this session
  denied = 5,
  version_mismatch = 6,
  protocol_error = 7,
  connection_lost = 8,
  // this device
  device_error = 9,
  // this daemon
  unavailable = 10,
  internal = 11,
  // this call, now: it would delay others for too long
  busy = 12,
  // nothing: the results would differ from those of the local library (never travels)
  declined = 13,
  // this module, this queue
  build_failed = 14,  ///< a module of kernels did not compile
  kernel_fault = 15,  ///< a kernel failed while it ran
  // this session: its lease of the pool is over
  fenced = 16,
};

/// Returns the name of a code, e.g. "out of memory".
const char* to_string(Code code) noexcept;

/// The outcome of an operation without a value. Message wording: problem (why) suggestion.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const noexcept { return code_ == Code::ok; }
  Code code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }

  /// Returns the same failure with "context: " in front of its message.
  Status in(const std::string& context) const {
    return ok() ? *this : Status(code_, context + ": " + message_);
  }

 private:
  Code code_ = Code::ok;
  std::string message_;
};

/// A value, or the Status that tells why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  /// @pre !status.ok()
  Result(Status status) : state_(std::in_place_index<1>, checked(std::move(status))) {}

  bool ok() const noexcept { return state_.index() == 0; }
  Status status() const { return ok() ? Status() : std::get<1>(state_); }

  /// @pre ok()
  T& value() & {
    OB_EXPECT(ok());
    return std::get<0>(state_);
  }
  const T& value() const& {
    OB_EXPECT(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    OB_EXPECT(ok());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  static Status checked(Status status) noexcept {
    OB_EXPECT(!status.ok());
    return status;
  }
  std::variant<T, Status> state_;
};

}  // namespace ob

/// Returns the failure of `expression` (a Status) to the caller.
#define OB_RETURN_IF_ERROR(expression)                                            \
  do {                                                                            \
    if (::ob::Status ob_status = (expression); !ob_status.ok()) return ob_status; \
  } while (false)

#define OB_CONCAT_INNER(a, b) a##b
#define OB_CONCAT(a, b) OB_CONCAT_INNER(a, b)

/// Declares `target` from the value of `expression` (a Result), or returns its failure.
#define OB_ASSIGN_OR_RETURN(target, expression) \
  OB_ASSIGN_OR_RETURN_IMPL(OB_CONCAT(ob_result_, __LINE__), target, expression)
// A declaration and a name cannot be written in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define OB_ASSIGN_OR_RETURN_IMPL(result, target, expression) \
  auto result = (expression);                                \
  if (!result.ok()) return result.status();                  \
  target = std::move(result).value()
// NOLINTEND(bugprone-macro-parentheses)
