#pragma once
// Checks of what Outboard itself guarantees. A check that fails is a bug of Outboard; input from
// users, files and the wire is always validated instead, and answered with a Status.
//
// Debug builds print the place and the expression and abort. Builds with NDEBUG do not evaluate the
// expression: a check costs nothing there.

namespace ob::detail {

/// Prints "<file>:<line>: <check> failed: <expression>" to stderr and aborts.   Threads: any
[[noreturn]] void contract_failed(const char* check, const char* expression, const char* file,
                                  int line) noexcept;

}  // namespace ob::detail

#ifdef NDEBUG
// The expression stays compiled, so that its names count as used and it cannot rot.
#define OB_CONTRACT(check, text, ...) static_cast<void>(sizeof((__VA_ARGS__) ? 1 : 0))
#else
#define OB_CONTRACT(check, text, ...)   \
  ((__VA_ARGS__) ? static_cast<void>(0) \
                 : ::ob::detail::contract_failed(check, text, __FILE__, __LINE__))
#endif

/// Checks a precondition: the caller breaks the contract if it does not hold. The function's
/// comment has the same expression behind @pre.
#define OB_EXPECT(...) OB_CONTRACT("OB_EXPECT", #__VA_ARGS__, __VA_ARGS__)

/// Checks an assumption inside the function: an invariant, or a result of its own steps.
#define OB_ASSERT(...) OB_CONTRACT("OB_ASSERT", #__VA_ARGS__, __VA_ARGS__)

/// Checks a postcondition: the function breaks its own contract if it does not hold.
#define OB_ENSURE(...) OB_CONTRACT("OB_ENSURE", #__VA_ARGS__, __VA_ARGS__)
