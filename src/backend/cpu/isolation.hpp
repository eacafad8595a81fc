#pragma once
// The choice which clients share an executor.

namespace ob::cpu {

enum class Isolation {
  none,     ///< no executors: calls run in this process
  user,     ///< one for the sessions of a user; a session without a proven user has its own
  session,  ///< one for each session
};

}  // namespace ob::cpu
