#include "device/operand_copies.hpp"

namespace ob {

void OperandCopies::add(const Operand& operand) {
  const Kind kind = routine_.kinds[operand.argument];
  HostOperand& place = arguments_[operand.argument].host;
  const Region region = region_of(operand, kind, place.ld);
  if (region.rows == 0 || region.cols == 0) {
    place = {nullptr, dense_ld(operand, kind, place.ld)};
    return;
  }
  constexpr std::uint64_t kAlignment = 256;  // enough for every load of the libraries
  const std::uint64_t width = region.rows * region.element_bytes;
  copies_.push_back({.argument = operand.argument,
                     .written = operand.written,
                     .original = static_cast<std::byte*>(place.data),
                     .pitch_bytes = region.ld * region.element_bytes,
                     .width_bytes = width,
                     .columns = region.cols,
                     .offset_bytes = size_bytes_,
                     .copy = nullptr});
  place.ld = dense_ld(operand, kind, place.ld);
  size_bytes_ += (width * region.cols + kAlignment - 1) / kAlignment * kAlignment;
}

Status OperandCopies::bring(std::byte* memory, const CopyColumns& move) {
  for (Copy& copy : copies_) {
    copy.copy = memory + copy.offset_bytes;
    arguments_[copy.argument].host.data = copy.copy;
    OB_RETURN_IF_ERROR(move({.to = copy.copy,
                             .to_pitch_bytes = copy.width_bytes,
                             .from = copy.original,
                             .from_pitch_bytes = copy.pitch_bytes,
                             .width_bytes = copy.width_bytes,
                             .columns = copy.columns}));
  }
  return {};
}

Status OperandCopies::take_back(const CopyColumns& move) const {
  for (const Copy& copy : copies_) {
    if (!copy.written) continue;
    OB_RETURN_IF_ERROR(move({.to = copy.original,
                             .to_pitch_bytes = copy.pitch_bytes,
                             .from = copy.copy,
                             .from_pitch_bytes = copy.width_bytes,
                             .width_bytes = copy.width_bytes,
                             .columns = copy.columns}));
  }
  return {};
}

}  // namespace ob
