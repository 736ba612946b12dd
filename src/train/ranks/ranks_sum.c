/* SPDX-License-Identifier: MIT
 *
 * ranks_sum.c: the functions of ranks_sum.h, which describes them. */
#include "ranks_sum.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_FLOATS = 2048, CHUNK_FLOATS = 1 << 18, LEVELS = 32 };

/* --- one slice ------------------------------------------------------------------------------- */

/* Floats of a part: of this rank's micro-batches, or received. */
typedef struct slice {
    const leat_ranks_sum *s;
    float *const *grads;
    size_t from;   /* in the micro-batches */
    size_t length; /* of the slices that were received */
} slice;

static const float *floats_of(const slice *in, const leat_ranks_branch *part)
{
    const leat_ranks_sum *const s = in->s;
    if (part->rank == s->ranks->rank)
        return in->grads[part->first] + in->from;
    return s->got + (size_t)(part->rank * s->most_parts + part->at) * in->length;
}

/* to = the sum of n floats from `at` on, over the parts from *part on that make a tree of n_micro. Moves *part on. */
static void fold(const slice *in, const leat_ranks_branch **part, int32_t n_micro, size_t at,
                 size_t n, float *to, float *rooms)
{
    if ((*part)->n == n_micro) {
        memcpy(to, floats_of(in, *part) + at, n * sizeof *to);
        (*part)++;
        return;
    }
    const int32_t left = leat_ranks_sum_left(n_micro);
    fold(in, part, left, at, n, to, rooms);
    if ((*part)->n == n_micro - left) { /* most often: no copy */
        in->s->add(to, floats_of(in, *part) + at, to, n);
        (*part)++;
        return;
    }
    fold(in, part, n_micro - left, at, n, rooms, rooms + n);
    in->s->add(to, rooms, to, n);
}

static void fold_slice(const slice *in, size_t length, float *to)
{
    for (size_t at = 0; at < length; at += PIECE_FLOATS) {
        const size_t n = length - at < PIECE_FLOATS ? length - at : PIECE_FLOATS;
        const leat_ranks_branch *part = in->s->parts;
        fold(in, &part, in->s->n_micro, at, n, to + at, in->s->rooms);
    }
}

/* --- a chunk --------------------------------------------------------------------------------- */

/* Floats of slice r that there are; the last one may be short. */
static size_t slice_floats(size_t slice_length, int32_t r, size_t length)
{
    const size_t first = (size_t)r * slice_length;
    return first >= length ? 0 : length - first < slice_length ? length - first : slice_length;
}

/* For each rank its slice of each of this rank's parts. */
static void pack(leat_ranks_sum *s, float *const *grads, size_t from, size_t slice_length,
                 size_t length)
{
    for (int32_t i = 0; i < s->n_parts; i++)
        for (int32_t r = 0; s->parts[i].rank == s->ranks->rank && r < s->ranks->n; r++)
            memcpy(s->sent + (size_t)(r * s->most_parts + s->parts[i].at) * slice_length,
                   grads[s->parts[i].first] + from + (size_t)r * slice_length,
                   slice_floats(slice_length, r, length) * sizeof(float));
}

/* Where a rank has one part. */
static const float *own_sum(const leat_ranks_sum *s, float *const *grads)
{
    int32_t i = 0;
    while (s->parts[i].rank != s->ranks->rank)
        i++;
    return grads[s->parts[i].first];
}

int leat_ranks_sum_chunk(leat_ranks_sum *s, float *const *grads, size_t from, size_t length,
                         float *to, leat_error *err)
{
    leat_ranks *const ranks = s->ranks;
    const size_t n = (size_t)ranks->n;
    const size_t slice_length = (length + 16 * n - 1) / (16 * n) * 16;
    const size_t at = (size_t)ranks->rank * slice_length;
    const bool even = slice_length * n == length;
    const size_t bytes = slice_length * (size_t)s->most_parts * sizeof(float);
    const slice mine = { s, grads, from + at, slice_length };
    float *const all = even ? to : s->got;
    const float *sent = even && s->most_parts == 1 ? own_sum(s, grads) + from : s->sent;
    if (sent == s->sent)
        pack(s, grads, from, slice_length, length);
    int rc = leat_ranks_swap(ranks, sent, bytes, s->got, bytes, err);
    if (rc < 0)
        return rc;
    /* Not into `to`, which may be the memory of a micro-batch. */
    fold_slice(&mine, slice_floats(slice_length, ranks->rank, length), s->sent);
    rc = leat_ranks_collect(ranks, s->sent, all, slice_length * sizeof(float), err);
    if (rc == LEAT_OK && !even)
        memcpy(to, all, length * sizeof *to);
    return rc;
}

/* --- open ------------------------------------------------------------------------------------ */

static void cut(leat_ranks_sum *s, int32_t first, int32_t n)
{
    const int32_t per_rank = s->n_micro / s->ranks->n, rank = first / per_rank;
    if (rank != (first + n - 1) / per_rank) {
        const int32_t left = leat_ranks_sum_left(n);
        cut(s, first, left);
        cut(s, first + left, n - left);
        return;
    }
    leat_ranks_branch *const part = &s->parts[s->n_parts];
    const bool goes_on = s->n_parts > 0 && part[-1].rank == rank;
    *part = (leat_ranks_branch){ first, n, rank, goes_on ? part[-1].at + 1 : 0 };
    s->n_parts++;
    s->most_parts = part->at + 1 > s->most_parts ? part->at + 1 : s->most_parts;
}

int leat_ranks_sum_open(leat_ranks_sum *s, leat_ranks *ranks, int32_t n_micro, size_t n_floats,
                        void (*add)(const float *a, const float *b, float *to, size_t n),
                        leat_error *err)
{
    const size_t step = 16 * (size_t)ranks->n;
    const size_t most = n_floats < CHUNK_FLOATS ? n_floats : CHUNK_FLOATS;
    *s = (leat_ranks_sum){ .ranks = ranks,
                           .add = add,
                           .n_micro = n_micro,
                           .chunk = (most + step - 1) / step * step,
                           .parts = calloc((size_t)n_micro, sizeof *s->parts) };
    if (s->parts)
        cut(s, 0, n_micro);
    const size_t room = s->chunk * (size_t)(s->most_parts ? s->most_parts : 1);
    s->sent = calloc(room, sizeof *s->sent);
    s->got = calloc(room, sizeof *s->got);
    s->rooms = calloc(LEVELS, PIECE_FLOATS * sizeof *s->rooms);
    if (s->parts && s->sent && s->got && s->rooms)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_NOMEM, "ranks: no memory for sums of gradients");
}

void leat_ranks_sum_close(leat_ranks_sum *s)
{
    free(s->parts);
    free(s->sent);
    free(s->got);
    free(s->rooms);
}
