#include "algorithms/factor/cholesky.hpp"

#include <algorithm>

#include "algorithms/device_call.hpp"

namespace ob::algorithms {

CholeskyFactorization::CholeskyFactorization(PanelExchange& exchange, const Problem& problem,
                                             const ColumnDistribution& distribution)
    : BlockedFactorization(exchange, distribution, distribution.blocks()),
      problem_(problem),
      complex_(is_complex(problem.precision)),
      potrf_(routine_of("potrf", problem.precision)),
      trsm_(routine_of("trsm", problem.precision)),
      herk_(routine_of(complex_ ? "herk" : "syrk", problem.precision)),
      gemm_(routine_of("gemm", problem.precision)),
      results_(problem.n * problem.n * element()),
      infos_(panels()),
      rooms_(exchange.size()) {}

// Of a block: `length` along the triangle's long side, `width` across.
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

// A block on its device, from an index along its long side on.
Region CholeskyFactorization::in_own(std::size_t at, std::size_t block, std::uint64_t from,
                                     std::uint64_t length) const {
  const std::uint64_t across = blocks().local_first(block);
  const std::uint64_t along = from - base(at);
  const std::uint64_t ld =
      problem_.lower ? problem_.n - base(at) : blocks().local_count(at, slab_number(at));
  const std::uint64_t index = problem_.lower ? along + across * ld : across + along * ld;
  return region(index * element(), length, blocks().count(block), ld);
}

// The same where all of A lies.
Region CholeskyFactorization::in_matrix(std::size_t block, std::uint64_t from, std::uint64_t length,
                                        std::uint64_t ld) const {
  const std::uint64_t across = blocks().first(block);
  const std::uint64_t index = problem_.lower ? from + across * ld : across + from * ld;
  return region(index * element(), length, blocks().count(block), ld);
}

DeviceOperand CholeskyFactorization::own_part(std::size_t at, std::size_t block,
                                              std::uint64_t from) const {
  const Region part = in_own(at, block, from, 0);
  return {rooms_[at]->own.id(), part.offset_bytes, static_cast<std::int64_t>(part.ld)};
}

// Of a panel what lies behind its block of the diagonal, wherever it is.
DeviceOperand CholeskyFactorization::panel_part(std::size_t at, std::size_t panel,
                                                std::uint64_t from) const {
  if (has(at, panel)) return own_part(at, panel, from);
  const PanelMessage there = receive_buffer(at, panel, slot_of(panel));
  const std::uint64_t step = problem_.lower ? 1 : there.regions[0].ld;
  return {there.buffer, (from - behind(at, panel)) * step * element(),
          static_cast<std::int64_t>(there.regions[0].ld)};
}

Status CholeskyFactorization::allocate(std::size_t at) {
  if (results_.data() == nullptr) {
    return {Code::out_of_memory,
            "no memory for a factor of order " + std::to_string(problem_.n) + " on this side"};
  }
  rooms_[at] = std::make_unique<Room>(exchange().device(at));
  Room& room = *rooms_[at];
  const std::uint64_t n = problem_.n;
  std::uint64_t most = 0;
  for (std::size_t number = 0; number < blocks().slabs(); ++number) {
    const std::uint64_t length = n - blocks().first(blocks().slab(number).first);
    most = std::max(most, length * blocks().local_count(at, number));
  }
  OB_RETURN_IF_ERROR(room.own.allocate(most * element()));
  OB_RETURN_IF_ERROR(room.infos.allocate(panels() * sizeof(std::int64_t)));
  if (exchange().size() == 1 && blocks().slabs() == 1) return {};
  for (DeviceBuffer& slot : room.slots) {
    OB_RETURN_IF_ERROR(slot.allocate(n * blocks().width() * element()));
  }
  return {};
}

Status CholeskyFactorization::send_block(std::size_t at, std::size_t block) {
  const std::uint64_t first = blocks().first(block);
  const std::uint64_t end = blocks().end(block);
  const auto ld = static_cast<std::uint64_t>(problem_.a.ld);
  const auto send = [&](std::uint64_t from, std::uint64_t length, Triangle triangle) {
    if (length == 0) return Status();
    Region home = in_matrix(block, from, length, ld);
    Region there = in_own(at, block, from, length);
    home.triangle = there.triangle = triangle;
    return exchange().send(at, Layout::matrix(problem_.a.data, home), rooms_[at]->own.id(), there);
  };
  OB_RETURN_IF_ERROR(send(first, end - first, problem_.lower ? Triangle::lower : Triangle::upper));
  return send(end, problem_.n - end, Triangle::full);
}

Status CholeskyFactorization::fetch_block(std::size_t at, std::size_t block) {
  const std::uint64_t first = blocks().first(block);
  const std::uint64_t end = blocks().end(block);
  const auto fetch = [&](std::uint64_t from, std::uint64_t length, Triangle triangle) {
    if (length == 0) return Status();
    Region landing = in_matrix(block, from, length, problem_.n);
    Region there = in_own(at, block, from, length);
    landing.triangle = there.triangle = triangle;
    return exchange().fetch(at, rooms_[at]->own.id(), there,
                            Layout::matrix(results_.data(), landing));
  };
  OB_RETURN_IF_ERROR(fetch(first, end - first, problem_.lower ? Triangle::lower : Triangle::upper));
  OB_RETURN_IF_ERROR(fetch(end, problem_.n - end, Triangle::full));
  constexpr std::uint32_t kBytes = sizeof(std::int64_t);
  const Region info{block * kBytes, kBytes, Triangle::full, 1, 1, 1, kBytes};
  return exchange().fetch(at, rooms_[at]->infos.id(), info, Layout::bytes(&infos_[block], kBytes));
}

Status CholeskyFactorization::factor(std::size_t at, std::size_t panel) {
  Device& device = exchange().device(at);
  const std::uint64_t width = blocks().count(panel);
  const std::uint64_t end = blocks().end(panel);
  const std::uint64_t rest = problem_.n - end;
  const char uplo = problem_.lower ? 'L' : 'U';
  const DeviceOperand diagonal = own_part(at, panel, blocks().first(panel));
  const DeviceOperand info{rooms_[at]->infos.id(), panel * sizeof(std::int64_t), 0};
  OB_RETURN_IF_ERROR(DeviceCall(potrf_).flag(uplo).dim(width).at(diagonal).at(info).submit(
      device, exchange().compute(at)));
  if (rest == 0) return {};
  return DeviceCall(trsm_)
      .flag(problem_.lower ? 'R' : 'L')
      .flag(uplo)
      .flag('C')
      .flag('N')
      .dim(problem_.lower ? rest : width)
      .dim(problem_.lower ? width : rest)
      .scalar(1)
      .at(diagonal)
      .at(own_part(at, panel, end))
      .submit(device, exchange().compute(at));
}

PanelMessage CholeskyFactorization::message(std::size_t at, std::size_t panel) const {
  const std::uint64_t end = blocks().end(panel);
  return {rooms_[at]->own.id(), {in_own(at, panel, end, problem_.n - end)}};
}

PanelMessage CholeskyFactorization::receive_buffer(std::size_t at, std::size_t panel,
                                                   std::size_t slot) const {
  const std::uint64_t length = problem_.n - behind(at, panel);
  const std::uint64_t width = blocks().count(panel);
  return {rooms_[at]->slots[slot].id(),
          {region(0, length, width, problem_.lower ? length : width)}};
}

std::vector<Layout> CholeskyFactorization::host_panel(std::size_t at, std::size_t panel) {
  const std::uint64_t from = behind(at, panel);
  const Region part = in_matrix(panel, from, problem_.n - from, problem_.n);
  return {Layout::matrix(results_.data(), part)};
}

Status CholeskyFactorization::update(std::size_t at, std::size_t panel, std::size_t first,
                                     std::size_t end) {
  for (std::size_t block = first; block < end; block = blocks().next_of(at, block + 1)) {
    OB_RETURN_IF_ERROR(update_block(at, panel, block));
  }
  return {};
}

// With P the panel's rows of the block, and R those behind: the block's diagonal gets - P P^H, what
// lies below it - R P^H; mirrored if upper.
Status CholeskyFactorization::update_block(std::size_t at, std::size_t panel, std::size_t block) {
  Device& device = exchange().device(at);
  const QueueId queue = exchange().compute(at);
  const bool lower = problem_.lower;
  const std::uint64_t depth = blocks().count(panel);
  const std::uint64_t width = blocks().count(block);
  const std::uint64_t first = blocks().first(block);
  const std::uint64_t end = blocks().end(block);
  const std::uint64_t rest = problem_.n - end;
  const DeviceOperand p = panel_part(at, panel, first);
  const char mirrored = complex_ ? 'C' : 'T';
  OB_RETURN_IF_ERROR(DeviceCall(herk_)
                         .flag(lower ? 'L' : 'U')
                         .flag(lower ? 'N' : mirrored)
                         .dim(width)
                         .dim(depth)
                         .scalar(-1)
                         .at(p)
                         .scalar(1)
                         .at(own_part(at, block, first))
                         .submit(device, queue));
  if (rest == 0) return {};
  const DeviceOperand r = panel_part(at, panel, end);
  return DeviceCall(gemm_)
      .flag(lower ? 'N' : mirrored)
      .flag(lower ? mirrored : 'N')
      .dim(lower ? rest : width)
      .dim(lower ? width : rest)
      .dim(depth)
      .scalar(-1)
      .at(lower ? r : p)
      .at(lower ? p : r)
      .scalar(1)
      .at(own_part(at, block, end))
      .submit(device, queue);
}

std::int64_t CholeskyFactorization::info() const {
  for (std::size_t panel = 0; panel < panels(); ++panel) {
    if (infos_[panel] != 0) {
      return infos_[panel] + static_cast<std::int64_t>(blocks().first(panel));
    }
  }
  return 0;
}

std::int64_t CholeskyFactorization::commit() {
  const std::int64_t failed = info();
  for (std::size_t panel = 0; panel < panels(); ++panel) {
    const auto copy_part = [&](std::uint64_t from, std::uint64_t to, Triangle triangle) {
      Region here = in_matrix(panel, from, to - from, problem_.n);
      Region home = in_matrix(panel, from, to - from, static_cast<std::uint64_t>(problem_.a.ld));
      here.triangle = home.triangle = triangle;
      copy(Layout::matrix(problem_.a.data, home), Layout::matrix(results_.data(), here));
    };
    const std::uint64_t end = blocks().end(panel);
    copy_part(blocks().first(panel), end, problem_.lower ? Triangle::lower : Triangle::upper);
    if (infos_[panel] != 0) break;
    if (end < problem_.n) copy_part(end, problem_.n, Triangle::full);
  }
  return failed;
}

}  // namespace ob::algorithms
