#pragma once
#include <vector>
namespace ob::sial {
/// Memory that operations use and keep for the next one.
class Scratch {
 public:
  double* get(std::size_t slot, std::size_t elements) {
    if (slots_.size() <= slot) slots_.resize(slot + 1);
    if (slots_[slot].size() < elements) slots_[slot].resize(elements);
    return slots_[slot].data();
  }
 private:
  std::vector<std::vector<double>> slots_;
};
}
