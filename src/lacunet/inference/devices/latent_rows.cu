// Expected counts of rows that share one hidden variable with K states, in float64.
//
// A row is a few bytes, one for each group of neighbouring families. A byte is a pattern of the
// values of its families, and indexes a table of the summed log weights of each pattern.
// A thread sums the patterns of one row and computes its posterior. Then a warp multiplies the
// posteriors of the rows by the indicators of the blocks, zeros and ones that are never stored:
// counts (blocks × K) = shown (blocks × rows) · posterior (rows × K), on the matrix units.
// Each block of threads keeps separate sums, which are added in order. Without atomics, results
// are reproducible.
//
// Macros defined by the caller: K; WARPS of a block of threads; TILES of a warp, of sixteen blocks of
// counts each; GROUPS; FIRST, the first pattern of each group, comma-separated; PARTS, the most
// families of a group; TANGENT and TABLE_IN_SHARED, 0 or 1.

#define THREADS (32 * WARPS)
#define ROWS THREADS                // at once: one for each thread
#define PAIRS ((K + 1) / 2)         // of numbers in a row of the table: read two at a time
#define UNITS (PAIRS | 1)           // an odd number of them, to avoid bank conflicts
#define WIDE ((K + 7) / 8)          // tiles of eight classes
#define POST (ROWS + 2)             // of posteriors, padded to avoid bank conflicts

struct Packed {
  const unsigned char *bytes;  // (GROUPS, rows) rows is a multiple of ROWS
  const double *weights;       // (rows,) weight of each row; 0 for padding
  const int *parts;            // (patterns, PARTS) blocks of each pattern; -1: none
  const int4 *shown;           // (blocks,) for each block: group, shift, mask and value of its byte
  long long rows;
  int patterns;
  int blocks;
};
#define PACKED                                                                              \
  const unsigned char *bytes, const double *weights, const int *parts, const int4 *of_block, \
      long long rows, int patterns, int blocks
#define WRITTEN bytes, weights, parts, of_block, rows, patterns, blocks

// Sum the blocks of patterns: table (patterns, 2 UNITS), x (blocks, K).
__device__ void sum_parts(const Packed &packed, const double *x, double *table, int at, int step) {
  for (int i = at; i < packed.patterns * K; i += step) {
    const int pattern = i / K, cell = i % K;
    double sum = 0.0;
    for (int part = 0; part < PARTS; ++part) {
      const int block = packed.parts[pattern * PARTS + part];
      if (block >= 0) sum += x[block * K + cell];
    }
    table[pattern * 2 * UNITS + cell] = sum;
  }
}

// `sum_parts` into global memory, for tables that exceed shared memory.
extern "C" __global__ void sum_table(PACKED, const double *x, double *table) {
  const Packed packed = {WRITTEN};
  const long long batch = blockIdx.y;
  sum_parts(packed, x + batch * packed.blocks * K, table + batch * packed.patterns * 2 * UNITS,
            blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x);
}

__constant__ int first_pattern[GROUPS] = {FIRST};

// Sum the patterns of a row.
__device__ __forceinline__ void sum_row(const double *table, const unsigned char *codes,
                                        double (&sum)[2 * PAIRS]) {
#pragma unroll
  for (int c = 0; c < 2 * PAIRS; ++c) sum[c] = 0.0;
#pragma unroll 2
  for (int group = 0; group < GROUPS; ++group) {
    const int pattern = first_pattern[group] + codes[group * ROWS];
    const double2 *row = reinterpret_cast<const double2 *>(table + pattern * 2 * UNITS);
#pragma unroll
    for (int pair = 0; pair < PAIRS; ++pair) {
      const double2 two = row[pair];
      sum[2 * pair] += two.x;
      sum[2 * pair + 1] += two.y;
    }
  }
}

// counts (16 × 8) += shown (16 × 16) · posterior (16 × 8), distributed over the lanes.
__device__ __forceinline__ void multiply(double (&counts)[4], const double (&shown)[8],
                                         const double (&posterior)[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, "
      "{%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};"
      : "+d"(counts[0]), "+d"(counts[1]), "+d"(counts[2]), "+d"(counts[3])
      : "d"(shown[0]), "d"(shown[1]), "d"(shown[2]), "d"(shown[3]), "d"(shown[4]), "d"(shown[5]),
        "d"(shown[6]), "d"(shown[7]), "d"(posterior[0]), "d"(posterior[1]), "d"(posterior[2]),
        "d"(posterior[3]));
}

// Start an asynchronous copy of the bytes of ROWS rows; `wait_for_copies` waits for it.
__device__ __forceinline__ void copy_codes(const Packed &packed, long long start,
                                           unsigned char *codes) {
  if (start < packed.rows)
    for (int i = threadIdx.x; i < GROUPS * (ROWS / 16); i += THREADS) {
      const int group = i / (ROWS / 16), at = i % (ROWS / 16) * 16;
      const unsigned int to = __cvta_generic_to_shared(codes + group * ROWS + at);
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to),
                   "l"(packed.bytes + group * packed.rows + start + at));
    }
  asm volatile("cp.async.commit_group;");
}

__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}

// partial (batch, gridDim.x, blocks × K + 1): counts, and a log-likelihood after them.
// With TANGENT, `along` is a direction of x, and counts are changes of the posterior.
//
// Threads synchronise once for every ROWS rows. A warp that has finished counting computes posteriors
// of the next rows while others still count. So there are two buffers for posteriors, and three for
// bytes: the rows being counted, the next rows, and the rows being copied.
extern "C" __global__ void __launch_bounds__(THREADS, K <= 16 ? 2 : 1)
expect_rows(PACKED, const double *x, const double *along, const double *tables, double *partial) {
  const Packed packed = {WRITTEN};
  extern __shared__ double room[];
  double *posts = room;                                // (2, K, POST)
  double *own = posts + 2 * K * POST;                  // tables, on 16 bytes
  const int size = packed.patterns * 2 * UNITS;
  unsigned char *bytes_here = reinterpret_cast<unsigned char *>(
      own + (TABLE_IN_SHARED ? (1 + TANGENT) * size : 0));  // (3, GROUPS, ROWS)
  double *sums = posts;                                // (WARPS,) at the end

  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  const long long batch = blockIdx.z, step = (long long)gridDim.x * ROWS;
  long long start = (long long)blockIdx.x * ROWS;
  copy_codes(packed, start, bytes_here);
  x += batch * packed.blocks * K;
#if TABLE_IN_SHARED
  sum_parts(packed, x, own, thread, THREADS);
#if TANGENT
  sum_parts(packed, along, own + size, thread, THREADS);
#endif
  const double *table = own;
#else
  const double *table = tables + batch * (1 + TANGENT) * size;
#endif

  // The blocks of counts of this warp: the byte of each, and its value there.
  const int tile = (blockIdx.y * WARPS + warp) * TILES;
  int at[TILES][2], shift[TILES][2];
  unsigned int mask[TILES][2], value[TILES][2];  // repeated in four bytes, to compare four rows at once
  double counts[TILES][WIDE][4];
#pragma unroll
  for (int t = 0; t < TILES; ++t) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int block = (tile + t) * 16 + half * 8 + lane / 4;
      const int4 own = block < packed.blocks ? packed.shown[block] : make_int4(0, 0, 0, 255);
      at[t][half] = own.x * ROWS;
      shift[t][half] = own.y;
      mask[t][half] = 0x01010101u * own.z;
      value[t][half] = 0x01010101u * own.w;
    }
#pragma unroll
    for (int n = 0; n < WIDE; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) counts[t][n][i] = 0.0;
  }

  double total_log = 0.0;
  wait_for_copies();
  __syncthreads();
  for (int turn = 0; start < packed.rows; ++turn, start += step) {
    const unsigned char *codes = bytes_here + turn % 3 * GROUPS * ROWS;
    double *post = posts + turn % 2 * K * POST;
    copy_codes(packed, start + step, bytes_here + (turn + 1) % 3 * GROUPS * ROWS);
    const double weight = packed.weights[start + thread];
    {
      double sum[2 * PAIRS];
      sum_row(table, codes + thread, sum);
      double top = sum[0];
#pragma unroll
      for (int c = 1; c < K; ++c) top = fmax(top, sum[c]);
      const double away = isinf(top) ? 0.0 : top;
      double total = 0.0;
#pragma unroll
      for (int c = 0; c < K; ++c) total += sum[c] = exp(sum[c] - away);
      if (weight > 0.0) total_log += weight * (top + log(total));
      const double scale = total > 0.0 ? weight / total : 0.0;
#if TANGENT
      double change[2 * PAIRS];
      sum_row(table + size, codes + thread, change);
      double mean = 0.0;
#pragma unroll
      for (int c = 0; c < K; ++c) mean += sum[c] * change[c];
      mean = total > 0.0 ? mean / total : 0.0;
#pragma unroll
      for (int c = 0; c < K; ++c) sum[c] *= change[c] - mean;
#endif
#pragma unroll
      for (int c = 0; c < K; ++c) post[c * POST + thread] = scale * sum[c];
    }
    wait_for_copies();
    __syncthreads();
    const int quarter = lane % 4, eighth = lane / 4;
    for (int sixteen = 0; sixteen < ROWS; sixteen += 16) {
      const int row = sixteen + 4 * quarter;  // and the three after it
      double posterior[WIDE][4];
#pragma unroll
      for (int n = 0; n < WIDE; ++n) {  // padding classes are never written out
        const int cell = n * 8 + eighth;
        const double2 *two =
            reinterpret_cast<const double2 *>(post + (cell < K ? cell : 0) * POST + row);
        posterior[n][0] = two[0].x, posterior[n][1] = two[0].y;
        posterior[n][2] = two[1].x, posterior[n][3] = two[1].y;
      }
#pragma unroll
      for (int t = 0; t < TILES; ++t) {
        double ones[8];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const unsigned int four =
              *reinterpret_cast<const unsigned int *>(codes + at[t][half] + row);
          const unsigned int other = ((four >> shift[t][half]) & mask[t][half]) ^ value[t][half];
#pragma unroll
          for (int j = 0; j < 4; ++j)
            ones[2 * j + half] = __hiloint2double(other & (0xffu << (8 * j)) ? 0 : 0x3ff00000, 0);
        }
#pragma unroll
        for (int n = 0; n < WIDE; ++n) multiply(counts[t][n], ones, posterior[n]);
      }
    }
  }

  partial += (batch * gridDim.x + blockIdx.x) * (packed.blocks * K + 1);
#pragma unroll
  for (int t = 0; t < TILES; ++t)
#pragma unroll
    for (int n = 0; n < WIDE; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int block = (tile + t) * 16 + (i / 2) * 8 + lane / 4;
        const int cell = n * 8 + (lane % 4) * 2 + i % 2;
        if (block < packed.blocks && cell < K) partial[block * K + cell] = counts[t][n][i];
      }
  if (blockIdx.y == 0) {
    for (int away = 16; away; away /= 2) total_log += __shfl_down_sync(~0u, total_log, away);
    __syncthreads();
    if (lane == 0) sums[warp] = total_log;
    __syncthreads();
    if (thread == 0) {
      double sum = 0.0;
      for (int w = 0; w < WARPS; ++w) sum += sums[w];
      partial[packed.blocks * K] = sum;
    }
  }
}

// Sum parts in order: out (batch, numbers) from partial (batch, parts, numbers). Each of eight warps
// of a block of threads sums an eighth of the parts.
extern "C" __global__ void add_up(const double *partial, double *out, int parts, int numbers) {
  __shared__ double sums[8][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int number = blockIdx.x * 32 + lane;
  const long long batch = blockIdx.y;
  double sum = 0.0;
  if (number < numbers) {
    const int each = (parts + 7) / 8, last = min(parts, (warp + 1) * each);
#pragma unroll 8
    for (int p = warp * each; p < last; ++p) sum += partial[(batch * parts + p) * numbers + number];
  }
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp == 0 && number < numbers) {
    for (int w = 1; w < 8; ++w) sum += sums[w][lane];
    out[batch * numbers + number] = sum;
  }
}
