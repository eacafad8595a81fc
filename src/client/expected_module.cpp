#include "client/expected_module.hpp"

#include "client/unexpected.hpp"
#include "device/kernels/kernel_codec.hpp"
#include "wire/codec.hpp"

namespace ob::client {

Status ExpectedModule::take(const session::Message& message) {
  if (!listener_ || message.header.payload_bytes > wire::kMaxReportBytes) {
    return unexpected(message);
  }
  OB_ASSIGN_OR_RETURN(answer_, wire::decode<wire::ModuleAnswer>(message.body));
  sequence_ = message.header.sequence;
  payload_.resize(message.header.payload_bytes);
  if (payload_.empty()) return finish();
  destination_ = Layout::bytes(payload_.data(), payload_.size());
  cursor_.emplace(destination_);
  return {};
}

Result<bool> ExpectedModule::receive(session::MessageReceiver& receiver) {
  const std::uint64_t before = receiver.payload_left();
  OB_ASSIGN_OR_RETURN(const bool complete, receiver.poll_payload(*cursor_));
  const bool any = receiver.payload_left() != before;
  if (!complete) return any;
  cursor_.reset();
  OB_RETURN_IF_ERROR(finish());
  return true;
}

Status ExpectedModule::finish() {
  ModuleReport report;
  OB_RETURN_IF_ERROR(read_report(answer_.kernels, answer_.log_bytes, payload_, report));
  if (answer_.code != Code::ok) report.status = Status(answer_.code, answer_.message);
  payload_ = {};
  listener_(sequence_, report);
  return {};
}

}  // namespace ob::client
