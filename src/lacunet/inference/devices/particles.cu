// Particles that take in one case after the other, in float64: a block of threads is a run, a warp a
// particle at a time. As `kernels/taking_in.py` has it: a particle is weighed by the probability of
// the case at the means of its parameters, draws the class of the case, and counts it. A run goes on
// until too few of its particles count.
//
// `counted_random.cu` is to stand before this. Defined from outside: EACH, classes of a lane; WARPS.

#define FULL 0xffffffffu
#define RESCALED 16  // families between two logarithms

struct Blocks {
  const int *blocks_of;     // (rows, families) blocks that a row shows; -1: none
  const int *owner;         // (blocks, K) the configuration of each number
  const double *exponents;  // (blocks, K) of the prior and of what was seen whole,
  const double *sums;       // (configurations,) and their sums
  int families, K;
};

// Log weights of a lane's classes for a row.
__device__ __forceinline__ void weigh(const Blocks &s, int row, const int *n, const int *totals,
                                      double *x) {
  const int *own = s.blocks_of + (long long)row * s.families;
#pragma unroll
  for (int e = 0; e < EACH; ++e) {
    const int c = e * 32 + threadIdx.x % 32;
    x[e] = LOWEST;
    if (c >= s.K) continue;
    double total = 0.0;
    for (int first = 0; first < s.families; first += RESCALED) {
      const int stop = min(first + RESCALED, s.families);
      double hits = 1.0, shown = 1.0;
#pragma unroll 4
      for (int f = first; f < stop; ++f) {
        if (own[f] < 0) continue;
        const int i = own[f] * s.K + c, q = s.owner[i];
        hits *= s.exponents[i] + n[i];
        shown *= s.sums[q] + totals[q];
      }
      total += log(hits / shown);
    }
    x[e] = total;
  }
}

// Draw a class by log weights, which `u` in [0, 1) decides; the log of their sum is added to `log_w`.
__device__ __forceinline__ int draw_class(const double *x, double u, double *log_w) {
  const int lane = threadIdx.x % 32;
  double top = LOWEST, total = 0.0, below[EACH];
#pragma unroll
  for (int e = 0; e < EACH; ++e) top = fmax(top, x[e]);
  for (int away = 16; away; away /= 2) top = fmax(top, __shfl_xor_sync(FULL, top, away));
#pragma unroll
  for (int e = 0; e < EACH; ++e) {
    double sum = exp(x[e] - top);
    for (int away = 1; away < 32; away *= 2) {
      const double left = __shfl_up_sync(FULL, sum, away);
      if (lane >= away) sum += left;
    }
    below[e] = total + sum;
    total = __shfl_sync(FULL, below[e], 31);
  }
  *log_w += top + log(total);
  int chosen = -1, last = 0;
#pragma unroll
  for (int e = 0; e < EACH; ++e) {
    const unsigned int over = __ballot_sync(FULL, below[e] > u * total && x[e] > LOWEST);
    const unsigned int possible = __ballot_sync(FULL, x[e] > LOWEST);
    if (chosen < 0 && over) chosen = e * 32 + __ffs(over) - 1;
    if (possible) last = e * 32 + 31 - __clz(possible);
  }
  return chosen < 0 ? last : chosen;  // rounding must leave no case without a class
}

// The effective number of particles; every warp finds the same.
__device__ double effective(const double *log_weights, int particles) {
  const int lane = threadIdx.x % 32;
  double top = LOWEST, sum = 0.0, squares = 0.0;
  for (int p = lane; p < particles; p += 32) top = fmax(top, log_weights[p]);
  for (int away = 16; away; away /= 2) top = fmax(top, __shfl_xor_sync(FULL, top, away));
  for (int p = lane; p < particles; p += 32) {
    const double w = exp(log_weights[p] - top);
    sum += w, squares += w * w;
  }
  for (int away = 16; away; away /= 2) {
    sum += __shfl_xor_sync(FULL, sum, away);
    squares += __shfl_xor_sync(FULL, squares, away);
  }
  return sum * sum / squares;
}

// orders (runs, cases) has the row of each case; taken (runs,) how many were taken in, before and
// after; N (runs, particles, blocks, K) what particles counted, log_weights (runs, particles) what
// they weigh. The particles of a run have numbers from first (runs,) on. Scratch: totals (runs,
// particles, configurations).
extern "C" __global__ void __launch_bounds__(32 * WARPS)
take_in(const int *blocks_of, const int *owner, const double *exponents, const double *sums,
        int families, int K, const int *starts, const int *members, int blocks, int configurations,
        const int *orders, int cases, int particles, double least, const unsigned int *first,
        unsigned int k, unsigned int l, int *taken, int *N, int *totals, double *log_weights) {
  extern __shared__ double weights[];
  const Blocks s = {blocks_of, owner, exponents, sums, families, K};
  const long long run = blockIdx.x, size = (long long)blocks * K;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  N += run * particles * size, totals += run * particles * configurations;
  log_weights += run * particles;
  for (int p = threadIdx.x; p < particles; p += 32 * WARPS) weights[p] = log_weights[p];
  for (int p = warp; p < particles; p += WARPS)
    for (int q = lane; q < configurations; q += 32) {
      int sum = 0;
      for (int m = starts[q]; m < starts[q + 1]; ++m) sum += N[p * size + members[m]];
      totals[(long long)p * configurations + q] = sum;
    }
  __syncthreads();
  int at = taken[run];
  while (at < cases) {
    const int row = orders[run * cases + at];
    const int *own = blocks_of + (long long)row * families;
    for (int p = warp; p < particles; p += WARPS) {
      int *n = N + p * size, *t = totals + (long long)p * configurations;
      const Stream stream = {k, l, first[run] + p};
      const Four w = stream.at(at, 0, 0, TAKEN_IN);
      double x[EACH], log_w = weights[p];
      weigh(s, row, n, t, x);
      const int c = draw_class(x, uniform(w.a, w.b), &log_w);
      if (lane == 0) weights[p] = log_w;
      for (int f = lane; f < families; f += 32)
        if (own[f] >= 0) {
          const int i = own[f] * K + c;
          n[i] += 1, t[owner[i]] += 1;
        }
      __syncwarp();
    }
    __syncthreads();
    ++at;
    const bool enough = effective(weights, particles) >= least;
    __syncthreads();
    if (!enough) break;
  }
  for (int p = threadIdx.x; p < particles; p += 32 * WARPS) log_weights[p] = weights[p];
  if (threadIdx.x == 0) taken[run] = at;
}
