#include "algorithms/factor/qr.hpp"

#include <cstring>

#include "algorithms/device_call.hpp"

namespace ob::algorithms {

QrFactorization::QrFactorization(PanelExchange& exchange, const Problem& problem,
                                 const ColumnDistribution& distribution)
    : GeneralFactorization(exchange, problem, distribution, element_bytes(problem.precision),
                           static_cast<std::uint8_t>(real_bytes(problem.precision))),
      geqrf_(routine_of("geqrf", problem.precision)),
      ormqr_(routine_of(is_complex(problem.precision) ? "unmqr" : "ormqr", problem.precision)) {}

Status QrFactorization::factor(Rank rank, BlockIndex panel) {
  Device& device = exchange().device(rank);
  const DeviceOperand own = own_part(rank, panel, blocks().first(panel));
  OB_RETURN_IF_ERROR(DeviceCall(geqrf_)
                         .dim(height(panel))
                         .dim(blocks().count(panel))
                         .at(own)
                         .at(entries(rank, panel))
                         .at(info(rank, panel))
                         .submit(device, exchange().compute(rank)));
  // Libraries change the reflectors for a moment while they apply them, when the reflectors are
  // also being sent to the host and to other devices. So the device applies a copy.
  return device.copy(exchange().compute(rank), own.buffer,
                     matrix(own.offset_bytes, height(panel), depth(panel), problem().m),
                     memory(rank).slots[slot_of(panel)].id(),
                     matrix(0, height(panel), depth(panel), height(panel)));
}

Status QrFactorization::update(Rank rank, BlockIndex panel, BlockIndex first, BlockIndex end) {
  const DeviceOperand reflectors{memory(rank).slots[slot_of(panel)].id(), 0,
                                 static_cast<std::int64_t>(height(panel))};
  return DeviceCall(ormqr_)
      .flag('L')
      .flag(is_complex(problem().precision) ? 'C' : 'T')
      .dim(height(panel))
      .dim(columns(rank, first, end))
      .dim(depth(panel))
      .at(reflectors)
      .at(entries(rank, panel))
      .at(own_part(rank, first, blocks().first(panel)))
      .at(info(rank, end_panel()))
      .submit(exchange().device(rank), exchange().compute(rank));
}

void QrFactorization::commit(void* tau) {
  copy_to_host();
  std::memcpy(tau, vector_results(), order() * element());
}

}  // namespace ob::algorithms
