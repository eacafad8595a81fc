#include "client/connect_failure.hpp"

namespace ob::client {
namespace {

// The part of a message before its parentheses: "problem (why) suggestion".
std::string problem_of(const std::string& message) { return message.substr(0, message.find(" (")); }

// The part in parentheses.
std::string reason_of(const std::string& message) {
  const std::size_t begin = message.find(" (");
  const std::size_t end = message.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return message;
  return message.substr(begin + 2, end - begin - 2);
}

}  // namespace

Status connect_failure(const std::string& address, const Status& status) {
  const std::string& message = status.message();
  switch (status.code()) {
    case Code::deadline_exceeded:
      return {status.code(), address +
                                 " does not answer; check that the address is a daemon's, and that "
                                 "the daemon is not stopped or overloaded"};
    case Code::connection_lost:
      if (!message.starts_with("lost the connection to")) return status;
      return {status.code(), address + " ended the connection before it answered (" +
                                 reason_of(message) +
                                 "); check that the address is a daemon's, and see its log"};
    case Code::protocol_error: {
      const bool is_said = message.find("does not speak") != std::string::npos;
      return {status.code(), address + " does not speak Outboard's protocol (" +
                                 (is_said ? reason_of(message) : problem_of(message)) +
                                 "); check that the address is a daemon's, and that both sides are "
                                 "of one release"};
    }
    default: return status;
  }
}

}  // namespace ob::client
