#pragma once

#include "transport/stream.hpp"

namespace ob::transport::ucx {

class UcxListener final : public Listener {
 public:
  explicit UcxListener(std::unique_ptr<Listener> control) : control_(std::move(control)) {}

  /// Accepts a client. Skips clients that are gone again, or for which resources are short.
  Result<std::unique_ptr<Stream>> accept(Deadline deadline) override;
  /// Accepts a control stream.
  Result<std::unique_ptr<Stream>> accept_bare(Deadline deadline) override {
    return control_->accept_bare(deadline);
  }
  Result<std::unique_ptr<Stream>> open(std::unique_ptr<Stream> bare) override;
  std::string address() const override { return "ucx:" + control_->address(); }
  void close() noexcept override { control_->close(); }

 private:
  const std::unique_ptr<Listener> control_;
};

}  // namespace ob::transport::ucx
