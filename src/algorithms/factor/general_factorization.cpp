#include "algorithms/factor/general_factorization.hpp"

#include <algorithm>

namespace ob::algorithms {
namespace {

constexpr std::uint32_t kInfoBytes = sizeof(std::int64_t);

BlockIndex end_panel_of(const GeneralFactorization::Problem& problem,
                        const ColumnDistribution& distribution) {
  return BlockIndex((std::min(problem.m, problem.n) + distribution.width() - 1) /
                    distribution.width());
}

}  // namespace

GeneralFactorization::GeneralFactorization(PanelExchange& exchange, const Problem& problem,
                                           const ColumnDistribution& distribution,
                                           std::uint32_t entry_bytes, std::uint8_t entry_word_bytes)
    : BlockedFactorization(exchange, distribution, end_panel_of(problem, distribution)),
      problem_(problem),
      entry_bytes_(entry_bytes),
      entry_word_bytes_(entry_word_bytes),
      results_(problem.m * problem.n * element()),
      vector_(order() * entry_bytes),
      infos_(end_panel().value()),
      memory_(exchange.size()) {}

Region GeneralFactorization::matrix(std::uint64_t offset_bytes, std::uint64_t rows,
                                    std::uint64_t cols, std::uint64_t ld) const {
  return {offset_bytes,
          element_bytes(problem_.precision),
          Triangle::full,
          rows,
          cols,
          std::max<std::uint64_t>(1, ld),
          static_cast<std::uint8_t>(real_bytes(problem_.precision))};
}

Region GeneralFactorization::vector_part(std::uint64_t offset_bytes, std::uint64_t count) const {
  return {offset_bytes, entry_bytes_, Triangle::full, count, 1, count, entry_word_bytes_};
}

std::uint64_t GeneralFactorization::columns(Rank rank, BlockIndex first, BlockIndex end) const {
  const BlockIndex next = blocks().next_of(rank, end);
  const LocalIndex until = slab(rank).contains(next)
                               ? blocks().local_first(next)
                               : LocalIndex(blocks().local_count(rank, slab_index(rank)));
  return until - blocks().local_first(first);
}

DeviceOperand GeneralFactorization::own_part(Rank rank, BlockIndex block, GlobalIndex row) const {
  const std::uint64_t index = row.value() + blocks().local_first(block).value() * problem_.m;
  return {memory_[rank.value()]->own.id(), index * element(),
          static_cast<std::int64_t>(problem_.m)};
}

DeviceOperand GeneralFactorization::panel_part(Rank rank, BlockIndex panel, GlobalIndex row) const {
  if (owns(rank, panel)) return own_part(rank, panel, row);
  const std::uint64_t index = row - blocks().first(panel);
  return {memory_[rank.value()]->slots[slot_of(panel)].id(), index * element(),
          static_cast<std::int64_t>(height(panel))};
}

DeviceOperand GeneralFactorization::entries(Rank rank, BlockIndex panel) const {
  if (!owns(rank, panel))
    return {memory_[rank.value()]->slots[slot_of(panel)].id(), slot_vector_bytes(), 0};
  return {memory_[rank.value()]->own.id(),
          own_vector_bytes(rank) + blocks().first(panel).value() * entry_bytes_, 0};
}

DeviceOperand GeneralFactorization::info(Rank rank, BlockIndex panel) const {
  return {memory_[rank.value()]->infos.id(), panel.value() * kInfoBytes, 0};
}

Status GeneralFactorization::allocate(Rank rank) {
  if (results_.data() == nullptr) {
    return {Code::out_of_memory, "no memory for the factors of a matrix of " +
                                     std::to_string(problem_.m) + " x " +
                                     std::to_string(problem_.n) + " in host memory"};
  }
  memory_[rank.value()] = std::make_unique<Memory>(exchange().device(rank));
  Memory& memory = *memory_[rank.value()];
  OB_RETURN_IF_ERROR(memory.own.allocate(own_vector_bytes(rank) + order() * entry_bytes_));
  // one more, for routines whose info is not used
  OB_RETURN_IF_ERROR(memory.infos.allocate((end_panel().value() + 1) * kInfoBytes));
  for (DeviceBuffer& slot : memory.slots) {
    OB_RETURN_IF_ERROR(slot.allocate(slot_vector_bytes() + blocks().width() * entry_bytes_));
  }
  return {};
}

Status GeneralFactorization::send_block(Rank rank, BlockIndex block) {
  const std::uint64_t cols = blocks().count(block);
  const auto ld = static_cast<std::uint64_t>(problem_.a.ld);
  const Region a = matrix(blocks().first(block).value() * ld * element(), problem_.m, cols, ld);
  const DeviceOperand own = own_part(rank, block, GlobalIndex(0));
  return exchange().send(rank, Layout::matrix(problem_.a.data, a), own.buffer,
                         matrix(own.offset_bytes, problem_.m, cols, problem_.m));
}

Status GeneralFactorization::fetch_block(Rank rank, BlockIndex block) {
  const std::uint64_t cols = blocks().count(block);
  const DeviceOperand own = own_part(rank, block, GlobalIndex(0));
  const Region result =
      matrix(blocks().first(block).value() * problem_.m * element(), problem_.m, cols, problem_.m);
  OB_RETURN_IF_ERROR(exchange().fetch(rank, own.buffer,
                                      matrix(own.offset_bytes, problem_.m, cols, problem_.m),
                                      Layout::matrix(results_.data(), result)));
  if (block >= end_panel()) return {};
  const DeviceOperand vector = entries(rank, block);
  std::byte* const on_host = &vector_[blocks().first(block).value() * entry_bytes_];
  OB_RETURN_IF_ERROR(exchange().fetch(rank, vector.buffer,
                                      vector_part(vector.offset_bytes, depth(block)),
                                      Layout::bytes(on_host, depth(block) * entry_bytes_)));
  const DeviceOperand code = info(rank, block);
  const Region one{code.offset_bytes, kInfoBytes, Triangle::full, 1, 1, 1, kInfoBytes};
  return exchange().fetch(rank, code.buffer, one,
                          Layout::bytes(&infos_[block.value()], kInfoBytes));
}

PanelMessage GeneralFactorization::message(Rank rank, BlockIndex panel) const {
  const DeviceOperand own = own_part(rank, panel, blocks().first(panel));
  const DeviceOperand vector = entries(rank, panel);
  return {own.buffer,
          {matrix(own.offset_bytes, height(panel), depth(panel), problem_.m),
           vector_part(vector.offset_bytes, depth(panel))}};
}

PanelMessage GeneralFactorization::receive_buffer(Rank rank, BlockIndex panel,
                                                  std::size_t slot) const {
  return {memory_[rank.value()]->slots[slot].id(),
          {matrix(0, height(panel), depth(panel), height(panel)),
           vector_part(slot_vector_bytes(), depth(panel))}};
}

std::vector<Layout> GeneralFactorization::host_panel(Rank /*rank*/, BlockIndex panel) {
  const std::uint64_t first = blocks().first(panel).value();
  const Region part =
      matrix((first + first * problem_.m) * element(), height(panel), depth(panel), problem_.m);
  return {Layout::matrix(results_.data(), part),
          Layout::bytes(&vector_[first * entry_bytes_], depth(panel) * entry_bytes_)};
}

void GeneralFactorization::copy_to_host() const {
  const Region a = matrix(0, problem_.m, problem_.n, static_cast<std::uint64_t>(problem_.a.ld));
  const Region result = matrix(0, problem_.m, problem_.n, problem_.m);
  copy(Layout::matrix(problem_.a.data, a), Layout::matrix(results_.data(), result));
}

std::int64_t GeneralFactorization::info_result() const {
  for (BlockIndex panel; panel < end_panel(); ++panel) {
    const std::int64_t info = infos_[panel.value()];
    if (info > 0) return info + static_cast<std::int64_t>(blocks().first(panel).value());
  }
  return 0;
}

}  // namespace ob::algorithms
