/* A C11 program that knows the header only: a product on the device that its argument names,
   checked by loops. */
#include <outboard/device.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 37, N = 29, K = 41 };

static int failed(const char* what) {
  ob_error error = {.struct_bytes = sizeof error};
  ob_last_error(&error);
  fprintf(stderr, "%s failed with code %d: %s\n", what, (int)error.code, error.message);
  return 1;
}

static double element(int i, int j) { return (double)((i * 7 + j * 3) % 11) - 5; }

static int check(const double* a, const double* b, const double* c) {
  for (int j = 0; j < N; ++j) {
    for (int i = 0; i < M; ++i) {
      double sum = 0;
      for (int k = 0; k < K; ++k) sum += a[i + k * M] * b[k + j * K];
      if (c[i + j * M] != sum) { /* small integers: every order of summation is exact */
        fprintf(stderr, "c(%d, %d) is %g, not %g\n", i, j, c[i + j * M], sum);
        return 1;
      }
    }
  }
  return 0;
}

int main(int count, char** arguments) {
  static double a[M * K], b[K * N], c[M * N];
  for (int k = 0; k < K; ++k) {
    for (int i = 0; i < M; ++i) a[i + k * M] = element(i, k);
    for (int j = 0; j < N; ++j) b[k + j * K] = element(k, j);
  }
  for (int i = 0; i < M * N; ++i) c[i] = -77;

  if (ob_api() >> 16 != OB_API >> 16) return 1;
  ob_device device;
  ob_queue queue;
  ob_buffer memory[3];
  const uint64_t bytes[3] = {sizeof a, sizeof b, sizeof c};
  if (ob_device_open(count > 1 ? arguments[1] : NULL, NULL, &device)) return failed("open");
  if (ob_queue_create(device, 0, &queue)) return failed("queue");
  for (int i = 0; i < 3; ++i) {
    if (ob_buffer_create(device, bytes[i], 0, &memory[i])) return failed("buffer");
  }
  const ob_place pa = {memory[0], 0}, pb = {memory[1], 0}, pc = {memory[2], 0};
  const ob_operand operands[] = {
      {.value.flag = 'N'},          {.value.flag = 'N'},          {.value.integer = M},
      {.value.integer = N},         {.value.integer = K},         {.value.real = 1},
      {.value.place = pa, .ld = M}, {.value.place = pb, .ld = K}, {.value.real = 0},
      {.value.place = pc, .ld = M},
  };
  if (ob_write(queue, pa, a, sizeof a, 0)) return failed("write");
  if (ob_write(queue, pb, b, sizeof b, OB_CAPTURE)) return failed("write");
  if (ob_call(queue, "dgemm", operands, sizeof operands / sizeof *operands)) return failed("dgemm");
  if (ob_read(queue, c, pc, sizeof c, 0)) return failed("read");
  ob_report report = {.struct_bytes = sizeof report};
  if (ob_queue_synchronize(queue, OB_FOREVER, &report)) return failed("synchronize");
  if (ob_device_close(device)) return failed("close");
  return check(a, b, c);
}
