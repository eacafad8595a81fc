// Particles between collisions: streaming, and those that change to another domain.

// A coordinate in [0, length).
double wrapped(double x, double length) {
  if (x < 0.0) x += length;
  return x >= length ? x - length : x;
}

// r <- r + h v for the fluid; the program moves the solutes.
__kernel void stream(__global double* position, __global const double* velocity,
                     __global const uint* id, uint entries, uint fluid, double h, double length_x,
                     double length_y, double length_z) {
  const ulong i = get_global_id(0);
  if (i >= entries || id[i] >= fluid) return;
  position[3 * i] = wrapped(position[3 * i] + h * velocity[3 * i], length_x);
  position[3 * i + 1] = wrapped(position[3 * i + 1] + h * velocity[3 * i + 1], length_y);
  position[3 * i + 2] = wrapped(position[3 * i + 2] + h * velocity[3 * i + 2], length_z);
}

// Moves the fluid particles that are in layers of other domains to a record: place, velocity and id
// as 7 numbers. Those for the domain below go to the first `capacity` records, those for the one
// above to the next. `leaving` counts both, also what had no room.
__kernel void pack(__global const double* position, __global const double* velocity,
                   __global uint* id, uint entries, uint fluid, double shift_z, int nz,
                   int first_layer, int layers, __global double* record, uint capacity,
                   __global uint* leaving) {
  const ulong i = get_global_id(0);
  if (i >= entries || id[i] >= fluid) return;
  const int layer = layer_of(position[3 * i + 2], shift_z, nz, first_layer);
  if (layer < layers) return;
  const uint way = layer - layers < (nz - layers + 1) / 2 ? 1 : 0;  // 1: up
  const uint place = atomic_inc(&leaving[way]);
  if (place >= capacity) return;
  const ulong to = 7 * ((ulong)way * capacity + place);
  for (int d = 0; d < 3; ++d) {
    record[to + d] = position[3 * i + d];
    record[to + 3 + d] = velocity[3 * i + d];
  }
  record[to + 6] = (double)id[i];
  id[i] = NOBODY;
}

// Appends particles from records.
__kernel void unpack(__global const double* record, uint records, uint at,
                     __global double* position, __global double* velocity, __global uint* id) {
  const ulong k = get_global_id(0);
  if (k >= records) return;
  const ulong to = at + k;
  for (int d = 0; d < 3; ++d) {
    position[3 * to + d] = record[7 * k + d];
    velocity[3 * to + d] = record[7 * k + 3 + d];
  }
  id[to] = (uint)record[7 * k + 6];
}
