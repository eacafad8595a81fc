/* y <- a x + y by a kernel of the program. */
#include <outboard/device.h>
#include <stdio.h>
#include <stdlib.h>

static const char source[] =
    "__kernel void axpy(double a, __global const double* x, __global double* y, ulong n) {\n"
    "  const ulong i = get_global_id(0);\n"
    "  if (i < n) y[i] = a * x[i] + y[i];\n"
    "}\n";

static void check(ob_status status) {
  ob_error error = {.struct_bytes = sizeof error};
  if (status == OB_OK) return;
  ob_last_error(&error);
  fprintf(stderr, "%s\n", error.message);
  exit(1);
}

int main(int count, char** arguments) {
  double x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40}, a = 2;
  uint64_t n = 4;
  ob_device device;
  ob_queue queue;
  ob_buffer on_x, on_y;
  ob_module module;
  ob_kernel axpy;
  check(ob_device_open(count > 1 ? arguments[1] : NULL, NULL, &device));
  check(ob_queue_create(device, 0, &queue));
  check(ob_buffer_create(device, sizeof x, 0, &on_x));
  check(ob_buffer_create(device, sizeof y, 0, &on_y));
  const ob_variant variant = {.kind = OB_PORTABLE, .bytes = source};
  check(ob_module_load(device, &variant, 1, NULL, &module));
  check(ob_kernel_create(module, "axpy", &axpy));
  const ob_argument values[] = {
      {.kind = OB_ARGUMENT_SCALAR, .bytes = sizeof a, .as.value = &a},
      {.kind = OB_ARGUMENT_BUFFER, .as.place = {on_x, 0}, .access = OB_ACCESS_READ},
      {.kind = OB_ARGUMENT_BUFFER, .as.place = {on_y, 0}},
      {.kind = OB_ARGUMENT_SCALAR, .bytes = sizeof n, .as.value = &n},
  };
  for (uint32_t i = 0; i < 4; ++i) check(ob_kernel_set(axpy, i, &values[i]));
  check(ob_write(queue, values[1].as.place, x, sizeof x, 0));
  check(ob_write(queue, values[2].as.place, y, sizeof y, 0));
  const uint32_t groups[3] = {1, 1, 1}, group_size[3] = {64, 1, 1};
  check(ob_kernel_run(axpy, queue, groups, group_size));
  check(ob_read(queue, y, values[2].as.place, sizeof y, 0));
  check(ob_queue_synchronize(queue, OB_FOREVER, NULL));
  check(ob_device_close(device));
  printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
  return 0;
}
