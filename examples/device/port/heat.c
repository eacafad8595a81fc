/* Heat in a rod with a heater: heat.cu for the device API. */
#include <outboard/device.h>
#include <stdio.h>
#include <stdlib.h>

#include "heat_kernels.h"

static void check(ob_status status) {
  ob_error error = {.struct_bytes = sizeof error};
  if (status == OB_OK) return;
  ob_last_error(&error);
  fprintf(stderr, "%s\n", error.message);
  exit(1);
}

static void set_int(ob_kernel kernel, uint32_t index, int32_t value) {
  const ob_argument argument = {.kind = OB_ARGUMENT_SCALAR, .bytes = 4, .as.value = &value};
  check(ob_kernel_set(kernel, index, &argument));
}

static void set_double(ob_kernel kernel, uint32_t index, double value) {
  const ob_argument argument = {.kind = OB_ARGUMENT_SCALAR, .bytes = 8, .as.value = &value};
  check(ob_kernel_set(kernel, index, &argument));
}

static void set_buffer(ob_kernel kernel, uint32_t index, ob_buffer buffer, uint32_t access) {
  const ob_argument argument = {
      .kind = OB_ARGUMENT_BUFFER, .as.place = {buffer, 0}, .access = access};
  check(ob_kernel_set(kernel, index, &argument));
}

int main(int count, char** arguments) {
  const char* where = count > 1 ? arguments[1] : NULL;
  int n = count > 2 ? atoi(arguments[2]) : 1000, steps = count > 3 ? atoi(arguments[3]) : 100;
  const uint32_t groups[3] = {(n + GROUP - 1) / GROUP, 1, 1}, group_size[3] = {GROUP, 1, 1};
  uint64_t bytes = n * sizeof(double);
  double dt = 0.25, c = 0.25, energy = 0.0;
  const double zero = 0.0;
  double* u = calloc(n, sizeof(double));
  double* heater = calloc(n, sizeof(double));
  double* partial = calloc(groups[0], sizeof(double));
  for (int i = n / 4; i < n / 2; ++i) heater[i] = 1.0 / (1 + i);

  ob_device device;
  ob_queue queue;
  ob_buffer on_u, on_next, on_heater, on_partial;
  check(ob_device_open(where, NULL, &device));
  check(ob_queue_create(device, 0, &queue));
  check(ob_buffer_create(device, bytes, 0, &on_u));
  check(ob_buffer_create(device, bytes, 0, &on_next));
  check(ob_buffer_create(device, bytes, 0, &on_heater));
  check(ob_buffer_create(device, groups[0] * sizeof(double), 0, &on_partial));
  check(ob_write(queue, (ob_place){on_heater, 0}, heater, bytes, 0));
  check(ob_fill(queue, (ob_place){on_u, 0}, &zero, sizeof zero, n));

  ob_module module;
  ob_kernel warm, diffuse, add_squares;
  char options[32];
  snprintf(options, sizeof options, "-D GROUP=%d", GROUP);
  const ob_variant variant = {.kind = OB_PORTABLE, .bytes = heat_kernels};
  check(ob_module_load(device, &variant, 1, options, &module));
  check(ob_kernel_create(module, "warm", &warm));
  check(ob_kernel_create(module, "diffuse", &diffuse));
  check(ob_kernel_create(module, "add_squares", &add_squares));

  set_int(warm, 0, n);
  set_double(warm, 1, dt);
  set_buffer(warm, 2, on_heater, OB_ACCESS_READ);
  set_int(diffuse, 0, n);
  set_double(diffuse, 1, c);
  for (int step = 0; step < steps; ++step) {
    set_buffer(warm, 3, on_u, OB_ACCESS_READ | OB_ACCESS_WRITE);
    check(ob_kernel_run(warm, queue, groups, group_size));
    set_buffer(diffuse, 2, on_u, OB_ACCESS_READ);
    set_buffer(diffuse, 3, on_next, OB_ACCESS_WRITE);
    check(ob_kernel_run(diffuse, queue, groups, group_size));
    ob_buffer other = on_u;
    on_u = on_next;
    on_next = other;
  }
  const ob_argument sum = {.kind = OB_ARGUMENT_LOCAL, .bytes = GROUP * sizeof(double)};
  set_int(add_squares, 0, n);
  set_buffer(add_squares, 1, on_u, OB_ACCESS_READ);
  set_buffer(add_squares, 2, on_partial, OB_ACCESS_WRITE);
  check(ob_kernel_set(add_squares, 3, &sum));
  check(ob_kernel_run(add_squares, queue, groups, group_size));
  check(ob_read(queue, u, (ob_place){on_u, 0}, bytes, 0));
  check(ob_read(queue, partial, (ob_place){on_partial, 0}, groups[0] * sizeof(double), 0));
  check(ob_queue_synchronize(queue, OB_FOREVER, NULL));

  for (uint32_t b = 0; b < groups[0]; ++b) energy += partial[b];
  printf("%.17g %.17g\n", energy, u[n / 2]);
  check(ob_device_close(device)); /* destroys all that was made of it */
  free(u);
  free(heater);
  free(partial);
  return 0;
}
