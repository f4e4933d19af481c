// The primitives that all device code is written in. `T` lanes hold one number: lane l has its limbs
// l L to l L + L - 1, L words of 32 bits in each lane, so R = 2^(32 T L). A `Word<T>` is one word of
// every lane.
//
//   uniform(x)             x in every lane
//   first_lane(x)          x in lane 0, zero in the others
//   from_lane(x, l)        the word of lane l in every lane
//   from_above(x)          in lane l the word of lane l + 1; in the last lane that of lane 0
//   from_below(x)          in lane l the word of lane l - 1; in lane 0 zero
//   equal_mask(x, y)       all ones where x = y, else zero
//   everywhere(mask)       all ones if the mask is not zero in any lane, else zero
//   carries(g, p, out)     carry look-ahead: a lane generates a carry (g), or passes on one that
//                          comes from below (p); only lane 0, which has no lane below, may do
//                          both. Returns the carry into each lane, and `out`, the carry out of the
//                          last lane, in every lane
//   Row<T, P>::mad         z := z + b * a, for P words a[0], a[2], ... and 2 P + 1 words of z
//   Row<T, P>::mad_after   x := x + c, and the carry enters such a row
//   add_into               high, low := high, low + x
//   add_row                z := z + x + carry in each lane; returns the carry out of each lane
//   read_limb, write_limb  limb j of each lane, from and to memory
//   write_status           `yes` or `no`, from lane 0
//   Table                  the powers of an exponentiation; reads every entry each time
//   FAULT_POINT            where tests change a bit
//
// Besides these, words have *, +, -, &, | and ~. A carry is 0 or 1. The number of a lane is public.
#pragma once

#ifdef __CUDACC__
#include "lanes_cuda.cuh"
#else
#include "lanes_emulated.h"
#endif
