/* SPDX-License-Identifier: MIT
 *
 * program_place.c: gives every tensor of a program its place in the memory of a micro-batch. See program.h. */
#include <stdlib.h>

#include "program.h"

/* A piece of memory: a tensor, or several that use it one after the other. */
typedef struct piece {
    int32_t first, last;
    size_t bytes, at;
} piece;

static bool in_place(const leat_program *p, leat_prim prim)
{
    static const bool rows[] = {
#define ROW(NAME, name, in_place) in_place,
        LEAT_PRIM_LIST(ROW)
#undef ROW
    };
    return rows[prim] && !(p->apart && prim == LEAT_PRIM_NORM_GRAD);
}

static void find_lives(leat_program *p)
{
    for (int32_t i = 0; i < p->n_ops; i++) {
        const leat_prim_op *op = &p->ops[i];
        for (int k = 0; k < LEAT_PRIM_MAX_IN; k++)
            if (op->in[k] >= 0)
                p->tensors[op->in[k]].last = i;
        for (int k = 0; k < LEAT_PRIM_MAX_OUT; k++)
            if (op->out[k] >= 0) {
                leat_program_tensor *t = &p->tensors[op->out[k]];
                t->first = t->first < 0 ? i : t->first;
                t->last = i;
            }
    }
    p->tensors[p->logits].last = p->n_ops;
    if (p->input_grad >= 0)
        p->tensors[p->input_grad].last = p->n_ops;
}

static size_t bytes_of(const leat_program_tensor *t, int64_t rows)
{
    return ((size_t)(t->n * rows) * leat_prim_type_bytes(t->type) + 63) / 64 * 64;
}

/* The tensor whose memory the op's first result may take; -1: none. */
static int32_t given_up(const leat_program *p, const leat_prim_op *op)
{
    if (op->prim == LEAT_PRIM_CONV_GRAD_DATA) /* it still reads in[0] while it writes */
        return op->in[1] != op->in[0] ? op->in[1] : -1;
    return in_place(p, op->prim) ? op->in[0] : -1;
}

/* Pieces of all tensors; of[t] is tensor t's. */
static int32_t find_pieces(const leat_program *p, int64_t rows, piece *pieces, int32_t *of)
{
    int32_t n = 0;
    for (int32_t t = 0; t < p->n_tensors; t++)
        of[t] = -1;
    for (int32_t i = 0; i < p->n_ops; i++)
        for (int k = 0; k < LEAT_PRIM_MAX_OUT; k++) {
            const leat_prim_op *op = &p->ops[i];
            const int32_t t = op->out[k], from = given_up(p, op);
            if (t < 0 || of[t] >= 0)
                continue;
            const leat_program_tensor *to = &p->tensors[t];
            const size_t bytes = bytes_of(to, rows);
            if (k == 0 && from >= 0 && of[from] >= 0 && p->tensors[from].last == i &&
                pieces[of[from]].bytes == bytes) {
                of[t] = of[from];
                pieces[of[t]].last = to->last;
            } else {
                of[t] = n;
                pieces[n++] = (piece){ to->first, to->last, bytes, 0 };
            }
        }
    return n;
}

static int by_bytes(const void *a, const void *b)
{
    const piece *const x = *(piece *const *)a, *const y = *(piece *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static int by_place(const void *a, const void *b)
{
    const piece *const x = *(piece *const *)a, *const y = *(piece *const *)b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* The lowest free place between pieces that live at the same time. */
static void place_one(piece *one, piece *const *placed, int32_t n, piece **rivals)
{
    int32_t n_rivals = 0;
    for (int32_t i = 0; i < n; i++)
        if (placed[i]->first <= one->last && one->first <= placed[i]->last)
            rivals[n_rivals++] = placed[i];
    qsort(rivals, (size_t)n_rivals, sizeof(piece *), by_place);
    one->at = 0;
    for (int32_t i = 0; i < n_rivals; i++) {
        if (one->at + one->bytes <= rivals[i]->at)
            return;
        const size_t end = rivals[i]->at + rivals[i]->bytes;
        one->at = end > one->at ? end : one->at;
    }
}

int leat_program_place(leat_program *p, int64_t rows, leat_error *err)
{
    const size_t n_tensors = (size_t)p->n_tensors;
    piece *pieces = malloc(n_tensors * sizeof *pieces);
    piece **sorted = malloc(n_tensors * sizeof(piece *));
    piece **rivals = malloc(n_tensors * sizeof(piece *));
    int32_t *of = malloc(n_tensors * sizeof *of);
    const bool ok = pieces && sorted && rivals && of;
    p->bytes = 0;
    if (ok) {
        find_lives(p);
        const int32_t n = find_pieces(p, rows, pieces, of);
        for (int32_t i = 0; i < n; i++)
            sorted[i] = &pieces[i];
        qsort(sorted, (size_t)n, sizeof(piece *), by_bytes);
        for (int32_t i = 0; i < n; i++) {
            place_one(sorted[i], sorted, i, rivals);
            const size_t end = sorted[i]->at + sorted[i]->bytes;
            p->bytes = end > p->bytes ? end : p->bytes;
        }
        for (int32_t t = 0; t < p->n_tensors; t++)
            p->tensors[t].at = of[t] >= 0 ? pieces[of[t]].at : 0;
    }
    free(pieces);
    free(sorted);
    free(rivals);
    free(of);
    return ok ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "training: no memory for a plan");
}
