#include "offload/accuracy.hpp"

#include <optional>
namespace ob::offload {
namespace {

constinit thread_local std::optional<Accuracy> t_accuracy;

}  // namespace

Accuracy accuracy_now(const Config& config) noexcept {
  return t_accuracy.value_or(config.accuracy);
}

void wish_accuracy(std::optional<Accuracy> accuracy) noexcept { t_accuracy = accuracy; }

Result<Accuracy> demand(client::AcquiredDevice& acquired, Accuracy accuracy) {
  const bool differs =
      (acquired.device().info().accuracies >> static_cast<unsigned>(accuracy) & 1) != 0;
  const Accuracy used = differs ? accuracy : Accuracy::standard;
  OB_RETURN_IF_ERROR(acquired.device().set_accuracy(acquired.queue(), used));
  return used;
}

}  // namespace ob::offload
