/* y <- 2 x + y on a device. */
#include <outboard/device.h>
#include <stdio.h>
#include <stdlib.h>

static void check(ob_status status) {
  ob_error error = {.struct_bytes = sizeof error};
  if (status == OB_OK) return;
  ob_last_error(&error);
  fprintf(stderr, "%s\n", error.message);
  exit(1);
}

int main(int count, char** arguments) {
  double x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40};
  ob_device device;
  ob_queue queue;
  ob_buffer on_x, on_y;
  check(ob_device_open(count > 1 ? arguments[1] : NULL, NULL, &device));
  check(ob_queue_create(device, 0, &queue));
  check(ob_buffer_create(device, sizeof x, 0, &on_x));
  check(ob_buffer_create(device, sizeof y, 0, &on_y));
  ob_operand operands[] = {
      {.value.integer = 4},
      {.value.real = 2},
      {.value.place = {on_x, 0}, .ld = 1},
      {.value.place = {on_y, 0}, .ld = 1},
  };
  check(ob_write(queue, operands[2].value.place, x, sizeof x, 0));
  check(ob_write(queue, operands[3].value.place, y, sizeof y, 0));
  check(ob_call(queue, "daxpy", operands, 4));
  check(ob_read(queue, y, operands[3].value.place, sizeof y, 0));
  check(ob_queue_synchronize(queue, OB_FOREVER, NULL));
  check(ob_device_close(device));
  printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
  return 0;
}
