/* The emitted functions of outboard/device_routines.h in C11: all of them compile, and those that
   are called here compute. Numbers are small integers, so results are exact. */
#include <outboard/device_routines.h>
#include <stdio.h>
#include <stdlib.h>

static ob_device device;
static ob_queue queue;

static void check(ob_status status, const char* what) {
  ob_error error = {.struct_bytes = sizeof error};
  if (status == OB_OK) return;
  ob_last_error(&error);
  fprintf(stderr, "%s: %s\n", what, error.message);
  exit(1);
}

static ob_place place(const void* contents, size_t bytes) {
  ob_place made = {NULL, 0};
  check(ob_buffer_create(device, bytes, 0, &made.buffer), "a buffer");
  check(ob_write(queue, made, contents, bytes, OB_CAPTURE), "a write");
  return made;
}

static void expect(ob_place from, const double* expected, size_t count, const char* what) {
  double found[16];
  check(ob_read(queue, found, from, count * sizeof(double), OB_WAIT), what);
  for (size_t i = 0; i < count; ++i) {
    if (found[i] == expected[i]) continue;
    fprintf(stderr, "%s: element %zu is %g, not %g\n", what, i, found[i], expected[i]);
    exit(1);
  }
}

static void gemm(void) {
  const double a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, c[] = {1, 1, 1, 1};
  const double plain[] = {2 * 23 + 3, 2 * 34 + 3, 2 * 31 + 3, 2 * 46 + 3};
  const double flipped[] = {2 * 17 + 3, 2 * 39 + 3, 2 * 23 + 3, 2 * 53 + 3};
  const ob_place at_a = place(a, sizeof a), at_b = place(b, sizeof b);
  ob_place at_c = place(c, sizeof c);
  check(ob_dgemm(queue, 'N', 'N', 2, 2, 2, 2, at_a, 2, at_b, 2, 3, at_c, 2), "dgemm");
  expect(at_c, plain, 4, "dgemm");
  at_c = place(c, sizeof c);
  check(ob_dgemm(queue, 'T', 'N', 2, 2, 2, 2, at_a, 2, at_b, 2, 3, at_c, 2), "dgemm");
  expect(at_c, flipped, 4, "dgemm, transposed");
}

static void complex_gemm(void) {
  const double a[] = {1, 2}, b[] = {3, 4}, c[] = {9, 9};               /* 1 x 1 */
  const double i[2] = {0, 1}, zero[2] = {0, 0}, product[] = {-10, -5}; /* i (1+2i)(3+4i) */
  const ob_place at_c = place(c, sizeof c);
  check(ob_zgemm(queue, 'N', 'N', 1, 1, 1, i, place(a, sizeof a), 1, place(b, sizeof b), 1, zero,
                 at_c, 1),
        "zgemm");
  expect(at_c, product, 2, "zgemm");
}

static void vectors(void) {
  const double x[] = {1, -1, 2, -1, 3}, y[] = {10, 20, 30}, none = -1;
  const double sum[] = {12, 24, 36}, dot[] = {12 + 2 * 24 + 3 * 36};
  const ob_place at_x = place(x, sizeof x), at_y = place(y, sizeof y);
  const ob_place result = place(&none, sizeof none);
  check(ob_daxpy(queue, 3, 2, at_x, 2, at_y, 1), "daxpy");
  expect(at_y, sum, 3, "daxpy");
  check(ob_ddot(queue, 3, at_x, 2, at_y, 1, result), "ddot");
  expect(result, dot, 1, "ddot");
}

static void solve(void) {
  const double a[] = {0, 1, 2, 3}, b[] = {4, 7}, x[] = {1, 2}; /* 2 y = 4, x + 3 y = 7 */
  const int64_t none[] = {-1, -1};
  int64_t pivots[2] = {0, 0}, info = -1;
  const ob_place at_b = place(b, sizeof b), at_pivots = place(none, sizeof none);
  const ob_place at_info = place(none, sizeof info);
  check(ob_dgesv(queue, 2, 1, place(a, sizeof a), 2, at_pivots, at_b, 2, at_info), "dgesv");
  expect(at_b, x, 2, "dgesv");
  check(ob_read(queue, pivots, at_pivots, sizeof pivots, 0), "pivots");
  check(ob_read(queue, &info, at_info, sizeof info, OB_WAIT), "info");
  if (info != 0 || pivots[0] != 2 || pivots[1] != 2) {
    fprintf(stderr, "dgesv: info %ld, pivots %ld %ld\n", (long)info, (long)pivots[0],
            (long)pivots[1]);
    exit(1);
  }
}

int main(int count, char** arguments) {
  check(ob_device_open(count > 1 ? arguments[1] : NULL, NULL, &device), "a device");
  check(ob_queue_create(device, 0, &queue), "a queue");
  gemm();
  complex_gemm();
  vectors();
  solve();
  if (ob_dgemm(queue, 'X', 'N', 2, 2, 2, 1, place("1234567", 8), 2, place("1234567", 8), 2, 0,
               place("1234567", 8), 2) != OB_INVALID_ARGUMENT) {
    fprintf(stderr, "an illegal flag was accepted\n");
    return 1;
  }
  check(ob_device_close(device), "the end");
  return 0;
}
