#include "algorithms/factor/general_factorization.hpp"

#include <algorithm>

namespace ob::algorithms {
namespace {

constexpr std::uint32_t kInfoBytes = sizeof(std::int64_t);

std::size_t panels_of(const GeneralFactorization::Problem& problem,
                      const ColumnDistribution& distribution) {
  return static_cast<std::size_t>((std::min(problem.m, problem.n) + distribution.width() - 1) /
                                  distribution.width());
}

}  // namespace

GeneralFactorization::GeneralFactorization(PanelExchange& exchange, const Problem& problem,
                                           const ColumnDistribution& distribution,
                                           std::uint32_t entry_bytes, std::uint8_t entry_word_bytes)
    : BlockedFactorization(exchange, distribution, panels_of(problem, distribution)),
      problem_(problem),
      entry_bytes_(entry_bytes),
      entry_word_bytes_(entry_word_bytes),
      results_(problem.m * problem.n * element()),
      vector_(order() * entry_bytes),
      infos_(panels()),
      rooms_(exchange.size()) {}

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

std::uint64_t GeneralFactorization::columns(std::size_t at, std::size_t first,
                                            std::size_t end) const {
  const std::size_t next = blocks().next_of(at, end);
  const std::uint64_t until = slab(at).contains(next) ? blocks().local_first(next)
                                                      : blocks().local_count(at, slab_number(at));
  return until - blocks().local_first(first);
}

DeviceOperand GeneralFactorization::own_part(std::size_t at, std::size_t block,
                                             std::uint64_t row) const {
  const std::uint64_t index = row + blocks().local_first(block) * problem_.m;
  return {rooms_[at]->own.id(), index * element(), static_cast<std::int64_t>(problem_.m)};
}

DeviceOperand GeneralFactorization::panel_part(std::size_t at, std::size_t panel,
                                               std::uint64_t row) const {
  if (has(at, panel)) return own_part(at, panel, row);
  const std::uint64_t index = row - blocks().first(panel);
  return {rooms_[at]->slots[slot_of(panel)].id(), index * element(),
          static_cast<std::int64_t>(height(panel))};
}

DeviceOperand GeneralFactorization::entries(std::size_t at, std::size_t panel) const {
  if (!has(at, panel)) return {rooms_[at]->slots[slot_of(panel)].id(), slot_vector_bytes(), 0};
  return {rooms_[at]->own.id(), own_vector_bytes(at) + blocks().first(panel) * entry_bytes_, 0};
}

DeviceOperand GeneralFactorization::info(std::size_t at, std::size_t panel) const {
  return {rooms_[at]->infos.id(), panel * kInfoBytes, 0};
}

Status GeneralFactorization::allocate(std::size_t at) {
  if (results_.data() == nullptr) {
    return {Code::out_of_memory, "no memory for the factors of a matrix of " +
                                     std::to_string(problem_.m) + " x " +
                                     std::to_string(problem_.n) + " on this side"};
  }
  rooms_[at] = std::make_unique<Room>(exchange().device(at));
  Room& room = *rooms_[at];
  OB_RETURN_IF_ERROR(room.own.allocate(own_vector_bytes(at) + order() * entry_bytes_));
  // one more, where what has no information to give puts it
  OB_RETURN_IF_ERROR(room.infos.allocate((panels() + 1) * kInfoBytes));
  for (DeviceBuffer& slot : room.slots) {
    OB_RETURN_IF_ERROR(slot.allocate(slot_vector_bytes() + blocks().width() * entry_bytes_));
  }
  return {};
}

Status GeneralFactorization::send_block(std::size_t at, std::size_t block) {
  const std::uint64_t cols = blocks().count(block);
  const auto ld = static_cast<std::uint64_t>(problem_.a.ld);
  const Region home = matrix(blocks().first(block) * ld * element(), problem_.m, cols, ld);
  const DeviceOperand there = own_part(at, block, 0);
  return exchange().send(at, Layout::matrix(problem_.a.data, home), there.buffer,
                         matrix(there.offset_bytes, problem_.m, cols, problem_.m));
}

Status GeneralFactorization::fetch_block(std::size_t at, std::size_t block) {
  const std::uint64_t cols = blocks().count(block);
  const DeviceOperand there = own_part(at, block, 0);
  const Region landing =
      matrix(blocks().first(block) * problem_.m * element(), problem_.m, cols, problem_.m);
  OB_RETURN_IF_ERROR(exchange().fetch(at, there.buffer,
                                      matrix(there.offset_bytes, problem_.m, cols, problem_.m),
                                      Layout::matrix(results_.data(), landing)));
  if (block >= panels()) return {};
  const DeviceOperand vector = entries(at, block);
  std::byte* const home = &vector_[blocks().first(block) * entry_bytes_];
  OB_RETURN_IF_ERROR(exchange().fetch(at, vector.buffer,
                                      vector_part(vector.offset_bytes, depth(block)),
                                      Layout::bytes(home, depth(block) * entry_bytes_)));
  const DeviceOperand code = info(at, block);
  const Region one{code.offset_bytes, kInfoBytes, Triangle::full, 1, 1, 1, kInfoBytes};
  return exchange().fetch(at, code.buffer, one, Layout::bytes(&infos_[block], kInfoBytes));
}

PanelMessage GeneralFactorization::message(std::size_t at, std::size_t panel) const {
  const DeviceOperand there = own_part(at, panel, blocks().first(panel));
  const DeviceOperand vector = entries(at, panel);
  return {there.buffer,
          {matrix(there.offset_bytes, height(panel), depth(panel), problem_.m),
           vector_part(vector.offset_bytes, depth(panel))}};
}

PanelMessage GeneralFactorization::receive_buffer(std::size_t at, std::size_t panel,
                                                  std::size_t slot) const {
  return {rooms_[at]->slots[slot].id(),
          {matrix(0, height(panel), depth(panel), height(panel)),
           vector_part(slot_vector_bytes(), depth(panel))}};
}

std::vector<Layout> GeneralFactorization::host_panel(std::size_t /*at*/, std::size_t panel) {
  const std::uint64_t first = blocks().first(panel);
  const Region part =
      matrix((first + first * problem_.m) * element(), height(panel), depth(panel), problem_.m);
  return {Layout::matrix(results_.data(), part),
          Layout::bytes(&vector_[first * entry_bytes_], depth(panel) * entry_bytes_)};
}

void GeneralFactorization::copy_to_host() const {
  const Region home = matrix(0, problem_.m, problem_.n, static_cast<std::uint64_t>(problem_.a.ld));
  const Region here = matrix(0, problem_.m, problem_.n, problem_.m);
  copy(Layout::matrix(problem_.a.data, home), Layout::matrix(results_.data(), here));
}

std::int64_t GeneralFactorization::info_result() const {
  for (std::size_t panel = 0; panel < panels(); ++panel) {
    if (infos_[panel] > 0) {
      return infos_[panel] + static_cast<std::int64_t>(blocks().first(panel));
    }
  }
  return 0;
}

}  // namespace ob::algorithms
