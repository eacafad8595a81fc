#include "offload/accuracy.hpp"

namespace ob::offload {

Result<Accuracy> set_accuracy(client::AcquiredDevice& acquired, Accuracy accuracy) {
  const bool differs =
      (acquired.device().info().accuracies >> static_cast<unsigned>(accuracy) & 1) != 0;
  const Accuracy used = differs ? accuracy : Accuracy::standard;
  OB_RETURN_IF_ERROR(acquired.device().set_accuracy(acquired.queue(), used));
  return used;
}

}  // namespace ob::offload
