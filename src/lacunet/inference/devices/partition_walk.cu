// A walk over partitions of the cases, in float64: a warp is a chain. As `kernels/blocks.py` and
// `kernels/splitting.py` have it, with the same random numbers in the same order, so that both walk
// the same way as long as nothing lies within rounding of a limit.
//
// What blocks hold are whole numbers in columns, (lines, COLUMNS): cases that show a cell, then those
// that show a leaf. Columns from the last block on are empty. Random numbers are those of NumPy's
// Philox: 4x64, 10 rounds, in a row.
//
// Defined from outside: EACH, columns of a lane; SCANS, TRIED, LARGE.

#define WARPS 2  // of a block of threads
#define COLUMNS (32 * EACH)
#define FULL 0xffffffffu
#define RESCALED 16
#define SMALL 1e-100
#define LONGEST 1e200
#define HOPELESS -50.0
#define LOWEST __longlong_as_double(0xfff0000000000000LL)

typedef unsigned long long u64;

struct Random {
  u64 k, l, drawn, buffer[4];
  __device__ void fill() {
    u64 a = drawn / 4 + 1, b = 0, c = 0, d = 0, key = k, other = l;
    for (int round = 0; round < 10; ++round) {
      const u64 high_a = __umul64hi(0xD2E7470EE14C6C93ull, a), low_a = 0xD2E7470EE14C6C93ull * a;
      const u64 high_c = __umul64hi(0xCA5A826395121157ull, c), low_c = 0xCA5A826395121157ull * c;
      a = high_c ^ b ^ key, b = low_c, c = high_a ^ d ^ other, d = low_a;
      key += 0x9E3779B97F4A7C15ull, other += 0xBB67AE8584CAA73Bull;
    }
    buffer[0] = a, buffer[1] = b, buffer[2] = c, buffer[3] = d;
  }
  __device__ double next() {
    if (drawn % 4 == 0) fill();
    const u64 at = drawn++ % 4;
    const u64 word = at == 0 ? buffer[0] : at == 1 ? buffer[1] : at == 2 ? buffer[2] : buffer[3];
    return (word >> 11) * (1.0 / 9007199254740992.0);
  }
};

struct Cases {
  const int *row;     // (cases,) the row of each
  const int *starts;  // (rows + 1,) where what a row shows begins
  const int *cells;   // lines of the cells that it shows,
  const int *owners;  // and of the leaves whose they are
  const double *log_alone;  // (rows,) log probability of a row in an empty block
  const double *prior;  // (lines,) exponents of the cells, then their sums by leaf
  const double *rise;   // weight of m + 1 blocks over that of m,
  const double *reference;  // and the same for the rates that are noted
  double a, log_empty;
  int cases, lines, first_owner;
};

struct Held {
  int *size;   // (columns,) cases
  int *table;  // (lines, columns)
  int columns;
};

// What a chain sees at each number of blocks, (numbers, 3) each; without any, nothing is noted.
struct Notes {
  double *cases, *splits;  // tries, and rates of steps up and down
  double *energy;          // sweeps, and log weights of partitions: their sum, that of squares
  __device__ void add(double *of, int used, double tries, double up, double down) const {
    if (!of || threadIdx.x % 32) return;
    of[3 * used] += tries, of[3 * used + 1] += up, of[3 * used + 2] += down;
  }
};

struct Chain {
  int *block;  // (cases,)
  int used;
  Held all, pair;
  int *found, *side;  // (cases,) scratch of a split
  Random random;
  Notes notes;
};

__device__ __forceinline__ double stirling_rest(double x) {
  const double y = 1.0 / x, z = y * y;
  return y * (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z / 1680)));
}

// As `rising_kernels.log_gamma_above`.
__device__ double log_gamma_above(double a, double n) {
  if (a < LARGE) return lgamma(a + n);
  const double whole = a + n;
  return (a - 0.5) * log1p(n / a) - n + n * log(whole) + (stirling_rest(whole) - stirling_rest(a));
}

__device__ __forceinline__ double log_rising(double a, double n) {
  return log_gamma_above(a, n) - log_gamma_above(a, 0.0);
}

__device__ __forceinline__ double summed(double x) {
  for (int away = 16; away; away /= 2) x += __shfl_xor_sync(FULL, x, away);
  return x;
}

__device__ __forceinline__ void put(const Cases &s, int row, const Held &held, int b, int sign) {
  const int lane = threadIdx.x % 32;
  if (lane == 0) held.size[b] += sign;
  for (int n = s.starts[row] + lane; n < s.starts[row + 1]; n += 32) {
    held.table[s.cells[n] * held.columns + b] += sign;
    held.table[s.owners[n] * held.columns + b] += sign;
  }
  __syncwarp();
}

__device__ void copy_column(const Cases &s, const Held &from, int b, const Held &to, int c) {
  const int lane = threadIdx.x % 32;
  if (lane == 0) to.size[c] = from.size[b];
  for (int n = lane; n < s.lines; n += 32) to.table[n * to.columns + c] = from.table[n * from.columns + b];
  __syncwarp();
}

__device__ void clear_column(const Cases &s, const Held &held, int b) {
  const int lane = threadIdx.x % 32;
  if (lane == 0) held.size[b] = 0;
  for (int n = lane; n < s.lines; n += 32) held.table[n * held.columns + b] = 0;
  __syncwarp();
}

// Take away an empty block: the last one gets its number.
__device__ void close_block(const Cases &s, Chain &at, int b) {
  const int last = at.used - 1;
  if (b != last) {
    copy_column(s, at.all, last, at.all, b);
    for (int n = threadIdx.x % 32; n < s.cases; n += 32)
      if (at.block[n] == last) at.block[n] = b;
  }
  clear_column(s, at.all, last);
  at.used = last;
}

// Log weights of a case in blocks: its own without itself.
__device__ __forceinline__ double log_weight(const Cases &s, const Chain &at, int row, int b,
                                             int own) {
  const int less = b == own, size = at.all.size[b] - less;
  double total = log(s.a + size);
  for (int first = s.starts[row]; first < s.starts[row + 1]; first += RESCALED) {
    const int stop = min(first + RESCALED, s.starts[row + 1]);
    double hits = 1.0, shown = 1.0;
#pragma unroll 4
    for (int n = first; n < stop; ++n) {
      const int cell = s.cells[n], owner = s.owners[n];
      hits *= s.prior[cell] + (at.all.table[cell * COLUMNS + b] - less);
      shown *= s.prior[owner] + (at.all.table[owner * COLUMNS + b] - less);
    }
    total += log(hits / shown);
  }
  return total;
}

// Draw the block of every case given those of all others.
__device__ void sweep_cases(const Cases &s, Chain &at) {
  const int lane = threadIdx.x % 32;
  double tries = 0.0, up = 0.0, down = 0.0;  // noted when the number of blocks changes
  for (int item = 0; item < s.cases; ++item) {
    const int row = s.row[item], own = at.block[item], used = at.used;
    const bool alone = at.all.size[own] == 1;
    const int others = alone ? used - 1 : used;
    const double rise = s.rise[others], empty = log(s.a) + s.log_alone[row];
    double x[EACH], top = rise > 0.0 || !others ? empty : LOWEST;
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
      const int b = e * 32 + lane;
      x[e] = b < used && !(alone && b == own) ? log_weight(s, at, row, b, own) : LOWEST;
      top = fmax(top, x[e]);
    }
    for (int away = 16; away; away /= 2) top = fmax(top, __shfl_xor_sync(FULL, top, away));
    double mine = 0.0, total = 0.0, below[EACH];
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
      const double w = exp(x[e] - top);
      mine += __shfl_sync(FULL, e == own / 32 ? w : 0.0, own % 32);
      double sum = e * 32 + lane == own ? 0.0 : w;
      for (int away = 1; away < 32; away *= 2) {
        const double left = __shfl_up_sync(FULL, sum, away);
        if (lane >= away) sum += left;
      }
      below[e] = total + sum;
      total = __shfl_sync(FULL, below[e], 31);
    }
    const double fresh = exp(empty - top), noted = fresh * s.reference[others];
    tries += 1.0;
    if (alone)
      down += 1.0 / (1.0 + noted / (mine + total));
    else
      up += 1.0 / (1.0 + (mine + total) / noted);
    double u = at.random.next() * (mine + total + (rise > 0.0 ? fresh * rise : 0.0));
    int chosen = own;
    if (alone || u >= mine) {
      u -= mine;
      chosen = used;
#pragma unroll
      for (int e = 0; e < EACH; ++e) {
        const int b = e * 32 + lane;
        const unsigned int over = __ballot_sync(FULL, below[e] > u && b < used && b != own);
        if (chosen == used && over) chosen = e * 32 + __ffs(over) - 1;
      }
      // Rounding must not open a block where there is no way up.
      if (chosen == used && !(rise > 0.0)) chosen = own;
    }
    if (chosen == own || (alone && chosen == used)) continue;
    put(s, row, at.all, own, -1);
    put(s, row, at.all, chosen, 1);
    if (lane == 0) at.block[item] = chosen;
    __syncwarp();
    if (chosen == used) at.used = used + 1;
    if (at.all.size[own] == 0) close_block(s, at, own);
    if (at.used == used) continue;
    at.notes.add(at.notes.cases, used, tries, up, down);
    tries = up = down = 0.0;
  }
  at.notes.add(at.notes.cases, at.used, tries, up, down);
}

// Log ratio of two blocks, of so many, to the one that they make together.
__device__ double log_gain(const Cases &s, const Held &held, int b, int c, int number) {
  double total = 0.0;
  for (int n = threadIdx.x % 32; n < s.lines; n += 32) {
    const double a = s.prior[n], one = held.table[n * held.columns + b];
    const double other = held.table[n * held.columns + c];
    const double part =
        log_gamma_above(a, one) + log_gamma_above(a, other) - log_gamma_above(a, one + other);
    total += n < s.first_owner ? part : -part;
  }
  const double n0 = held.size[b], n1 = held.size[c], whole = n0 + n1;
  return summed(total) + log_rising(s.a, n0) + log_rising(s.a, n1) - log_rising(s.a, whole) -
         s.log_empty + log(whole * (whole - 1.0)) - log(number * n0 * n1);
}

// Cases of one or two blocks in random order, an anchor from each first.
__device__ int members(const Cases &s, Chain &at, int b, int c) {
  const int lane = threadIdx.x % 32;
  int number = 0;
  for (int start = 0; start < s.cases; start += 32) {
    const int item = start + lane;
    const bool in = item < s.cases && (at.block[item] == b || at.block[item] == c);
    const unsigned int those = __ballot_sync(FULL, in);
    if (in) at.found[number + __popc(those & ((1u << lane) - 1u))] = item;
    number += __popc(those);
  }
  __syncwarp();
  for (int k = number - 1; k > 0; --k) {
    const int j = (int)(at.random.next() * (k + 1));
    if (lane == 0) {
      const int kept = at.found[k];
      at.found[k] = at.found[j], at.found[j] = kept;
    }
  }
  __syncwarp();
  if (b != c && lane == 0)
    for (int place = 0; place < 2; ++place) {
      int k = place;
      while (at.block[at.found[k]] != (place ? c : b)) ++k;
      const int kept = at.found[place];
      at.found[place] = at.found[k], at.found[k] = kept;
    }
  __syncwarp();
  return number;
}

// Odds of the second half for a case that is in the given one, or in none (-1).
__device__ double odds_of_side(const Cases &s, int row, const Held &pair, int side) {
  const int less = side == 0, more = side == 1;
  double odds = 1.0;
  for (int n = s.starts[row] + threadIdx.x % 32; n < s.starts[row + 1]; n += 32) {
    const int cell = s.cells[n], owner = s.owners[n];
    const double hits_0 = s.prior[cell] + (pair.table[cell * 2] - less);
    const double shown_0 = s.prior[owner] + (pair.table[owner * 2] - less);
    const double hits_1 = s.prior[cell] + (pair.table[cell * 2 + 1] - more);
    const double shown_1 = s.prior[owner] + (pair.table[owner * 2 + 1] - more);
    odds *= (hits_1 * shown_0) / (shown_1 * hits_0);
  }
  for (int away = 16; away; away /= 2) odds *= __shfl_xor_sync(FULL, odds, away);
  odds *= (s.a + (pair.size[1] - more)) / (s.a + (pair.size[0] - less));
  return fmin(fmax(odds, 1.0 / LONGEST), LONGEST);
}

// Draw the sides again, or end where the partition is if its `second` block is given (not -1).
__device__ double scan(const Cases &s, Chain &at, int number, int second) {
  double log_q = 0.0, q = 1.0;
  for (int n = 2; n < number; ++n) {
    const int item = at.found[n], row = s.row[item], old = at.side[n];
    const double odds = odds_of_side(s, row, at.pair, old);
    const int now = second >= 0 ? at.block[item] == second
                                : at.random.next() * (1.0 + odds) < odds;
    q /= 1.0 + (now ? 1.0 / odds : odds);
    if (q < SMALL) log_q += log(q), q = 1.0;
    if (now == old) continue;
    __syncwarp();
    if (threadIdx.x % 32 == 0) at.side[n] = now;
    put(s, row, at.pair, old, -1);
    put(s, row, at.pair, now, 1);
  }
  return log_q + log(q);
}

// Prepare a split of b (if b = c), or the way back from a merge of b and c.
__device__ double log_odds(const Cases &s, Chain &at, int number, int b, int c) {
  clear_column(s, at.pair, 0);
  clear_column(s, at.pair, 1);
  for (int n = 0; n < number; ++n) {
    const int row = s.row[at.found[n]];
    int side = n;
    if (n > 1) {
      const double odds = odds_of_side(s, row, at.pair, -1);
      side = at.random.next() * (1.0 + odds) < odds;
    }
    __syncwarp();
    if (threadIdx.x % 32 == 0) at.side[n] = side;
    put(s, row, at.pair, side, 1);
  }
  for (int n = 0; n < SCANS; ++n) scan(s, at, number, -1);
  const double log_q = scan(s, at, number, b == c ? -1 : c);
  return log_gain(s, at.pair, 0, 1, at.used + (b == c)) - log_q;
}

__device__ void try_split(const Cases &s, Chain &at) {
  const int used = at.used, b = (int)(at.random.next() * used), lane = threadIdx.x % 32;
  if (at.all.size[b] < 2 || s.rise[used] == 0.0) return;
  const int number = members(s, at, b, b);
  const double odds = log_odds(s, at, number, b, b);
  at.notes.add(at.notes.splits, used, 0.0, exp(fmin(0.0, odds + log(s.reference[used]))), 0.0);
  if (!(log(at.random.next()) < odds + log(s.rise[used]))) return;
  copy_column(s, at.pair, 0, at.all, b);
  copy_column(s, at.pair, 1, at.all, used);
  for (int n = lane; n < number; n += 32)
    if (at.side[n]) at.block[at.found[n]] = used;
  __syncwarp();
  at.used = used + 1;
}

__device__ void try_merge(const Cases &s, Chain &at) {
  const int used = at.used, lane = threadIdx.x % 32;
  if (used < 2) return;
  const int b = (int)(at.random.next() * used);
  const int c = (b + 1 + (int)(at.random.next() * (used - 1))) % used;
  const double down = -log(s.rise[used - 1]), noted = -log(s.reference[used - 1]);
  if (fmax(noted, down) - log_gain(s, at.all, b, c, used) < HOPELESS) return;
  const int number = members(s, at, b, c);
  const double odds = log_odds(s, at, number, b, c);
  at.notes.add(at.notes.splits, used, 0.0, 0.0, exp(fmin(0.0, noted - odds)));
  if (!(log(at.random.next()) < down - odds)) return;
  for (int n = 0; n < number; ++n) {
    const int item = at.found[n];
    if (at.block[item] != c) continue;
    put(s, s.row[item], at.all, b, 1);
    if (lane == 0) at.block[item] = b;
    __syncwarp();
  }
  close_block(s, at, c);
}

// Note the log weight of the partition: log Γ(a + n)/Γ(a) · L of every block.
__device__ void note_energy(const Cases &s, const Chain &at) {
  double total = 0.0;
  for (int b = threadIdx.x % 32; b < at.used; b += 32)
    total += log_rising(s.a, at.all.size[b]) - s.log_empty;
  for (int n = threadIdx.x % 32; n < s.lines; n += 32) {
    double line = 0.0;
    for (int b = 0; b < at.used; ++b)
      line += log_gamma_above(s.prior[n], at.all.table[n * COLUMNS + b]);
    total += n < s.first_owner ? line : -line;
  }
  total = summed(total);
  at.notes.add(at.notes.energy, at.used, 1.0, total, total * total);
}

// blocks (chains, cases) is where chains stand, before and after; drawn (chains,) random numbers that
// each has had; notes (chains, 3, numbers, 3), or null. Scratch of each chain: room,
// COLUMNS + 2 + lines × (COLUMNS + 2) + 2 × cases.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
walk(const int *row, const int *starts, const int *cells, const int *owners,
     const double *log_alone, const double *prior, double a, double log_empty, int cases, int lines,
     int first_owner, const double *rise, const double *reference, int numbers, int sweeps,
     int chains, const u64 *keys, u64 *drawn, int *blocks, double *notes, int *rooms) {
  const long long chain = blockIdx.x * WARPS + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (chain >= chains) return;
  const Cases s = {row, starts, cells, owners, log_alone, prior, rise, reference, a, log_empty,
                   cases, lines, first_owner};
  int *room = rooms + chain * (COLUMNS + 2 + (long long)lines * (COLUMNS + 2) + 2LL * cases);
  Chain at;
  at.block = blocks + chain * cases;
  at.all = {room, room + COLUMNS + 2, COLUMNS};
  at.pair = {room + COLUMNS, at.all.table + lines * COLUMNS, 2};
  at.found = at.pair.table + 2 * lines;
  at.side = at.found + cases;
  if (notes) notes += chain * 9 * numbers;
  at.notes = {notes, notes ? notes + 3 * numbers : notes, notes ? notes + 6 * numbers : notes};
  at.random.k = keys[2 * chain], at.random.l = keys[2 * chain + 1];
  at.random.drawn = drawn[chain];
  if (at.random.drawn % 4) at.random.fill();
  for (int n = lane; n < COLUMNS; n += 32) at.all.size[n] = 0;
  for (int n = lane; n < lines * COLUMNS; n += 32) at.all.table[n] = 0;
  __syncwarp();
  int used = 0;
  for (int item = 0; item < cases; ++item) {
    put(s, row[item], at.all, at.block[item], 1);
    used = max(used, at.block[item] + 1);
  }
  at.used = used;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    sweep_cases(s, at);
    for (int n = 0; n < TRIED; ++n) {
      at.notes.add(at.notes.splits, at.used, 1.0, 0.0, 0.0);
      if (at.random.next() < 0.5)
        try_split(s, at);
      else
        try_merge(s, at);
    }
    if (notes) note_energy(s, at);
  }
  if (lane == 0) drawn[chain] = at.random.drawn;
}
