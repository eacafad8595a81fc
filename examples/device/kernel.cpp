// y <- 2 x + y by a kernel of the program.
#include <cstdint>
#include <cstdio>
#include <outboard/device.hpp>

int main(int count, char** arguments) {
  using outboard::In, outboard::InOut;
  const std::string source = R"(
__kernel void axpy(double a, __global const double* x, __global double* y, ulong n) {
  const ulong i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}
)";
  const double x[] = {1, 2, 3, 4};
  double y[] = {10, 20, 30, 40};
  try {
    const outboard::Device device(count > 1 ? arguments[1] : "");
    const outboard::Queue queue = device.queue();
    const outboard::Vector<double> on_x(device, 4), on_y(device, 4);
    const outboard::Module module(device, outboard::portable(source));
    const auto axpy = module.kernel<double, In<double>, InOut<double>, std::uint64_t>("axpy");
    queue.write(on_x, x);
    queue.write(on_y, y);
    axpy(queue, {1}, {64}, 2.0, on_x, on_y, 4);
    queue.read(y, on_y);
    queue.synchronize();
  } catch (const outboard::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  std::printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
}
