#include "algorithms/factor/cholesky.hpp"

#include <algorithm>

#include "algorithms/device_call.hpp"

namespace ob::algorithms {

CholeskyFactorization::CholeskyFactorization(PanelExchange& exchange, const Problem& problem,
                                             const ColumnDistribution& distribution)
    : BlockedFactorization(exchange, distribution, distribution.end_block()),
      problem_(problem),
      complex_(is_complex(problem.precision)),
      potrf_(routine_of("potrf", problem.precision)),
      trsm_(routine_of("trsm", problem.precision)),
      herk_(routine_of(complex_ ? "herk" : "syrk", problem.precision)),
      gemm_(routine_of("gemm", problem.precision)),
      results_(problem.n * problem.n * element()),
      infos_(end_panel().value()),
      memory_(exchange.size()) {}

// A part of a block: `length` along the long side of the triangle, `width` across.
Region CholeskyFactorization::region(std::uint64_t offset_bytes, std::uint64_t length,
                                     std::uint64_t width, std::uint64_t ld) const {
  Region made;
  made.offset_bytes = offset_bytes;
  made.element_bytes = element_bytes(problem_.precision);
  made.word_bytes = static_cast<std::uint8_t>(real_bytes(problem_.precision));
  made.rows = problem_.lower ? length : width;
  made.cols = problem_.lower ? width : length;
  made.ld = std::max<std::uint64_t>(1, ld);
  return made;
}

// A part of a block on its device, from the index `from` along its long side on.
Region CholeskyFactorization::in_own(Rank rank, BlockIndex block, GlobalIndex from,
                                     std::uint64_t length) const {
  const std::uint64_t across = blocks().local_first(block).value();
  const std::uint64_t along = from - base(rank);
  const std::uint64_t ld =
      problem_.lower ? end() - base(rank) : blocks().local_count(rank, slab_index(rank));
  const std::uint64_t index = problem_.lower ? along + across * ld : across + along * ld;
  return region(index * element(), length, blocks().count(block), ld);
}

// The same part, at its place in the whole matrix A.
Region CholeskyFactorization::in_matrix(BlockIndex block, GlobalIndex from, std::uint64_t length,
                                        std::uint64_t ld) const {
  const std::uint64_t across = blocks().first(block).value();
  const std::uint64_t index =
      problem_.lower ? from.value() + across * ld : across + from.value() * ld;
  return region(index * element(), length, blocks().count(block), ld);
}

DeviceOperand CholeskyFactorization::own_part(Rank rank, BlockIndex block, GlobalIndex from) const {
  const Region part = in_own(rank, block, from, 0);
  return {memory_[rank.value()]->own.id(), part.offset_bytes, static_cast<std::int64_t>(part.ld)};
}

// The part of a panel behind its block of the diagonal, whether the device owns it or not.
DeviceOperand CholeskyFactorization::panel_part(Rank rank, BlockIndex panel,
                                                GlobalIndex from) const {
  if (owns(rank, panel)) return own_part(rank, panel, from);
  const PanelMessage received = receive_buffer(rank, panel, slot_of(panel));
  const std::uint64_t step = problem_.lower ? 1 : received.regions[0].ld;
  return {received.buffer, (from - behind(rank, panel)) * step * element(),
          static_cast<std::int64_t>(received.regions[0].ld)};
}

Status CholeskyFactorization::allocate(Rank rank) {
  if (results_.data() == nullptr) {
    return {Code::out_of_memory,
            "no memory for a factor of order " + std::to_string(problem_.n) + " in host memory"};
  }
  memory_[rank.value()] = std::make_unique<Memory>(exchange().device(rank));
  Memory& memory = *memory_[rank.value()];
  const std::uint64_t n = problem_.n;
  std::uint64_t most = 0;
  for (SlabIndex slab; slab < blocks().end_slab(); ++slab) {
    const std::uint64_t length = end() - blocks().first(blocks().slab(slab).first);
    most = std::max(most, length * blocks().local_count(rank, slab));
  }
  OB_RETURN_IF_ERROR(memory.own.allocate(most * element()));
  OB_RETURN_IF_ERROR(memory.infos.allocate(end_panel().value() * sizeof(std::int64_t)));
  if (exchange().size() == 1 && blocks().slabs() == 1) return {};
  for (DeviceBuffer& slot : memory.slots) {
    OB_RETURN_IF_ERROR(slot.allocate(n * blocks().width() * element()));
  }
  return {};
}

Status CholeskyFactorization::send_block(Rank rank, BlockIndex block) {
  const GlobalIndex first = blocks().first(block);
  const GlobalIndex below = blocks().end(block);
  const auto ld = static_cast<std::uint64_t>(problem_.a.ld);
  const auto send = [&](GlobalIndex from, std::uint64_t length, Triangle triangle) {
    if (length == 0) return Status();
    Region on_host = in_matrix(block, from, length, ld);
    Region on_device = in_own(rank, block, from, length);
    on_host.triangle = on_device.triangle = triangle;
    return exchange().send(rank, Layout::matrix(problem_.a.data, on_host),
                           memory_[rank.value()]->own.id(), on_device);
  };
  OB_RETURN_IF_ERROR(
      send(first, below - first, problem_.lower ? Triangle::lower : Triangle::upper));
  return send(below, end() - below, Triangle::full);
}

Status CholeskyFactorization::fetch_block(Rank rank, BlockIndex block) {
  const GlobalIndex first = blocks().first(block);
  const GlobalIndex below = blocks().end(block);
  const auto fetch = [&](GlobalIndex from, std::uint64_t length, Triangle triangle) {
    if (length == 0) return Status();
    Region on_host = in_matrix(block, from, length, problem_.n);
    Region on_device = in_own(rank, block, from, length);
    on_host.triangle = on_device.triangle = triangle;
    return exchange().fetch(rank, memory_[rank.value()]->own.id(), on_device,
                            Layout::matrix(results_.data(), on_host));
  };
  OB_RETURN_IF_ERROR(
      fetch(first, below - first, problem_.lower ? Triangle::lower : Triangle::upper));
  OB_RETURN_IF_ERROR(fetch(below, end() - below, Triangle::full));
  constexpr std::uint32_t kBytes = sizeof(std::int64_t);
  const Region info{block.value() * kBytes, kBytes, Triangle::full, 1, 1, 1, kBytes};
  return exchange().fetch(rank, memory_[rank.value()]->infos.id(), info,
                          Layout::bytes(&infos_[block.value()], kBytes));
}

// A_kk = L_kk L_kk^H, then L_ik = A_ik L_kk^-H for the rows i below; mirrored if upper.
Status CholeskyFactorization::factor(Rank rank, BlockIndex panel) {
  OB_RETURN_IF_ERROR(factor_diagonal(rank, panel));
  return solve_panel(rank, panel);
}

Status CholeskyFactorization::factor_diagonal(Rank rank, BlockIndex panel) {
  const DeviceOperand info{memory_[rank.value()]->infos.id(), panel.value() * sizeof(std::int64_t),
                           0};
  return DeviceCall(potrf_)
      .flag(uplo())
      .dim(blocks().count(panel))
      .at(own_part(rank, panel, blocks().first(panel)))
      .at(info)
      .submit(exchange().device(rank), exchange().compute(rank));
}

Status CholeskyFactorization::solve_panel(Rank rank, BlockIndex panel) {
  const GlobalIndex below = blocks().end(panel);
  const std::uint64_t width = blocks().count(panel);
  const std::uint64_t rest = end() - below;
  if (rest == 0) return {};
  return DeviceCall(trsm_)
      .flag(problem_.lower ? 'R' : 'L')
      .flag(uplo())
      .flag('C')
      .flag('N')
      .dim(problem_.lower ? rest : width)
      .dim(problem_.lower ? width : rest)
      .scalar(1)
      .at(own_part(rank, panel, blocks().first(panel)))
      .at(own_part(rank, panel, below))
      .submit(exchange().device(rank), exchange().compute(rank));
}

PanelMessage CholeskyFactorization::message(Rank rank, BlockIndex panel) const {
  const GlobalIndex below = blocks().end(panel);
  return {memory_[rank.value()]->own.id(), {in_own(rank, panel, below, end() - below)}};
}

PanelMessage CholeskyFactorization::receive_buffer(Rank rank, BlockIndex panel,
                                                   std::size_t slot) const {
  const std::uint64_t length = end() - behind(rank, panel);
  const std::uint64_t width = blocks().count(panel);
  return {memory_[rank.value()]->slots[slot].id(),
          {region(0, length, width, problem_.lower ? length : width)}};
}

std::vector<Layout> CholeskyFactorization::host_panel(Rank rank, BlockIndex panel) {
  const GlobalIndex from = behind(rank, panel);
  const Region part = in_matrix(panel, from, end() - from, problem_.n);
  return {Layout::matrix(results_.data(), part)};
}

// A_jj -= L_jk L_jk^H, then A_ij -= L_ik L_jk^H for the rows i below, for each own block column j;
// mirrored if upper.
Status CholeskyFactorization::update(Rank rank, BlockIndex panel, BlockIndex first,
                                     BlockIndex end) {
  for (BlockIndex block = first; block < end; block = blocks().next_of(rank, block + 1)) {
    OB_RETURN_IF_ERROR(update_diagonal(rank, panel, block));
    OB_RETURN_IF_ERROR(update_below(rank, panel, block));
  }
  return {};
}

Status CholeskyFactorization::update_diagonal(Rank rank, BlockIndex panel, BlockIndex block) {
  const GlobalIndex first = blocks().first(block);
  return DeviceCall(herk_)
      .flag(uplo())
      .flag(problem_.lower ? 'N' : transposed())
      .dim(blocks().count(block))
      .dim(blocks().count(panel))
      .scalar(-1)
      .at(panel_part(rank, panel, first))
      .scalar(1)
      .at(own_part(rank, block, first))
      .submit(exchange().device(rank), exchange().compute(rank));
}

Status CholeskyFactorization::update_below(Rank rank, BlockIndex panel, BlockIndex block) {
  const GlobalIndex below = blocks().end(block);
  const std::uint64_t width = blocks().count(block);
  const std::uint64_t rest = end() - below;
  if (rest == 0) return {};
  const bool lower = problem_.lower;
  const DeviceOperand l_jk = panel_part(rank, panel, blocks().first(block));
  const DeviceOperand l_ik = panel_part(rank, panel, below);
  return DeviceCall(gemm_)
      .flag(lower ? 'N' : transposed())
      .flag(lower ? transposed() : 'N')
      .dim(lower ? rest : width)
      .dim(lower ? width : rest)
      .dim(blocks().count(panel))
      .scalar(-1)
      .at(lower ? l_ik : l_jk)
      .at(lower ? l_jk : l_ik)
      .scalar(1)
      .at(own_part(rank, block, below))
      .submit(exchange().device(rank), exchange().compute(rank));
}

std::int64_t CholeskyFactorization::info() const {
  for (BlockIndex panel; panel < end_panel(); ++panel) {
    const std::int64_t info = infos_[panel.value()];
    if (info != 0) return info + static_cast<std::int64_t>(blocks().first(panel).value());
  }
  return 0;
}

std::int64_t CholeskyFactorization::commit() {
  for (BlockIndex panel; panel < end_panel(); ++panel) {
    const auto copy_part = [&](GlobalIndex from, GlobalIndex to, Triangle triangle) {
      Region result = in_matrix(panel, from, to - from, problem_.n);
      Region a = in_matrix(panel, from, to - from, static_cast<std::uint64_t>(problem_.a.ld));
      result.triangle = a.triangle = triangle;
      copy(Layout::matrix(problem_.a.data, a), Layout::matrix(results_.data(), result));
    };
    const GlobalIndex below = blocks().end(panel);
    copy_part(blocks().first(panel), below, problem_.lower ? Triangle::lower : Triangle::upper);
    if (infos_[panel.value()] != 0) break;
    if (below < end()) copy_part(below, end(), Triangle::full);
  }
  return info();
}

}  // namespace ob::algorithms
