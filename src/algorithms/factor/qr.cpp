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

Status QrFactorization::factor(std::size_t at, std::size_t panel) {
  Device& device = exchange().device(at);
  const DeviceOperand there = own_part(at, panel, blocks().first(panel));
  OB_RETURN_IF_ERROR(DeviceCall(geqrf_)
                         .dim(height(panel))
                         .dim(blocks().count(panel))
                         .at(there)
                         .at(entries(at, panel))
                         .at(info(at, panel))
                         .submit(device, exchange().compute(at)));
  // Libraries change the reflectors for a moment while they apply them, but they are on their way
  // home and to other devices then: what is applied here is a copy.
  return device.copy(exchange().compute(at), there.buffer,
                     matrix(there.offset_bytes, height(panel), depth(panel), problem().m),
                     room(at).slots[slot_of(panel)].id(),
                     matrix(0, height(panel), depth(panel), height(panel)));
}

Status QrFactorization::update(std::size_t at, std::size_t panel, std::size_t first,
                               std::size_t end) {
  const DeviceOperand reflectors{room(at).slots[slot_of(panel)].id(), 0,
                                 static_cast<std::int64_t>(height(panel))};
  return DeviceCall(ormqr_)
      .flag('L')
      .flag(is_complex(problem().precision) ? 'C' : 'T')
      .dim(height(panel))
      .dim(columns(at, first, end))
      .dim(depth(panel))
      .at(reflectors)
      .at(entries(at, panel))
      .at(own_part(at, first, blocks().first(panel)))
      .at(info(at, panels()))
      .submit(exchange().device(at), exchange().compute(at));
}

void QrFactorization::commit(void* tau) {
  copy_to_host();
  std::memcpy(tau, vector_results(), order() * element());
}

}  // namespace ob::algorithms
