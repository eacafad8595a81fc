#include "backend/cuda/operand_copies.hpp"

namespace ob::cuda {

void OperandCopies::add(const Operand& operand) {
  const Kind kind = routine_.kinds[operand.argument];
  HostOperand& place = arguments_[operand.argument].host;
  const Region region = region_of(operand, kind, place.ld);
  if (region.rows == 0 || region.cols == 0) {
    place = {nullptr, dense_ld(operand, kind, place.ld)};
    return;
  }
  constexpr std::uint64_t kAlignment = 256;  // whatever loads libraries use
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

Status OperandCopies::move(const Copy& copy, bool back, cudaMemcpyKind kind) const {
  std::byte* const to = back ? copy.original : copy.copy;
  const std::byte* const from = back ? copy.copy : copy.original;
  const Runtime& runtime = context_.runtime();
  if (copy.columns == 1 || copy.pitch_bytes == copy.width_bytes) {
    return runtime.check(
        runtime.cudaMemcpyAsync(to, from, copy.width_bytes * copy.columns, kind, context_.stream),
        "copying an operand");
  }
  return runtime.check(
      runtime.cudaMemcpy2DAsync(to, back ? copy.pitch_bytes : copy.width_bytes, from,
                                back ? copy.width_bytes : copy.pitch_bytes, copy.width_bytes,
                                copy.columns, kind, context_.stream),
      "copying an operand");
}

Status OperandCopies::bring(std::byte* memory, cudaMemcpyKind kind) {
  for (Copy& copy : copies_) {
    copy.copy = memory + copy.offset_bytes;
    arguments_[copy.argument].host.data = copy.copy;
    OB_RETURN_IF_ERROR(move(copy, false, kind));
  }
  return {};
}

Status OperandCopies::take_back(cudaMemcpyKind kind) {
  for (const Copy& copy : copies_) {
    if (!copy.written) continue;
    OB_RETURN_IF_ERROR(move(copy, true, kind));
  }
  return {};
}

}  // namespace ob::cuda
