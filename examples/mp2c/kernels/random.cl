// Random numbers that depend on (seed, counter) alone: Philox4x32-10 of Salmon et al. (SC 2011).
// Only sums, products, quotients and square roots are used, which all devices round alike, so a
// simulation gives the same bits everywhere.

// Four random words of a counter: ten rounds.
uint4 philox(uint4 word, ulong seed) {
  uint low_key = (uint)seed, high_key = (uint)(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const ulong first = (ulong)word.x * 0xD2511F53u;
    const ulong second = (ulong)word.z * 0xCD9E8D57u;
    word = make_uint4((uint)(second >> 32) ^ word.y ^ low_key, (uint)second,
                      (uint)(first >> 32) ^ word.w ^ high_key, (uint)first);
    low_key += 0x9E3779B9u;
    high_key += 0xBB67AE85u;
  }
  return word;
}

// What the numbers of a cell are for. A purpose has a sequence of its own.
#define FOR_AXIS 0u
#define FOR_THERMOSTAT 1u

// Two numbers in (0, 1), of 53 bits each: number `index` of a sequence.
double2 uniform_pair(ulong seed, uint cell, uint step, uint purpose, uint index) {
  const uint4 word = philox(make_uint4(cell, step, purpose, index), seed);
  const double unit = 1.0 / 9007199254740992.0;  // 2^-53
  const ulong first = ((ulong)word.x << 32 | word.y) >> 11;
  const ulong second = ((ulong)word.z << 32 | word.w) >> 11;
  return make_double2(((double)first + 0.5) * unit, ((double)second + 0.5) * unit);
}

// The natural logarithm of x > 0 that is normal: 2 artanh(z) with z = (m - 1) / (m + 1), and m in
// [sqrt(1/2), sqrt(2)). The series' first omitted term is below 2^-60.
double log_of(double x) {
  const ulong bits = as_ulong(x);
  int exponent = (int)(bits >> 52) - 1023;
  double m = as_double((bits & 0xFFFFFFFFFFFFFul) | 0x3FF0000000000000ul);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    exponent += 1;
  }
  const double z = (m - 1.0) / (m + 1.0), square = z * z;
  double sum = 0.0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return 2.0 * z * sum + exponent * 0.6931471805599453;
}

// A point on the unit sphere (Marsaglia 1972).
double4 random_axis(ulong seed, uint cell, uint step) {
  for (uint index = 0;; ++index) {
    const double2 pair = uniform_pair(seed, cell, step, FOR_AXIS, index);
    const double x = 2.0 * pair.x - 1.0, y = 2.0 * pair.y - 1.0;
    const double s = x * x + y * y;
    if (s < 1.0) {
      const double root = 2.0 * sqrt(1.0 - s);
      return make_double4(x * root, y * root, 1.0 - 2.0 * s, 0.0);
    }
  }
}

// A number of the Gamma distribution with shape >= 1 and scale 1 (Marsaglia, Tsang 2000), by normal
// numbers of the polar method.
double random_gamma(ulong seed, uint cell, uint step, double shape) {
  const double d = shape - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
  for (uint index = 0;; index += 2) {
    const double2 pair = uniform_pair(seed, cell, step, FOR_THERMOSTAT, index);
    const double x = 2.0 * pair.x - 1.0, y = 2.0 * pair.y - 1.0;
    const double s = x * x + y * y;
    if (s >= 1.0 || s <= 0.0) continue;
    const double normal = x * sqrt(-2.0 * log_of(s) / s);
    const double root = 1.0 + c * normal;
    if (root <= 0.0) continue;
    const double v = root * root * root;
    const double u = uniform_pair(seed, cell, step, FOR_THERMOSTAT, index + 1).x;
    if (log_of(u) < 0.5 * normal * normal + d - d * v + d * log_of(v)) return d * v;
  }
}
