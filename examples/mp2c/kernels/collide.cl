// Collisions: v <- V + R (v - V) with the mean velocity V of a cell and a rotation R about a random
// axis; with a thermostat, relative velocities are also scaled to a random energy.

// Brings a cell's entries in the order of their ids. A cell has some ten of them.
void sort_by_id(__global uint* order, uint first, uint last, __global const uint* id) {
  for (uint k = first + 1; k < last; ++k) {
    const uint entry = order[k], key = id[entry];
    uint j = k;
    for (; j > first && id[order[j - 1]] > key; --j) order[j] = order[j - 1];
    order[j] = entry;
  }
}

double4 velocity_of(__global const double* velocity, ulong i) {
  return make_double4(velocity[3 * i], velocity[3 * i + 1], velocity[3 * i + 2], 0.0);
}

double dot_of(double4 a, double4 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

// v rotated about the axis n (Rodrigues).
double4 rotated(double4 v, double4 n, double cosine, double sine) {
  const double along = dot_of(n, v) * (1.0 - cosine);
  return make_double4(v.x * cosine + (n.y * v.z - n.z * v.y) * sine + n.x * along,
                      v.y * cosine + (n.z * v.x - n.x * v.z) * sine + n.y * along,
                      v.z * cosine + (n.x * v.y - n.y * v.x) * sine + n.z * along, 0.0);
}

// One work-item collides one cell. The particles go to the second set of arrays, sorted by cells.
// solute_velocity: of the solutes again, in the order in which they were appended at `solutes_at`
// kt: the temperature of the thermostat; 0: no thermostat
__kernel void collide(__global const uint* begin, __global uint* order, uint cells,
                      uint first_cell, __global const double* position,
                      __global const double* velocity, __global const uint* id,
                      __global double* out_position, __global double* out_velocity,
                      __global uint* out_id, __global double* solute_velocity, uint solutes_at,
                      uint fluid, double solute_mass, double cosine, double sine, double kt,
                      ulong seed, uint step) {
  const uint cell = (uint)get_global_id(0);
  if (cell >= cells) return;
  const uint first = begin[cell], last = begin[cell + 1];
  sort_by_id(order, first, last, id);

  double mass = 0.0, px = 0.0, py = 0.0, pz = 0.0;
  for (uint k = first; k < last; ++k) {
    const ulong i = order[k];
    const double m = id[i] < fluid ? 1.0 : solute_mass;
    mass += m;
    px += m * velocity[3 * i];
    py += m * velocity[3 * i + 1];
    pz += m * velocity[3 * i + 2];
  }
  const bool alone = last - first < 2;
  const double4 mean = make_double4(px / mass, py / mass, pz / mass, 0.0);
  double scale = 1.0;
  double4 axis = make_double4(0.0, 0.0, 1.0, 0.0);
  if (!alone) axis = random_axis(seed, first_cell + cell, step);
  if (!alone && kt > 0.0) {
    double energy = 0.0;
    for (uint k = first; k < last; ++k) {
      const ulong i = order[k];
      const double4 u = velocity_of(velocity, i) - mean;
      energy += 0.5 * (id[i] < fluid ? 1.0 : solute_mass) * dot_of(u, u);
    }
    const double shape = 1.5 * (last - first - 1);
    const double drawn = kt * random_gamma(seed, first_cell + cell, step, shape);
    if (energy > 0.0) scale = sqrt(drawn / energy);
  }

  for (uint k = first; k < last; ++k) {
    const ulong i = order[k], to = k;
    double4 v = velocity_of(velocity, i);
    if (!alone) {
      const double4 u = rotated(v - mean, axis, cosine, sine);
      v = make_double4(mean.x + scale * u.x, mean.y + scale * u.y, mean.z + scale * u.z, 0.0);
    }
    out_velocity[3 * to] = v.x;
    out_velocity[3 * to + 1] = v.y;
    out_velocity[3 * to + 2] = v.z;
    for (int d = 0; d < 3; ++d) out_position[3 * to + d] = position[3 * i + d];
    out_id[to] = id[i];
    if (id[i] >= fluid) {
      const ulong s = i - solutes_at;
      solute_velocity[3 * s] = v.x;
      solute_velocity[3 * s + 1] = v.y;
      solute_velocity[3 * s + 2] = v.z;
    }
  }
}
