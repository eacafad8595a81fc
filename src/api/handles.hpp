#pragma once
// The handles of the process. A handle is a number in the form of a pointer, so that a stale or
// wrong one is found out without touching memory.

#include <cstdint>
#include <memory>
#include <vector>

#include "api/objects.hpp"
#include "api/outcome.hpp"
#include "base/status.hpp"
#include "device/handle_table.hpp"
#include "outboard/device.h"

namespace ob::api {

class ConnectedPeer;
class GivenGrant;
class HeldLease;
class Kernel;
class OpenMailbox;
struct Module;

/// The C type of each object's handles, a number for its kind, and its name for messages.
template <class Object>
struct KindOf;
template <>
struct KindOf<OpenDevice> {
  using Handle = ob_device;
  static constexpr std::uintptr_t number = 1;
  static constexpr const char* name = "device";
};
template <>
struct KindOf<Queue> {
  using Handle = ob_queue;
  static constexpr std::uintptr_t number = 2;
  static constexpr const char* name = "queue";
};
template <>
struct KindOf<Buffer> {
  using Handle = ob_buffer;
  static constexpr std::uintptr_t number = 3;
  static constexpr const char* name = "buffer";
};
template <>
struct KindOf<Event> {
  using Handle = ob_event;
  static constexpr std::uintptr_t number = 4;
  static constexpr const char* name = "event";
};
template <>
struct KindOf<Plan> {
  using Handle = ob_plan;
  static constexpr std::uintptr_t number = 5;
  static constexpr const char* name = "plan";
};
template <>
struct KindOf<Module> {
  using Handle = ob_module;
  static constexpr std::uintptr_t number = 6;
  static constexpr const char* name = "module";
};
template <>
struct KindOf<Kernel> {
  using Handle = ob_kernel;
  static constexpr std::uintptr_t number = 7;
  static constexpr const char* name = "kernel";
};

template <>
struct KindOf<OpenMailbox> {
  using Handle = ob_mailbox;
  static constexpr std::uintptr_t number = 8;
  static constexpr const char* name = "mailbox";
};
template <>
struct KindOf<ConnectedPeer> {
  using Handle = ob_peer;
  static constexpr std::uintptr_t number = 9;
  static constexpr const char* name = "peer";
};

template <>
struct KindOf<GivenGrant> {
  using Handle = ob_grant;
  static constexpr std::uintptr_t number = 10;
  static constexpr const char* name = "grant";
};

template <>
struct KindOf<HeldLease> {
  using Handle = ob_lease;
  static constexpr std::uintptr_t number = 11;
  static constexpr const char* name = "lease";
};

/// Makes a handle of an object.   Threads: any
template <class Object>
typename KindOf<Object>::Handle add(std::shared_ptr<Object> object);
/// Finds the object of a handle; it stays alive while the caller holds it.
/// Errors: invalid_argument for a handle that is NULL, of another kind, or no longer valid;
///         unavailable for a handle of the process that this one was forked from
template <class Object>
Result<std::shared_ptr<Object>> find(typename KindOf<Object>::Handle handle);
/// The same, and ends the handle.
template <class Object>
Result<std::shared_ptr<Object>> take(typename KindOf<Object>::Handle handle);
/// Ends the handles of all objects of this kind that `device` has made, and returns the objects.
template <class Object>
std::vector<std::shared_ptr<Object>> take_all_of(const OpenDevice& device);

}  // namespace ob::api
