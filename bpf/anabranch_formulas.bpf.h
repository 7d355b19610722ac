/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Formulas of the congestion controls in this directory, in integers: eBPF has no floating point. */
#ifndef ANABRANCH_FORMULAS_BPF_H
#define ANABRANCH_FORMULAS_BPF_H

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))

/* The least slow-start threshold, segments (RFC 5681, equation 4). */
#define MIN_SSTHRESH 2U

/* Half of the window (RFC 5681, equation 4, with the window in place of the flight size). */
static __always_inline u32 half_of(u32 cwnd)
{
	return max(cwnd / 2, MIN_SSTHRESH);
}

/* The cube root of a number from 1 to 2^62, rounded down, by Newton's method from a power of two above it. */
static __always_inline u32 cube_root(u64 x)
{
	u32 log = 0;
	u64 rest = x, root;

	for (int bits = 32; bits; bits /= 2) {
		if (rest >> bits) {
			rest >>= bits;
			log += bits;
		}
	}
	root = 2ULL << log / 3;
	for (int step = 0; step < 7; step++)
		root = (2 * root + x / (root * root)) / 3;
	return root * root * root > x ? root - 1 : root;
}

/* CUBIC (RFC 9438) with C = 0.4 and beta_cubic = 0.7. Times are in 1/1024 s, because a shift divides by it. */
enum {
	CUBIC_SECOND = 1024,
	CUBIC_BETA = 717, /* 1/1024 */
	CUBIC_FAST_CONVERGENCE = (1024 + CUBIC_BETA) / 2, /* (1 + beta) / 2, in 1/1024 */
	CUBIC_MAX_TIME = 1 << 20, /* 1024 s: twice its cube stays below 2^64 */
};

/* K, equation 2: the time to grow from `cwnd` to `w_max`, which is at most 2^31 segments: K^3 = (w_max - cwnd) / C. */
static __always_inline u32 cubic_k(u32 w_max, u32 cwnd)
{
	if (cwnd >= w_max)
		return 0;
	return cube_root((u64)min(w_max - cwnd, 1U << 30) * 5 << 29);
}

/* W_cubic(t), equation 1: C (t - K)^3 + w_max. The distance from w_max is rounded down on both sides of it. */
static __always_inline u32 cubic_window(u32 t, u32 k, u32 w_max)
{
	u64 distance = min(t < k ? k - t : t - k, (u32)CUBIC_MAX_TIME);
	u64 delta = distance * distance * distance * 2 / 5 >> 30; /* C = 2/5; a cubic second has 2^30 cubic ticks */

	if (t >= k)
		return w_max + delta;
	return delta < w_max ? w_max - delta : 1;
}

/* w_max after a loss at `cwnd`: less than the window if that had not reached the last one (fast convergence, section 4.7). */
static __always_inline u32 cubic_w_max(u32 cwnd, u32 last_w_max)
{
	return cwnd < last_w_max ? (u64)cwnd * CUBIC_FAST_CONVERGENCE / 1024 : cwnd;
}

/* Segments to acknowledge for one more, to be at `target` a round trip from now (section 4.4). */
static __always_inline u32 cubic_segments_per_increase(u32 cwnd, u32 target)
{
	return target > cwnd ? max(cwnd / (target - cwnd), 2U) : 100 * cwnd;
}

/* Segments to acknowledge for one more in Reno's window with CUBIC's decrease (section 4.3): cwnd (1 + beta) / (3 (1 - beta)). */
static __always_inline u32 cubic_segments_per_reno_increase(u32 cwnd)
{
	return max((u64)cwnd * (1024 + CUBIC_BETA) / (3 * (1024 - CUBIC_BETA)), 1ULL);
}

/* Kikolo (Kiryowa, Granelli and Kliazovich), with the constants of the paper, in thousandths. Windows with a fraction count 2^-16
 * segments. */
enum {
	KIKOLO_RHO = 4,
	KIKOLO_GAMMA = 5,
	KIKOLO_BETA_1 = 850,
	KIKOLO_BETA_2 = 750,
	KIKOLO_BETA_3 = 950,
};

/* A column of Table I. */
enum kikolo_region { KIKOLO_SLOW_START, KIKOLO_RAMP_UP, KIKOLO_ADDITIVE };

static __always_inline enum kikolo_region kikolo_region(u64 window, u32 ssthresh)
{
	u64 threshold = (u64)ssthresh << 16;

	if (window < threshold)
		return KIKOLO_SLOW_START;
	return window * 1000 < threshold * (1000 + KIKOLO_GAMMA) ? KIKOLO_RAMP_UP : KIKOLO_ADDITIVE;
}

/* Growth of a window outside slow start by `acked` segments, in 2^-16 segments (Table I). */
static __always_inline u64 kikolo_increase(u64 window, enum kikolo_region region, bool is_refined, u32 acked)
{
	u64 share = (is_refined ? KIKOLO_BETA_1 : 1000) * (region == KIKOLO_RAMP_UP ? KIKOLO_RHO : 1);

	return ((u64)acked * share << 32) / (window * 1000);
}

/* The window after a reduction (Table I, last row), rounded down. */
static __always_inline u32 kikolo_reduced(u64 window, enum kikolo_region region)
{
	u64 remainder = region == KIKOLO_SLOW_START ? KIKOLO_BETA_3 : region == KIKOLO_RAMP_UP ? KIKOLO_BETA_1 : KIKOLO_BETA_2;

	return max((u32)(window * remainder / 1000 >> 16), MIN_SSTHRESH);
}

#endif
