#include "api/open.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "api/handles.hpp"
#include "api/kernel_objects.hpp"
#include "api/peer_objects.hpp"
#include "backend/cpu/backend.hpp"
#include "backend/cpu/host_routines.hpp"
#include "backend/cpu/host_transforms.hpp"
#include "backend/null/backend.hpp"
#ifdef OUTBOARD_WITH_CUDA
#include "backend/cuda/backend.hpp"
#endif
#ifdef OUTBOARD_WITH_OPENCL
#include "backend/opencl/backend.hpp"
#include "backend/opencl/host_kernels.hpp"
#endif
#include "base/comma_list.hpp"
#include "transport/security.hpp"
#include "wire/byte_swap.hpp"

namespace ob::api {
namespace {

constexpr std::string_view kLocal = "local:";

Status bad_where(std::string_view where) {
  return {Code::invalid_argument,
          "no device \"" + std::string(where) +
              "\" (the form is unknown); write HOST:PORT, HOST:PORT/INDEX, unix:PATH, local:cpu, "
              "local:cuda, local:opencl or local:null"};
}

Result<std::unique_ptr<Device>> make_cpu() {
  cpu::Config config;
#ifdef OUTBOARD_WITH_OPENCL
  config.kernels = opencl::make_host_kernels();
#endif
  return cpu::create(config);
}

// Returns the processor's versions of the routines that the libraries of an accelerator lack;
// nullptr if there are none.
[[maybe_unused]] std::shared_ptr<const HostRoutines> host_routines(unsigned threads) {
  auto opened = cpu::open_host_routines(threads);
  return opened.ok() ? std::move(*opened) : nullptr;
}

[[maybe_unused]] unsigned host_threads() {
  return std::max(1U, std::thread::hardware_concurrency());
}

#ifdef OUTBOARD_WITH_CUDA
Result<std::unique_ptr<Device>> make_cuda(std::uint32_t index) {
  OB_ASSIGN_OR_RETURN(const unsigned devices, cuda::accelerators());
  cuda::Config config;
  config.index = index;
  config.devices = devices;
  config.kernels = true;
  config.host = host_routines(host_threads());
  return cuda::create(config);
}
#else
Result<std::unique_ptr<Device>> make_cuda(std::uint32_t /*index*/) {
  return Status(Code::unsupported,
                "this library has no cuda backend (there were no CUDA headers when it was built); "
                "run python3 tools/cuda_headers.py --into build/cuda and build again");
}
#endif

#ifdef OUTBOARD_WITH_OPENCL
Result<std::unique_ptr<Device>> make_opencl(std::uint32_t index) {
  OB_ASSIGN_OR_RETURN(const opencl::Found found, opencl::find());
  opencl::Config config;
  config.index = index;
  config.devices = found.devices;
  config.kernels = true;
  config.host = host_routines(host_threads());
  config.transforms = cpu::open_host_transforms(host_threads());
  return opencl::create(config);
}
#else
Result<std::unique_ptr<Device>> make_opencl(std::uint32_t /*index*/) {
  return Status(Code::unsupported,
                "this library has no opencl backend (there were no headers of OpenCL, CLBlast and "
                "VkFFT when it was built); install opencl-headers, libclblast-dev and libvkfft-dev "
                "and build again");
}
#endif

Result<std::uint32_t> read_index(std::string_view digits, std::string_view where) {
  // Nobody ever has a million devices.
  if (digits.empty() || digits.size() > 6 ||
      digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return bad_where(where);
  }
  return static_cast<std::uint32_t>(std::strtoul(std::string(digits).c_str(), nullptr, 10));
}

Result<std::unique_ptr<Device>> make_local(std::string_view where) {
  const std::string_view name = where.substr(kLocal.size());
  if (name == "cpu") return make_cpu();
  if (name == "null") return null::create({});
  const std::size_t slash = name.find('/');
  const std::string_view backend = name.substr(0, slash);
  if (backend != "opencl" && backend != "cuda") return bad_where(where);
  std::uint32_t index = 0;
  if (slash != std::string_view::npos) {
    OB_ASSIGN_OR_RETURN(index, read_index(name.substr(slash + 1), where));
  }
  return backend == "cuda" ? make_cuda(index) : make_opencl(index);
}

Result<DevicePtr> open_local(std::string_view where) {
  OB_ASSIGN_OR_RETURN(auto device, make_local(where));
  return std::make_shared<OpenDevice>(std::move(device), nullptr, wire::kBigEndian);
}

// Cuts "/INDEX" off an address. A path of a Unix socket has none.
Result<std::string> cut_index(std::string_view where, std::uint32_t& index) {
  const std::size_t slash = where.rfind('/');
  if (slash == std::string_view::npos || where.starts_with("unix:")) return std::string(where);
  OB_ASSIGN_OR_RETURN(index, read_index(where.substr(slash + 1), where));
  return std::string(where.substr(0, slash));
}

Result<client::ConnectionConfig> connection_config(const ob_device_options& options,
                                                   bool over_network) {
  client::ConnectionConfig config;
  if (options.plain > 1 || options.streams > transport::StripedStream::kMaxStreams) {
    return Status(Code::invalid_argument,
                  "options of a device are out of range; plain is 0 or 1, "
                  "and streams is 0 to 16");
  }
  if (options.streams != 0) config.streams = options.streams;
  if (options.dead_after_ms > 0) {
    const auto limit_ms = static_cast<int>(std::min(options.dead_after_ms, std::uint32_t{1} << 30));
    config.timeouts.dead_after_ms = limit_ms;
    config.timeouts.silent_after_ms = limit_ms;
  }
  const char* folder = options.key_folder;
  if (folder == nullptr) folder = std::getenv("OUTBOARD_KEY");
  if (over_network && folder != nullptr && *folder != 0) {
    OB_ASSIGN_OR_RETURN(config.security,
                        transport::load_key(folder, transport::Side::client, options.plain == 1));
  }
  return config;
}

Result<DevicePtr> connect(const std::string& address, client::ConnectionConfig config) {
  config.holds_user_data = true;
  config.wants_kernels = true;
  OB_ASSIGN_OR_RETURN(auto device, client::SharedDevice::open(address, config));
  client::SharedDevice* const remote = device.get();
  const bool big_endian = remote->big_endian();
  return std::make_shared<OpenDevice>(std::move(device), remote, big_endian);
}

Result<DevicePtr> open_remote(std::string_view where, const ob_device_options& options) {
  std::uint32_t index = UINT32_MAX;
  OB_ASSIGN_OR_RETURN(const std::string address, cut_index(where, index));
  // The kernel proves who is at the other end of a Unix socket.
  OB_ASSIGN_OR_RETURN(client::ConnectionConfig config,
                      connection_config(options, !where.starts_with("unix:")));
  config.device = index;
  return connect(address, std::move(config));
}

// Tries the daemons of a list in order, and reports the failure of the first one.
Result<DevicePtr> open_first_of(std::string_view list, const ob_device_options& options) {
  Status first(Code::unavailable,
               "no device named (OUTBOARD_SERVER is not set); set it to "
               "HOST:PORT, or name the device");
  bool any = false;
  for (const std::string& where : comma_list(list)) {
    auto device = open_remote(where, options);
    if (device.ok()) return device;
    if (!std::exchange(any, true)) first = device.status();
  }
  return first;
}

}  // namespace

Result<DevicePtr> open_device(const char* where, const ob_device_options& options) {
  if (where == nullptr) {
    const char* const list = std::getenv("OUTBOARD_SERVER");
    return open_first_of(list == nullptr ? "" : list, options);
  }
  const std::string_view name = where;
  return name.starts_with(kLocal) ? open_local(name) : open_remote(name, options);
}

Result<DevicePtr> open_leased(const pool::LeaseHandle& handle,
                              const std::shared_ptr<const transport::Security>& security) {
  client::ConnectionConfig config;
  config.device = UINT32_MAX;  // the token names it
  config.identity = handle.token;
  Status failure = handle.unreachable();
  for (const std::string& address : handle.reachable()) {
    // The kernel proves who is at the other end of a Unix socket.
    config.security = address.starts_with("unix:") ? nullptr : security;
    auto device = connect(address, config);
    if (device.ok()) return device;
    failure = device.status();
    if (failure.code() == Code::fenced) break;
  }
  return failure;
}

Status close_device(ob_device handle) {
  OB_ASSIGN_OR_RETURN(const DevicePtr device, take<OpenDevice>(handle));
  device->copies().end();  // a queue may wait for a message that never comes
  // The destructors of queues wait for their commands, which use the other objects.
  take_all_of<GivenGrant>(*device).clear();
  take_all_of<Queue>(*device).clear();
  take_all_of<ConnectedPeer>(*device).clear();
  take_all_of<OpenMailbox>(*device).clear();
  take_all_of<Event>(*device).clear();
  take_all_of<Kernel>(*device).clear();
  take_all_of<Module>(*device).clear();
  take_all_of<Plan>(*device).clear();
  take_all_of<Buffer>(*device).clear();
  return {};
}

}  // namespace ob::api
