// Heat in a rod with a heater: heat.cu for the C++ side of the device API.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <outboard/device.hpp>
#include <utility>
#include <vector>

#include "heat_kernels.h"

int main(int count, char** arguments) {
  using namespace outboard;
  const std::int32_t n = count > 2 ? std::atoi(arguments[2]) : 1000;
  const int steps = count > 3 ? std::atoi(arguments[3]) : 100;
  const std::uint32_t groups = (n + GROUP - 1) / GROUP;
  const double dt = 0.25, c = 0.25;
  std::vector<double> u(n), heater(n), partial(groups);
  for (int i = n / 4; i < n / 2; ++i) heater[i] = 1.0 / (1 + i);
  try {
    const Device device(count > 1 ? arguments[1] : "");
    const Queue queue = device.queue();
    Vector<double> on_u(device, n), on_next(device, n);
    const Vector<double> on_heater(device, n), on_partial(device, groups);
    queue.write(on_heater, heater.data());
    queue.fill(on_u, 0.0);

    const std::string source = heat_kernels;
    const Module module(device, portable(source), "-D GROUP=" + std::to_string(GROUP));
    using I = std::int32_t;
    const auto warm = module.kernel<I, double, In<double>, InOut<double>>("warm");
    const auto diffuse = module.kernel<I, double, In<double>, Out<double>>("diffuse");
    const auto add_squares =
        module.kernel<I, In<double>, Out<double>, Local<double>>("add_squares");

    for (int step = 0; step < steps; ++step) {
      warm(queue, {groups}, {GROUP}, n, dt, on_heater, on_u);
      diffuse(queue, {groups}, {GROUP}, n, c, on_u, on_next);
      std::swap(on_u, on_next);
    }
    add_squares(queue, {groups}, {GROUP}, n, on_u, on_partial, {GROUP});
    queue.read(u.data(), on_u);
    queue.read(partial.data(), on_partial);
    queue.synchronize();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  const double energy = std::accumulate(partial.begin(), partial.end(), 0.0);
  std::printf("%.17g %.17g\n", energy, u[n / 2]);
}
