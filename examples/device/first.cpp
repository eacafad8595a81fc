// y <- 2 x + y on a device.
#include <cstdio>
#include <outboard/device.hpp>

int main(int count, char** arguments) {
  const double x[] = {1, 2, 3, 4};
  double y[] = {10, 20, 30, 40};
  try {
    const outboard::Device device(count > 1 ? arguments[1] : "");
    const outboard::Queue queue = device.queue();
    const outboard::Vector<double> on_x(device, 4), on_y(device, 4);
    queue.write(on_x, x);
    queue.write(on_y, y);
    queue.call("daxpy", {outboard::integer(4), outboard::scalar(2), outboard::operand(on_x, 1),
                         outboard::operand(on_y, 1)});
    queue.read(y, on_y);
    queue.synchronize();
  } catch (const outboard::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  std::printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
}
