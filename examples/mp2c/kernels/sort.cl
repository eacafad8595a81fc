// Particles by cells: a counting sort of their numbers. The order of the atomics is not defined, so
// the sort leaves a cell's particles in any order; collide() brings them in the order of their ids.

// The id of a particle that has left.
#define NOBODY 0xFFFFFFFFu
// The cell of an entry that takes no part.
#define NOWHERE 0xFFFFFFFFu

// The place of a coordinate in a grid of n cells whose origin is shifted, with periodic borders.
int grid_place(double coordinate, double shift, int n) {
  const int place = (int)floor(coordinate + shift);
  return place >= n ? place - n : place;
}

// Which layer of this domain a particle is in, from 0. Layers are numbered round the box, so that
// those of other domains come after those of this one.
int layer_of(double z, double shift, int nz, int first_layer) {
  const int layer = grid_place(z, shift, nz) - first_layer;
  return layer < 0 ? layer + nz : layer;
}

// Counts the particles of each cell, and notes each one's cell and number in it.
// The first `resident` entries are those of the last collision: their solutes are out of date,
// because the program appends the solutes anew.
// lost: the number of particles that belong to no cell of the domain
__kernel void count_cells(__global const double* position, __global const uint* id, uint resident,
                          uint entries, uint fluid, double shift_x, double shift_y, double shift_z,
                          int nx, int ny, int nz, int first_layer, int layers,
                          __global uint* count, __global uint* cell_of, __global uint* number,
                          __global uint* lost) {
  const uint i = (uint)get_global_id(0);
  if (i >= entries) return;
  cell_of[i] = NOWHERE;
  if (id[i] == NOBODY || (i < resident && id[i] >= fluid)) return;
  const int x = grid_place(position[3 * (ulong)i], shift_x, nx);
  const int y = grid_place(position[3 * (ulong)i + 1], shift_y, ny);
  const int z = layer_of(position[3 * (ulong)i + 2], shift_z, nz, first_layer);
  if (x < 0 || x >= nx || y < 0 || y >= ny || z < 0 || z >= layers) {
    atomic_inc(lost);
    return;
  }
  const uint cell = ((uint)z * ny + y) * nx + x;
  cell_of[i] = cell;
  number[i] = atomic_inc(&count[cell]);
}

// Sums in front of each element (an exclusive scan) within parts of SCAN_ITEMS * SCAN_GROUP
// elements, and the sum of each part.
__kernel void scan_parts(__global uint* element, __global uint* part_sum, uint elements) {
  __local uint sums[SCAN_GROUP];
  const uint me = (uint)get_local_id(0), part = (uint)get_group_id(0);
  const uint first = (part * SCAN_GROUP + me) * SCAN_ITEMS;
  uint sum = 0;
  for (uint k = first; k < first + SCAN_ITEMS && k < elements; ++k) sum += element[k];
  sums[me] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint before = 0;
  for (uint k = 0; k < me; ++k) before += sums[k];
  if (me == SCAN_GROUP - 1) part_sum[part] = before + sum;
  for (uint k = first; k < first + SCAN_ITEMS && k < elements; ++k) {
    const uint mine = element[k];
    element[k] = before;
    before += mine;
  }
}

__kernel void add_sums(__global uint* element, __global const uint* part_sum, uint elements) {
  const uint k = (uint)get_global_id(0);
  if (k < elements) element[k] += part_sum[k / (SCAN_ITEMS * SCAN_GROUP)];
}

// Notes the entries of each cell, one cell after another.
__kernel void sort_entries(__global const uint* cell_of, __global const uint* number,
                           __global const uint* begin, uint entries, __global uint* order) {
  const uint i = (uint)get_global_id(0);
  if (i < entries && cell_of[i] != NOWHERE) order[begin[cell_of[i]] + number[i]] = i;
}
