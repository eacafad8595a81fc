// The function that runs one call on several devices, with operands of the program.

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "algorithms/on_devices.hpp"
#include "api/handles.hpp"
#include "api/queue_use.hpp"
#include "api/routine_arguments.hpp"

namespace ob::api {
namespace {

constexpr std::size_t kMostDevices = 64;

// Finds the devices, each of which may be given once.
Outcome find_devices(const ob_device* handles, std::size_t count, std::vector<DevicePtr>& devices) {
  if (handles == nullptr) return mistake("no devices (the pointer is NULL)");
  if (count == 0 || count > kMostDevices) {
    return mistake(std::to_string(count) + " devices; give 1 to " + std::to_string(kMostDevices));
  }
  for (std::size_t i = 0; i < count; ++i) {
    OB_ASSIGN_OR_RETURN(DevicePtr device, find<OpenDevice>(handles[i]));
    if (std::find(devices.begin(), devices.end(), device) != devices.end()) {
      return mistake("device " + std::to_string(i) + " is given twice; give each device once");
    }
    devices.push_back(std::move(device));
  }
  return {};
}

Outcome check_operands(const Descriptor& routine, const Argument* arguments) {
  std::int64_t lds[kMaxArguments] = {};
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (has_ld(routine.kinds[i])) lds[i] = arguments[i].host.ld;
  }
  if (!routine.legal(arguments, lds)) {
    return mistake("illegal arguments of " + std::string(routine.name) +
                   " (a flag, dimension or leading dimension that the reference implementation "
                   "refuses)");
  }
  const Operands operands = routine.operands(arguments);
  for (const Operand& operand : operands.span()) {
    if (operand.rows == 0 || operand.cols == 0) continue;
    if (arguments[operand.argument].host.data != nullptr) continue;
    return mistake("argument " + std::string(routine.argument_names[operand.argument]) + " of " +
                   std::string(routine.name) + " is NULL; give its elements in host memory");
  }
  return {};
}

// The call has nothing to compute.
Outcome run_trivial(const Descriptor& routine, const Argument* arguments) {
  constexpr std::int64_t kSuccess = 0;
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (routine.kinds[i] != Kind::info || arguments[i].host.data == nullptr) continue;
    std::memcpy(arguments[i].host.data, &kSuccess, sizeof kSuccess);
  }
  return {};
}

Outcome on_devices(const ob_device* handles, std::size_t device_count, const char* name,
                   const ob_operand* operands, std::size_t count) {
  OB_RETURN_IF_ERROR(check_may_wait("ob_on_devices"));
  std::vector<DevicePtr> opened;
  if (Outcome outcome = find_devices(handles, device_count, opened); !outcome.ok()) return outcome;
  const Descriptor* routine = nullptr;
  if (Outcome outcome = find_routine(name, count, routine); !outcome.ok()) return outcome;
  if (!algorithms::runs_on_devices(*routine)) {
    return Outcome(Status(Code::unsupported,
                          std::string(name) +
                              " does not run on several devices (products of level 3, potrf, "
                              "getrf, geqrf, posv and gesv do); use ob_call on one device"));
  }
  if (operands == nullptr) return mistake("no operands (the pointer is NULL)");
  Argument arguments[kMaxArguments];
  for (std::size_t i = 0; i < count; ++i) {
    const Kind kind = routine->kinds[i];
    if (is_memory(kind)) {
      arguments[i].host = {operands[i].value.host, has_ld(kind) ? operands[i].ld : 0};
    } else {
      Outcome outcome = set_plain_argument(operands[i], i, *routine, arguments[i]);
      if (!outcome.ok()) return outcome;
    }
  }
  if (Outcome outcome = check_operands(*routine, arguments); !outcome.ok()) return outcome;
  if (routine->trivial(arguments)) return run_trivial(*routine, arguments);
  std::vector<Device*> devices;
  for (const DevicePtr& device : opened) devices.push_back(&**device);
  Outcome outcome = algorithms::run_on_devices(devices, *routine, arguments);
  outcome.name = routine->name;
  return outcome;
}

}  // namespace
}  // namespace ob::api

using namespace ob::api;  // NOLINT(google-build-using-namespace): exported C functions only

OB_EXPORT ob_status ob_on_devices(const ob_device* devices, size_t device_count,
                                  const char* routine, const ob_operand* operands, size_t count) {
  return answer([&] { return on_devices(devices, device_count, routine, operands, count); });
}
