/* SPDX-License-Identifier: MIT
 *
 * jpeg_idct_simd.h: jpeg_idct.c for vectors whose 128-bit lanes hold one block each; included after
 * V and the operations v_… are defined. A register holds the same row (or column) of all blocks. */

/* gcc keeps arrays in registers only where loops over them are unrolled. */
#if defined(__clang__)
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 8")
#endif

/* d[i] = columns of rows: in-lane transpose of 8 × 8 words. */
static inline void transpose(V d[8])
{
    V a[8], b[8];
    UNROLLED
    for (int i = 0; i < 4; i++) { /* rows i and i + 4 word by word */
        a[2 * i] = v_unpack_lo16(d[i], d[i + 4]);
        a[2 * i + 1] = v_unpack_hi16(d[i], d[i + 4]);
    }
    UNROLLED
    for (int i = 0; i < 4; i++) {
        b[2 * i] = v_unpack_lo16(a[i], a[i + 4]);
        b[2 * i + 1] = v_unpack_hi16(a[i], a[i + 4]);
    }
    UNROLLED
    for (int i = 0; i < 4; i++) {
        d[2 * i] = v_unpack_lo16(b[i], b[i + 4]);
        d[2 * i + 1] = v_unpack_hi16(b[i], b[i + 4]);
    }
}

/* a × ca + b × cb in 32 bits, for both halves of the words */
typedef struct wide {
    V lo, hi;
} wide;

static inline wide multiply(V a, V b, int ca, int cb)
{
    const V factors = v_set32((int)((unsigned)cb << 16 | ((unsigned)ca & 0xffff)));
    return (wide){ v_madd(v_unpack_lo16(a, b), factors), v_madd(v_unpack_hi16(a, b), factors) };
}

static inline wide wide_add(wide a, wide b)
{
    return (wide){ v_add32(a.lo, b.lo), v_add32(a.hi, b.hi) };
}

static inline wide wide_sub(wide a, wide b)
{
    return (wide){ v_sub32(a.lo, b.lo), v_sub32(a.hi, b.hi) };
}

/* words × 8192 */
static inline wide widen(V a)
{
    const V zero = v_set32(0);
    return (wide){ v_sra32(v_unpack_lo16(zero, a), 3), v_sra32(v_unpack_hi16(zero, a), 3) };
}

#define DESCALE(a, shift) v_pack32(v_sra32((a).lo, shift), v_sra32((a).hi, shift))

/* One pass; half of the divisor is in `bias`, added to the even part, from which all come. */
#define PASS(d, shift)                                                                             \
    do {                                                                                           \
        const V half = v_set32(1 << ((shift)-1));                                                  \
        const wide bias = { half, half };                                                          \
        const wide even0 = wide_add(widen(v_add16((d)[0], (d)[4])), bias);                         \
        const wide even1 = wide_add(widen(v_sub16((d)[0], (d)[4])), bias);                         \
        const wide even2 = multiply((d)[2], (d)[6], 4433, 4433 - 15137);                           \
        const wide even3 = multiply((d)[2], (d)[6], 4433 + 6270, 4433);                            \
        const wide e0 = wide_add(even0, even3), e3 = wide_sub(even0, even3);                       \
        const wide e1 = wide_add(even1, even2), e2 = wide_sub(even1, even2);                       \
        const V z3 = v_add16((d)[7], (d)[3]), z4 = v_add16((d)[5], (d)[1]);                        \
        const wide y3 = multiply(z3, z4, 9633 - 16069, 9633);                                      \
        const wide y4 = multiply(z3, z4, 9633, 9633 - 3196);                                       \
        const wide o0 = wide_add(multiply((d)[7], (d)[1], 2446 - 7373, -7373), y3);                \
        const wide o1 = wide_add(multiply((d)[5], (d)[3], 16819 - 20995, -20995), y4);             \
        const wide o2 = wide_add(multiply((d)[5], (d)[3], -20995, 25172 - 20995), y3);             \
        const wide o3 = wide_add(multiply((d)[7], (d)[1], -7373, 12299 - 7373), y4);               \
        (d)[0] = DESCALE(wide_add(e0, o3), shift);                                                 \
        (d)[7] = DESCALE(wide_sub(e0, o3), shift);                                                 \
        (d)[1] = DESCALE(wide_add(e1, o2), shift);                                                 \
        (d)[6] = DESCALE(wide_sub(e1, o2), shift);                                                 \
        (d)[2] = DESCALE(wide_add(e2, o1), shift);                                                 \
        (d)[5] = DESCALE(wide_sub(e2, o1), shift);                                                 \
        (d)[3] = DESCALE(wide_add(e3, o0), shift);                                                 \
        (d)[4] = DESCALE(wide_sub(e3, o0), shift);                                                 \
    } while (0)
