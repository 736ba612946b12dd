/* SPDX-License-Identifier: MIT
 *
 * trainer.h: internals of a trainer, and functions that need no loader (for tests). */
#ifndef LEAT_TRAINER_H
#define LEAT_TRAINER_H

#include "average.h"
#include "base/machine.h"
#include "classes/class_metrics.h"
#include "decide/decide.h"
#include "nn.h"
#include "ranks/exchange.h"
#include "views.h"
#include "weights/pretrained.h"

enum {
    LEAT_TRAINER_IN_FLIGHT = 64, /* steps that the host may be ahead of the device */
    LEAT_TRAINER_TIMES_KEPT = 65536
};

/* The rows of `train`. */
typedef struct leat_train_options {
    leat_string device;
    int64_t epochs;
    int64_t seed; /* LEAT_OPTION_CHOICE(0): the config's own */
    leat_string input, target, sample_weight;
    const leat_node *model, *loss, *optimizer, *schedule, *average, *multipliers, *stop, *weights,
        *normalize;
    leat_strings no_decay, frozen, metrics;
    int64_t threads;       /* LEAT_OPTION_CHOICE(0): auto */
    int64_t micro_batches; /* the same */
    int32_t precision;     /* leat_precision */
    int32_t graph;         /* leat_graph */
    int64_t accumulate;
    float clip;
    int32_t views;      /* leat_views */
    int64_t sync_every; /* 0: never */
    const leat_node *checkpoint, *cuda;
} leat_train_options;

/* The rows of train.cuda. */
typedef struct leat_cuda_options {
    int32_t plans; /* 1: measure */
    leat_string plan_cache;
} leat_cuda_options;

/* The rows of train.checkpoint. */
typedef struct leat_checkpoint_options {
    leat_string dir;
    int64_t every_steps, keep;
    double every_minutes;
    int32_t best; /* 0: none; 1 + leat_metric */
} leat_checkpoint_options;

/* One step that the device may still compute. */
typedef struct leat_trainer_flight {
    leat_event *copied, *start, *end;
    leat_step_times times; /* as far as the host knows them */
    int64_t sent_ns;       /* the batch's copy was enqueued */
} leat_trainer_flight;

struct leat_trainer {
    leat_model model;
    const leat_backend *backend;
    leat_net *net;
    leat_device *device;
    leat_trainer_info info;
    char simulated_by[400];
    char note[1000];                    /* info.note; "": none */
    char *settings;                     /* leat_checkpoint_settings() */
    leat_checkpoint_options checkpoint; /* dir.text "": none */
    leat_cuda_options cuda;
    leat_machine machine;
    int32_t input_at, target_at; /* tensors of the plan */
    int32_t weight_at;           /* the same; used where the model is weighted */
    char *names[3];              /* of these tensors in that order; NULL: not known */
    char *class_names;           /* of the plan, as weights keep them; NULL: not known */
    char *restored_classes;      /* the same of the weights that were restored */
    int64_t sync_every;
    leat_net_sums carried; /* of training, from before an evaluation */
    /* Training batches of the run so far, see start_at: whose gradients were taken; the others, because all rows were
     * masked, or the sum of gradients that they belong to is not taken up. */
    int64_t n_accumulated, n_skipped;
    float clip;       /* leat_net_step.clip */
    leat_views views; /* of evaluation */
    leat_net_sums view_sums;
    uint32_t asked;              /* 1 << leat_metric, of metrics over classes */
    leat_class_metrics *classes; /* of the last evaluation; NULL: none is asked for */
    bool evaluated;              /* there was one */
    int64_t metrics_bytes;       /* leat_train_memory.metrics */
    leat_schedule *schedule;
    leat_decide decide;
    leat_average average;
    leat_pretrained pretrained;
    bool auto_micro; /* micro_batches: auto */
    bool compared;   /* with ranks: their weights, before the first step */
    int64_t
        *micro_valid; /* with ranks, of each micro-batch of the batch at hand: rows that count */
    bool whiten;      /* a layer waits for its first weights, see trainer_whiten.c */
    bool still;       /* steps leave the weights as they are: their rate is 0 */
    leat_stream *stream, *watch; /* NULL where the device computes in host memory */
    leat_trainer_flight flights[LEAT_TRAINER_IN_FLIGHT];
    uint64_t n_begun, n_done; /* steps; flights holds n_done up to n_begun */
    leat_step_times *times;   /* ring; n_given up to n_done are not delivered yet */
    uint64_t n_given;
    uint64_t recorded_from; /* 1 + n_done where a recording began; 0: none is under way */
};

/* The properties of the plan that a trainer uses. Shapes are of one sample. */
typedef struct leat_trainer_feed {
    int32_t input_at, target_at; /* tensors of the plan */
    int32_t weight_at;           /* the same; where there are weights */
    leat_shape input, target;
    bool any_target;      /* target is not known: what the loss takes */
    const char *names[3]; /* of input, target and weights; NULL: unknown, or no weights */
    bool input_chosen;    /* nothing names it: the first of several */
    bool channels_first, channels_last; /* of the input; neither: nothing tells */
    int64_t batch_size;
    int64_t batches;   /* of one epoch; 0 or less: unknown or endless */
    int32_t n_classes; /* 0: unknown */
    bool evaluates;    /* no step will train */
    uint64_t seed;     /* if train.seed is not given */
    leat_ranks *ranks; /* that this one has joined; NULL: it trains alone. Borrowed */
} leat_trainer_feed;

/* trainer_options.c: read `train` (*node), and some of its parts, which may be missing (NULL). */
int leat_trainer_options(const leat_config *config, leat_train_options *out, const leat_node **node,
                         leat_error *err);
int leat_trainer_options_checkpoint(const leat_node *node, leat_checkpoint_options *out,
                                    leat_error *err);
int leat_trainer_options_weights(const leat_node *node, leat_weights_options *out, leat_error *err);
int leat_trainer_options_cuda(const leat_node *node, leat_cuda_options *out, leat_error *err);
/* input: of one sample; channels_first: as in leat_trainer_feed. A missing node leaves *out as it is. */
int leat_trainer_options_normalize(const leat_node *node, const leat_shape *input,
                                   bool channels_first, leat_model_normalize *out, leat_error *err);

/* trainer_feed.c: finds the tensors by their names in the options, and fills what of *feed tells about them. node: `train`. */
int leat_trainer_feed_find(const leat_train_options *options, const leat_node *node,
                           const leat_plan *plan, leat_trainer_feed *feed, leat_error *err);
/* Checks the classes that are known before the first batch. */
int leat_trainer_feed_classes(const leat_trainer *trainer, const leat_plan *plan, leat_error *err);

/* leat_trainer_open() without a plan. device: NULL: checks config and shapes, and makes no net: then only
 * leat_trainer_check() and leat_trainer_close() can be called. */
int leat_trainer_open_feed(const leat_config *config, const leat_trainer_feed *feed,
                           leat_device *device, leat_trainer **out, leat_error *err);

/* trainer_notes.c: fills trainer->note. node: `train`. */
void leat_trainer_notes(leat_trainer *trainer, const leat_config *config, const leat_node *node,
                        const leat_train_options *options, const leat_trainer_feed *feed);

/* trainer_open.c: makes the net anew, with its initial weights, for another number of micro-batches. */
int leat_trainer_recut(leat_trainer *trainer, int32_t n_micro, leat_error *err);

/* A batch with masked rows; if n_valid is 0, nothing happens. */
int leat_trainer_step_rows(leat_trainer *trainer, const leat_net_rows *rows, bool train,
                           leat_error *err);
/* One step, or (train false) one forward pass, over views instead of a batch. On a device with
 * memory of its own only enqueues, and records no times. */
int leat_trainer_step_views(leat_trainer *trainer, const leat_view *x, const leat_view *y,
                            int64_t rows, bool train, leat_error *err);

/* trainer_whiten.c: the weights of `init: whiten` by rows in memory of the device. */
int leat_trainer_whiten_rows(leat_trainer *trainer, const leat_net_rows *rows, leat_error *err);

/* The rows of a batch; LEAT_E_ARGUMENT if it is of another plan or has none. */
int leat_trainer_rows_of(const leat_trainer *trainer, leat_batch *batch, leat_net_rows *out,
                         leat_error *err);

/* Releases a batch, behind the steps enqueued before where the device has memory of its own. */
void leat_trainer_give_back(leat_trainer *trainer, leat_batch *batch);

/* Waits for all steps and stores their times. */
int leat_trainer_sync(leat_trainer *trainer, leat_error *err);

/* Training batches of the run so far. */
static inline int64_t leat_trainer_batches(const leat_trainer *trainer)
{
    return trainer->n_accumulated + trainer->n_skipped;
}

#endif
