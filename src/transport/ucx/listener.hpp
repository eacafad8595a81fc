#pragma once

#include "transport/stream.hpp"

namespace ob::transport::ucx {

class UcxListener final : public Listener {
 public:
  explicit UcxListener(std::unique_ptr<Listener> control) : control_(std::move(control)) {}

  /// A client that is gone again, or for whom resources are short, is passed over.
  Result<std::unique_ptr<Stream>> accept(Deadline deadline) override;
  std::string address() const override { return "ucx:" + control_->address(); }
  void close() noexcept override { control_->close(); }

 private:
  const std::unique_ptr<Listener> control_;
};

}  // namespace ob::transport::ucx
