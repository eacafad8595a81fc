// Heat in a rod with a heater: a vector update, a stencil and a reduction, in CUDA C++.
// heat.c and heat.cpp are the same program for the device API of Outboard.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define GROUP 128

static void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  fprintf(stderr, "%s\n", cudaGetErrorString(status));
  exit(1);
}

// u <- u + dt heater
__global__ void warm(int n, double dt, const double* __restrict__ heater, double* u) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) u[i] = u[i] + dt * heater[i];
}

// next <- u + c (left - 2 u + right); the ends of the rod are kept at 0.
__global__ void diffuse(int n, double c, const double* __restrict__ u, double* next) {
  __shared__ double tile[GROUP + 2];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int t = threadIdx.x + 1;
  tile[t] = i < n ? u[i] : 0.0;
  if (threadIdx.x == 0) tile[0] = i > 0 ? u[i - 1] : 0.0;
  if (threadIdx.x == GROUP - 1) tile[GROUP + 1] = i + 1 < n ? u[i + 1] : 0.0;
  __syncthreads();
  if (i < n) next[i] = tile[t] + c * (tile[t - 1] - 2.0 * tile[t] + tile[t + 1]);
}

// partial[b] <- the sum of squares of the block's elements
__global__ void add_squares(int n, const double* __restrict__ u, double* partial) {
  extern __shared__ double sum[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  sum[threadIdx.x] = i < n ? u[i] * u[i] : 0.0;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sum[threadIdx.x] += sum[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = sum[0];
}

int main(int count, char** arguments) {
  int n = count > 1 ? atoi(arguments[1]) : 1000, steps = count > 2 ? atoi(arguments[2]) : 100;
  int blocks = (n + GROUP - 1) / GROUP;
  size_t bytes = n * sizeof(double);
  double dt = 0.25, c = 0.25, energy = 0.0;
  double* u = (double*)calloc(n, sizeof(double));
  double* heater = (double*)calloc(n, sizeof(double));
  double* partial = (double*)calloc(blocks, sizeof(double));
  for (int i = n / 4; i < n / 2; ++i) heater[i] = 1.0 / (1 + i);

  cudaStream_t stream;
  double *on_u, *on_next, *on_heater, *on_partial;
  check(cudaStreamCreate(&stream));
  check(cudaMalloc((void**)&on_u, bytes));
  check(cudaMalloc((void**)&on_next, bytes));
  check(cudaMalloc((void**)&on_heater, bytes));
  check(cudaMalloc((void**)&on_partial, blocks * sizeof(double)));
  check(cudaMemcpyAsync(on_heater, heater, bytes, cudaMemcpyHostToDevice, stream));
  check(cudaMemsetAsync(on_u, 0, bytes, stream));

  for (int step = 0; step < steps; ++step) {
    warm<<<blocks, GROUP, 0, stream>>>(n, dt, on_heater, on_u);
    diffuse<<<blocks, GROUP, 0, stream>>>(n, c, on_u, on_next);
    double* other = on_u;
    on_u = on_next;
    on_next = other;
  }
  add_squares<<<blocks, GROUP, GROUP * sizeof(double), stream>>>(n, on_u, on_partial);
  check(cudaGetLastError());
  check(cudaMemcpyAsync(u, on_u, bytes, cudaMemcpyDeviceToHost, stream));
  check(cudaMemcpyAsync(partial, on_partial, blocks * sizeof(double), cudaMemcpyDeviceToHost,
                        stream));
  check(cudaStreamSynchronize(stream));

  for (int b = 0; b < blocks; ++b) energy += partial[b];
  printf("%.17g %.17g\n", energy, u[n / 2]);
  check(cudaFree(on_u));
  check(cudaFree(on_next));
  check(cudaFree(on_heater));
  check(cudaFree(on_partial));
  check(cudaStreamDestroy(stream));
  free(u);
  free(heater);
  free(partial);
  return 0;
}
