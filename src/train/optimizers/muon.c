/* SPDX-License-Identifier: MIT
 *
 * muon: Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024. Parameters of rank
 * 2 and more are matrices G of [out, all other dims], whose averaged gradient is replaced by the nearest
 * orthogonal matrix, about:
 *   v = momentum * v + (1 - momentum) * g; d = nesterov ? momentum * v + (1 - momentum) * g : v
 *   X = d / max(|d|, 1e-7); `iterations` times: A = X Xᵀ, X = 3.4445 X - 4.7750 A X + 2.0315 A² X
 *   w -= learning_rate * weight_decay * w; w -= learning_rate * sqrt(max(1, out / others)) * X
 * All other parameters are updated by adamw with learning_rate * vector_rate. Matrices are computed in
 * float32. The first and the last layer are matrices like all others. */
#include <string.h>

#include "adam.h"
#include "train/cpu/cpu_loops.h"

static const leat_option options[] = {
    LEAT_RATE_OPTION(leat_muon_options, learning_rate, "0.02", 0, 1e6, "step size"),
    LEAT_GPU_OPTION(leat_muon_options, momentum, F32, "0.95", 0, 1,
                    "share of the average that stays"),
    LEAT_GPU_OPTION(leat_muon_options, nesterov, BOOL, "true", 0, 1, "use Nesterov momentum"),
    LEAT_GPU_OPTION(leat_muon_options, iterations, I64, "5", 1, 100,
                    "steps of the iteration to an orthogonal matrix"),
    LEAT_RATE_OPTION(leat_muon_options, weight_decay, "0", 0, 1e6,
                     "each step subtracts this times the learning rate times the weight"),
    LEAT_GPU_OPTION(leat_muon_options, vector_rate, F32, "0.015", 0, 1e6,
                    "factor of the learning rate for biases and scales, which adamw updates"),
    LEAT_ADAM_BETAS,
    LEAT_OPTION_END
};

static void update(const void *opts, const leat_update *u, float *weight, const float *grad,
                   float *const states[LEAT_OPTIMIZER_MAX_STATES], size_t n)
{
    const leat_muon_options *o = opts;
    const double rate = u->learning_rate * (double)o->vector_rate;
    const leat_adam_loop_rates rates = { rate, 0, 1 - (float)(rate * (double)u->weight_decay) };
    leat_adam_loop(&o->adam, u, &rates, weight, grad, states[0], states[1], n);
}

/* --- matrices -------------------------------------------------------------------------------- */

/* A tall matrix, tall × narrow, narrow <= tall: the parameter as it is or transposed. Both are padded by
 * zeros, which the iteration keeps, to whole blocks of the product. */
typedef struct tall {
    size_t rows, columns; /* padded */
    bool transposed;
} tall;

static size_t whole(int64_t n, size_t block)
{
    return ((size_t)n + block - 1) / block * block;
}

static tall tall_of(int64_t rows, int64_t columns)
{
    const bool transposed = rows < columns;
    return (tall){ whole(transposed ? columns : rows, LEAT_CPU_MATMUL_ROWS),
                   whole(transposed ? rows : columns, LEAT_CPU_MATMUL_COLUMNS), transposed };
}

/* Two tall matrices, two squares. */
static size_t matrix_scratch(int64_t rows, int64_t columns)
{
    const tall t = tall_of(rows, columns);
    return 2 * t.rows * t.columns + 2 * t.columns * t.columns;
}

/* Puts d into x; returns the sum of its squares. */
static double momentum(const leat_muon_options *o, const leat_update *u, const float *grad,
                       float *velocity, int64_t rows, int64_t columns, const tall *t, float *x)
{
    const float stays = o->momentum, comes = 1 - o->momentum;
    double squares = 0;
    memset(x, 0, t->rows * t->columns * sizeof *x);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < columns; k++) {
            const int64_t at = i * columns + k;
            const float g = grad[at] * u->grad_scale;
            const float v = velocity[at] = stays * velocity[at] + comes * g;
            const float d = o->nesterov ? stays * v + comes * g : v;
            const size_t r = (size_t)(t->transposed ? k : i), c = (size_t)(t->transposed ? i : k);
            x[r * t->columns + c] = d;
            squares += (double)d * (double)d;
        }
    return squares;
}

/* X = a X + X (b A + c A²), A = XᵀX; gives the matrix that holds the result: x or y. */
static float *orthogonal(const leat_muon_options *o, const tall *t, float *x, float *y, float *a,
                         float *b)
{
    const leat_cpu_loops *loops = leat_cpu_loops_get();
    const size_t n = t->columns;
    for (int64_t k = 0; k < o->iterations; k++) {
        memset(a, 0, n * n * sizeof *a);
        memset(b, 0, n * n * sizeof *b);
        loops->matmul(x, 1, n, x, a, n, n, t->rows);
        loops->matmul(a, n, 1, a, b, n, n, n);
        for (size_t i = 0; i < n * n; i++)
            b[i] = 2.0315f * b[i] - 4.7750f * a[i];
        for (size_t i = 0; i < t->rows * n; i++)
            y[i] = 3.4445f * x[i];
        loops->matmul(x, n, 1, b, y, t->rows, n, n);
        float *const old = x;
        x = y;
        y = old;
    }
    return x;
}

static void update_matrix(const void *opts, const leat_update *u, float *weight, const float *grad,
                          float *const states[LEAT_OPTIMIZER_MAX_STATES], int64_t rows,
                          int64_t columns, float *scratch)
{
    const leat_muon_options *o = opts;
    const tall t = tall_of(rows, columns);
    float *x = scratch, *y = x + t.rows * t.columns, *a = y + t.rows * t.columns;
    const double squares = momentum(o, u, grad, states[0], rows, columns, &t, x);
    const float shorter = (float)(1 / fmax(sqrt(squares), 1e-7));
    const double wide = columns > rows ? sqrt((double)columns / (double)rows) : 1;
    const float rate = (float)(u->learning_rate * wide);
    const float kept = 1 - (float)(u->learning_rate * (double)u->weight_decay);
    for (size_t i = 0; i < t.rows * t.columns; i++)
        x[i] *= shorter;
    const float *d = orthogonal(o, &t, x, y, a, a + t.columns * t.columns);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < columns; k++) {
            const size_t r = (size_t)(t.transposed ? k : i), c = (size_t)(t.transposed ? i : k);
            float *w = &weight[i * columns + k];
            *w = kept * *w - rate * d[r * t.columns + c];
        }
}

const leat_optimizer leat_optimizer_muon = {
    .kind = { "muon", "momentum made orthogonal, for matrices; adamw for other parameters",
              options },
    .options_size = sizeof(leat_muon_options),
    .n_states = 2,
    .flops = 14, /* without the products of the matrices */
    .update = update,
    .update_matrix = update_matrix,
    .matrix_scratch = matrix_scratch,
};
