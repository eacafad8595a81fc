// Reads modules, their reports and launches from arbitrary bytes: those of clients, of daemons, and
// of a process of kernels that was taken over. The first byte chooses what is read. This target
// also checks that modules and reports come back as the same bytes, launches with the same
// contents, and that all stay within their limits.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "device/kernels/kernel_codec.hpp"
#include "fuzz/failure.hpp"
#include "fuzz/input.hpp"
#include "wire/codec.hpp"

namespace ob::fuzz {
namespace {

void expect_same(View read, View again, const char* what) {
  expect(std::equal(read.begin(), read.end(), again.begin(), again.end()), what);
}

// Takes a number of two bytes from the front.
std::size_t take_number(View& bytes) {
  std::uint16_t number = 0;
  const std::size_t size = std::min(sizeof number, bytes.size());
  if (size > 0) std::memcpy(&number, bytes.data(), size);
  bytes = bytes.subspan(size);
  return number;
}

// The number of kernels, the length of the log, and the payload.
void report(View bytes) {
  const auto kernels = static_cast<std::uint32_t>(take_number(bytes));
  const std::size_t log_bytes = take_number(bytes);
  ModuleReport read;
  if (!read_report(kernels, log_bytes, bytes, read).ok()) return;
  expect(read.kernels.size() == kernels && read.log.size() == log_bytes, "a report is counted");
  for (const KernelFacts& kernel : read.kernels) {
    expect(kernel.signature.parameters.size() <= kMostKernelArguments, "parameters are counted");
    for (const KernelParameter& parameter : kernel.signature.parameters) {
      expect(parameter.kind >= ParameterKind::buffer && parameter.kind <= ParameterKind::local,
             "a parameter is of a kind that there is");
    }
  }
  const auto again = report_payload(read);
  expect(again.ok(), "what was read can be said");
  expect_same(bytes, *again, "a report has one encoding");
}

// The length of the body, the body, and the payload.
void module(View bytes) {
  const std::size_t body_bytes = std::min(take_number(bytes), bytes.size());
  const auto message = wire::decode<wire::LoadModule>(bytes.first(body_bytes));
  if (!message.ok()) return;
  const View payload = bytes.subspan(body_bytes);
  const auto source = read_module(*message, payload);
  expect(source.ok() == (message->payload_bytes() == payload.size()), "sizes decide");
  if (!source.ok()) return;
  const auto again = describe_module(message->module, *source);
  expect(again.ok(), "what was read can be said");
  wire::Body body;
  wire::encode(*again, body);
  expect_same(bytes.first(body_bytes), body.bytes(), "a module has one encoding");
  expect_same(payload, module_payload(*source), "a payload has one encoding");
}

void launch(View bytes) {
  const auto message = wire::decode<wire::Launch>(bytes);
  if (!message.ok()) return;
  const std::vector<KernelArgument> arguments = read_arguments(*message);
  const auto* const values = reinterpret_cast<const std::byte*>(message->values.data());
  const std::size_t value_bytes = message->values.size() * sizeof(wire::LaunchWord);
  for (const KernelArgument& argument : arguments) {
    if (argument.kind != ParameterKind::scalar) continue;
    const auto* const value = static_cast<const std::byte*>(argument.value);
    expect(argument.bytes == 0 || (value >= values && argument.bytes <= value_bytes &&
                                   value <= values + (value_bytes - argument.bytes)),
           "a number lies in its message");
  }
  const auto again = describe_launch(
      {message->module, message->kernel, message->groups, message->group_size, arguments});
  expect(again.ok(), "what was read can be said");
  expect(again->module == message->module && again->kernel == message->kernel &&
             again->groups == message->groups && again->group_size == message->group_size,
         "the kernel and its size come back");
  expect(again->arguments.size() == message->arguments.size(), "all arguments come back");
  const std::vector<KernelArgument> second = read_arguments(*again);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    expect(second[i].kind == arguments[i].kind && second[i].bytes == arguments[i].bytes &&
               second[i].place.buffer == arguments[i].place.buffer &&
               second[i].place.offset_bytes == arguments[i].place.offset_bytes &&
               second[i].extent_bytes == arguments[i].extent_bytes,
           "an argument comes back");
    if (arguments[i].kind != ParameterKind::scalar || arguments[i].bytes == 0) continue;
    expect(std::memcmp(second[i].value, arguments[i].value, arguments[i].bytes) == 0,
           "a number comes back");
  }
}

}  // namespace
}  // namespace ob::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ob::fuzz;
  if (size == 0) return 0;
  const View bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0: report(bytes); break;
    case 1: module(bytes); break;
    default: launch(bytes); break;
  }
  return 0;
}
