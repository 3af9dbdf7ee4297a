// Random numbers that are counted, not drawn in a row: Philox4x32-10 of (number, try, sweep and use,
// chain) under a key. Each is known by itself, so that they depend neither on the order of work nor
// on how many chains there are.

#define LOWEST __longlong_as_double(0xfff0000000000000LL)

struct Four {
  unsigned int a, b, c, d;
};

__device__ __forceinline__ Four philox(Four at, unsigned int k, unsigned int l) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned int high_a = __umulhi(0xD2511F53u, at.a), low_a = 0xD2511F53u * at.a;
    const unsigned int high_c = __umulhi(0xCD9E8D57u, at.c), low_c = 0xCD9E8D57u * at.c;
    at = {high_c ^ at.b ^ k, low_c, high_a ^ at.d ^ l, low_a};
    k += 0x9E3779B9u;
    l += 0xBB67AE85u;
  }
  return at;
}

// In [0, 1), with 53 bits.
__device__ __forceinline__ double uniform(unsigned int high, unsigned int low) {
  return ((high >> 5) * 67108864.0 + (low >> 6)) * (1.0 / 9007199254740992.0);
}

enum Use { GAMMA = 0, BELOW_ONE = 1, ROW = 2, TAKEN_IN = 3 };

struct Stream {
  unsigned int k, l, chain;
  __device__ __forceinline__ Four at(unsigned int number, unsigned int attempt, unsigned int sweep,
                                     Use use) const {
    return philox({number, attempt, 4 * sweep + use, chain}, k, l);
  }
};
