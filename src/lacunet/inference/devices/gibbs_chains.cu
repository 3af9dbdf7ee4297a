// Chains over the hidden states of rows that share one hidden variable with K states, in float64.
//
// One block of threads is one chain, and goes on sweep after sweep: parameters are drawn given the
// counts of its hidden states, hidden states given the parameters. What a chain is are counts of
// blocks (blocks × K), whole numbers; what it weighs is a sum over its way of differences of log
// densities, to which every thread adds its own part.
//
// `counted_random.cu` is to stand before this. Defined from outside: LANES, a power of two, that share
// a row, each with up to EACH of its K classes; THREADS; IN_SHARED, 0 or 1. Numbers of classes that
// share these share what was compiled.

#define PER_WARP (32 / LANES)  // rows that a warp has at once

// The log of a gamma variate (Marsaglia & Tsang 2000); below 1 it may be smaller than any float.
__device__ double log_gamma_variate(const Stream &stream, double shape, unsigned int number,
                                    unsigned int sweep) {
  const double d = (shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
  double value = 0.0;
  for (unsigned int attempt = 0;; ++attempt) {
    const Four w = stream.at(number, attempt, sweep, GAMMA);
    const double radius = sqrt(-2.0 * log(1.0 - uniform(w.a, w.b)));
    const double x = radius * cospi(w.c * (2.0 / 4294967296.0));
    double v = 1.0 + c * x;
    if (!(v > 0.0)) continue;
    v = v * v * v;
    const double u = (w.d + 0.5) * (1.0 / 4294967296.0), square = x * x;
    if (u < 1.0 - 0.0331 * square * square ||
        log(u) < 0.5 * square + d * (1.0 - v + log(v))) {
      value = log(d * v);
      break;
    }
  }
  if (shape < 1.0) {
    const Four w = stream.at(number, 0, sweep, BELOW_ONE);
    value += log(1.0 - uniform(w.a, w.b)) / shape;
  }
  return value;
}

__device__ __forceinline__ double stirling_rest(double x) {
  const double y = 1.0 / x, z = y * y;
  return y * (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z / 1680)));
}

// Log Γ(a + n) less a number that a alone decides, as `rising_kernels.log_gamma_above`.
__device__ double log_gamma_above(double a, double n) {
  if (a < 32.0) return lgamma(a + n);
  const double whole = a + n;
  return (a - 0.5) * log1p(n / a) - n + n * log(whole) + (stirling_rest(whole) - stirling_rest(a));
}

struct Rows {
  const int *patterns_of;  // (rows, groups) patterns that a row shows
  const int *blocks_of;    // (rows, families) and their blocks; -1: none
  const int *often;        // (rows,) cases of each, for this chain
  const int *parts;        // (patterns, wide) blocks of each pattern; -1: none
  int rows, groups, families, patterns, wide, K;
};

struct Path {
  const int *owner;         // (blocks, K) the configuration of each number
  const int *starts;        // (configurations + 1,) where their numbers begin in
  const int *members;       // (blocks × K,)
  const double *alpha;      // (blocks, K) of the prior,
  const double *sums;       // (configurations,) and their sums
  const double *seen;       // (blocks, K) cases that were seen whole
  const double *exponents;  // (blocks, K) of the reference,
  const double *counts;     // (blocks, K) those less α,
  const double *log_weights;  // (blocks, K) and its log weights of hidden states
  double slope;             // of what depends on the temperature alone
  int configurations;
  int watched;              // the block whose numbers must be above 0; -1: none
};

// What a chain's weight grows by where it stands, a share of it in every thread.
__device__ double weighed_cells(const Path &p, const int *N, double upper, double lower, int size) {
  double sum = threadIdx.x ? 0.0 : (upper - lower) * p.slope;
  for (int i = threadIdx.x; i < size; i += THREADS) {
    const double n = p.seen[i] + N[i], q = p.counts[i], a = p.alpha[i];
    const double high = (1.0 - upper) * q + upper * n, low = (1.0 - lower) * q + lower * n;
    sum += log_gamma_above(a, high) - log_gamma_above(a, low);
    sum -= (upper - lower) * N[i] * p.log_weights[i];
  }
  for (int c = threadIdx.x; c < p.configurations; c += THREADS) {
    double high = 0.0, low = 0.0;
    for (int m = p.starts[c]; m < p.starts[c + 1]; ++m) {
      const int i = p.members[m];
      const double n = p.seen[i] + N[i], q = p.counts[i];
      high += (1.0 - upper) * q + upper * n;
      low += (1.0 - lower) * q + lower * n;
    }
    sum -= log_gamma_above(p.sums[c], high) - log_gamma_above(p.sums[c], low);
  }
  return sum;
}

// Log weights to draw hidden states with, x (blocks, K): (1 − b) λ + b log θ, θ drawn given N.
__device__ void draw_parameters(const Path &p, const Stream &stream, const int *N, double b,
                                unsigned int sweep, int size, double *x, double *totals) {
  if (b > 0.0) {
    for (int i = threadIdx.x; i < size; i += THREADS) {
      const double shape = (1.0 - b) * p.exponents[i] + b * (p.alpha[i] + p.seen[i] + N[i]);
      x[i] = log_gamma_variate(stream, shape, i, sweep);
    }
    __syncthreads();
    for (int c = threadIdx.x; c < p.configurations; c += THREADS) {
      double top = x[p.members[p.starts[c]]], sum = 0.0;
      for (int m = p.starts[c] + 1; m < p.starts[c + 1]; ++m) top = fmax(top, x[p.members[m]]);
      for (int m = p.starts[c]; m < p.starts[c + 1]; ++m) sum += exp(x[p.members[m]] - top);
      totals[c] = top + log(sum);
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < size; i += THREADS)
    x[i] = b > 0.0 ? (1.0 - b) * p.log_weights[i] + b * (x[i] - totals[p.owner[i]])
                   : p.log_weights[i];
}

__device__ void sum_table(const Rows &r, const double *x, double *table) {
  for (int i = threadIdx.x; i < r.patterns * r.K; i += THREADS) {
    const int pattern = i / r.K, cell = i % r.K;
    double sum = 0.0;
    for (int part = 0; part < r.wide; ++part) {
      const int block = r.parts[pattern * r.wide + part];
      if (block >= 0) sum += x[block * r.K + cell];
    }
    table[i] = sum;
  }
}

// Draw the class of every case of every row, and count it at the blocks of the row. Rows of `fresh`
// have an odd number of places, so that lanes count in other banks of the memory.
__device__ void draw_rows(const Rows &r, const Stream &stream, const double *table,
                          const double *first_draws, unsigned int sweep, int *fresh) {
  const int lane = threadIdx.x % LANES, shift = threadIdx.x % 32 / LANES * LANES;
  const unsigned int own = LANES == 32 ? ~0u : (1u << LANES) - 1u;
  const int warps = THREADS / 32, warp = threadIdx.x / 32;
  for (int start = warp * PER_WARP; start < r.rows; start += warps * PER_WARP) {
    const int row = start + threadIdx.x % 32 / LANES;
    const bool there = row < r.rows;
    const int *own_patterns = r.patterns_of + (long long)(there ? row : 0) * r.groups;
    double sum[EACH], top = LOWEST;
#pragma unroll
    for (int e = 0; e < EACH; ++e) sum[e] = 0.0;
    for (int first = 0; first < r.groups; first += LANES) {
      // Each lane fetches the pattern of one group, and all of them add it up.
      const int mine = (first + lane < r.groups ? own_patterns[first + lane] : 0) * r.K;
      const int number = min(LANES, r.groups - first);
#pragma unroll 8
      for (int group = 0; group < number; ++group) {
        const double *at = table + __shfl_sync(~0u, mine, group, LANES);
#pragma unroll
        for (int e = 0; e < EACH; ++e)
          if (e * LANES + lane < r.K) sum[e] += at[e * LANES + lane];
      }
    }
#pragma unroll
    for (int e = 0; e < EACH; ++e)
      if (e * LANES + lane < r.K) top = fmax(top, sum[e]);
    for (int away = LANES / 2; away; away /= 2)
      top = fmax(top, __shfl_xor_sync(~0u, top, away, LANES));
    double total = 0.0, below[EACH];  // below: weights of a class and of all before it
    bool any[EACH];
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
      double w = e * LANES + lane < r.K ? exp(sum[e] - top) : 0.0;
      any[e] = w > 0.0;
      for (int away = 1; away < LANES; away *= 2) {
        const double left = __shfl_up_sync(~0u, w, away, LANES);
        if (lane >= away) w += left;
      }
      below[e] = total + w;
      total = __shfl_sync(~0u, below[e], LANES - 1, LANES);
    }
    int often[EACH];
#pragma unroll
    for (int e = 0; e < EACH; ++e) often[e] = 0;
    const int draws = there ? r.often[row] : 0;
    int most = draws;
    for (int away = LANES; away < 32; away *= 2) most = max(most, __shfl_xor_sync(~0u, most, away));
    for (int draw = 0; draw < most; ++draw) {
      double u = there ? first_draws[row] : 0.0;
      if (draw) {
        const Four w = stream.at(row, draw / 2, sweep, ROW);
        u = draw % 2 ? uniform(w.c, w.d) : uniform(w.a, w.b);
      }
      bool open = draw < draws;
#pragma unroll
      for (int e = 0; e < EACH; ++e) {
        const unsigned int over =
            __ballot_sync(~0u, any[e] && below[e] > u * total) >> shift & own;
        if (open && over) {
          if (__ffs(over) - 1 == lane) ++often[e];
          open = false;
        }
      }
      // Rounding must leave no case without a class: the last that is possible.
#pragma unroll
      for (int e = EACH - 1; e >= 0; --e) {
        const unsigned int possible = __ballot_sync(~0u, any[e]) >> shift & own;
        if (open && possible) {
          if (31 - __clz(possible) == lane) ++often[e];
          open = false;
        }
      }
    }
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
      unsigned int left = __ballot_sync(~0u, often[e] > 0) >> shift & own;
      while (__any_sync(~0u, left)) {
        const int from = left ? __ffs(left) - 1 : 0;
        const int cases = __shfl_sync(~0u, often[e], from, LANES);
        if (left)
          for (int f = lane; f < r.families; f += LANES) {
            const int block = r.blocks_of[(long long)row * r.families + f];
            if (block >= 0) atomicAdd(fresh + block * (r.K | 1) + e * LANES + from, cases);
          }
        left &= left - 1;
      }
    }
  }
}

__device__ double added_up(double own) {
  __shared__ double sums[THREADS / 32];
  for (int away = 16; away; away /= 2) own += __shfl_down_sync(~0u, own, away);
  __syncthreads();
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = own;
  __syncthreads();
  double sum = 0.0;
  for (int w = 0; w < THREADS / 32; ++w) sum += sums[w];
  return sum;
}

// N (chains, blocks, K) is where chains stand, before and after; log_weights (chains,) what their
// way adds. often (tables, rows) says how often rows stand in tables, tables_of (chains,) which of
// them a chain sees. Scratch for each chain: x (blocks, K), totals (configurations,), first_draws (rows,), and
// where memory of threads is too small a table (patterns, K) and fresh (blocks, K | 1).
extern "C" __global__ void __launch_bounds__(THREADS)
travel(const int *patterns_of, const int *blocks_of, const int *often, const int *parts, int rows,
       int groups, int families, int patterns, int wide, int blocks, int K, const int *owner,
       const int *starts, const int *members, const double *alpha, const double *sums,
       const double *seen, const double *exponents,
       const double *counts, const double *reference, double slope, int configurations, int watched,
       const double *moves, const double *upper, const double *lower, int steps,
       const unsigned int *first_sweeps, const unsigned int *chains, const int *tables_of,
       unsigned int k, unsigned int l, int *N, double *x, double *totals, double *first_draws,
       double *tables, int *freshs,
       double *log_weights) {
  extern __shared__ double room[];
  const long long chain = blockIdx.x;
  const unsigned int first_sweep = first_sweeps[chain];
  const Rows r = {patterns_of, blocks_of, often + (long long)tables_of[chain] * rows, parts,
                  rows, groups, families, patterns, wide, K};
  const Path p = {owner, starts, members, alpha, sums, seen, exponents,
                  counts, reference, slope, configurations, watched};
  const int size = blocks * K;
  const Stream stream = {k, l, chains[chain]};
  N += chain * size, x += chain * size, totals += chain * configurations;
  first_draws += chain * rows;
  double *table = IN_SHARED ? room : tables + chain * patterns * K;
  int *fresh = IN_SHARED ? reinterpret_cast<int *>(room + patterns * K)
                         : freshs + chain * blocks * (K | 1);

  double weight = 0.0;
  for (int step = 0; step <= steps; ++step) {
    if (upper[step] != lower[step]) weight += weighed_cells(p, N, upper[step], lower[step], size);
    if (step == steps) break;
    const unsigned int sweep = first_sweep + step;
    for (int i = threadIdx.x; i < blocks * (K | 1); i += THREADS) fresh[i] = 0;
    for (int row = threadIdx.x; row < rows; row += THREADS) {
      const Four w = stream.at(row, 0, sweep, ROW);
      first_draws[row] = uniform(w.a, w.b);
    }
    draw_parameters(p, stream, N, moves[step], sweep, size, x, totals);
    __syncthreads();
    sum_table(r, x, table);
    __syncthreads();
    draw_rows(r, stream, table, first_draws, sweep, fresh);
    __syncthreads();
    bool may = true;
    if (watched >= 0)
      for (int c = threadIdx.x; c < K; c += THREADS) may = may && fresh[watched * (K | 1) + c] > 0;
    if (__syncthreads_and(may))
      for (int i = threadIdx.x; i < size; i += THREADS) N[i] = fresh[i / K * (K | 1) + i % K];
    __syncthreads();
  }
  weight = added_up(weight);
  if (threadIdx.x == 0) log_weights[chain] = weight;
}
