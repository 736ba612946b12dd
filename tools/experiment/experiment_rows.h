/* SPDX-License-Identifier: MIT
 *
 * experiment_rows.h: the experiments of `leat experiment`, and a run of one. An experiment is a row: configs
 * whose values are varied (parts), or a function of its own, and claims about the figures, which a run
 * checks. cmd_experiment.c runs them; experiment_list.c lists them. */
#ifndef LEAT_TOOLS_EXPERIMENT_H
#define LEAT_TOOLS_EXPERIMENT_H

#include <jansson.h>
#include <stdbool.h>

#include "leat/leat.h"

/* Kinds of devices, as bits. */
enum { LEAT_ON_CPU = 1, LEAT_ON_SIM = 2, LEAT_ON_CUDA = 4, LEAT_ON_ALL = 7 };

/* A comparison of one config: all combinations of the varied values, on each device. */
typedef struct leat_experiment_part {
    const char *label;  /* before the name of its arms; "": none */
    const char *config; /* name of a file in examples/gpu-vs-cpu/ */
    int32_t on;         /* kinds of devices */
    const char *sim;    /* appended to the name of a simulated device, " {launch_ns: 1000}"; NULL */
    bool plain;         /* with `sim`: the device without it, too */
    const char *set[3]; /* as --set; ends with NULL */
    const char *vary[3], *quick_vary[3]; /* as --vary; ends with NULL; quick: NULL: the same */
} leat_experiment_part;

/* What a claim compares. */
typedef enum leat_experiment_metric {
    LEAT_CLAIM_RATE,   /* samples per second */
    LEAT_CLAIM_LOADER, /* of the loader alone */
    LEAT_CLAIM_STEP,   /* of the step alone */
    LEAT_CLAIM_IDLE,   /* share of the time in which the device was idle */
} leat_experiment_metric;

/* "The figure of arm a (divided by that of arm b) is within low … high." In names of arms '@' stands for each
 * device that is not the CPU. */
typedef struct leat_experiment_claim {
    const char *text;
    leat_experiment_metric metric;
    const char *a, *b; /* names of arms; b NULL: the figure itself */
    double low, high;  /* high 0: no upper limit */
} leat_experiment_claim;

typedef struct leat_experiment_run leat_experiment_run;

typedef struct leat_experiment {
    const char *name, *title; /* title: the question, a sentence */
    const char *expect;       /* what should be seen, one sentence */
    const char *data[4];      /* data sets it needs: names in experiment_data.c; ends with NULL */
    leat_experiment_part parts[6];   /* ends with config NULL */
    leat_experiment_claim claims[8]; /* ends with text NULL */
    /* NULL: only the parts. Otherwise called after them: measures, adds series and findings. */
    int (*run)(leat_experiment_run *run, leat_error *err);
} leat_experiment;

/* --- a run -------------------------------------------------------------------------------------- */

typedef struct leat_experiment_device {
    char name[128];
    int32_t kind; /* LEAT_ON_* */
} leat_experiment_device;

typedef struct leat_finding {
    char text[400];
    int32_t holds; /* 1: the measurement supports it; 0: it contradicts it; -1: it does not tell */
} leat_finding;

enum {
    LEAT_EXPERIMENT_MAX_DEVICES = 8,
    LEAT_EXPERIMENT_MAX_FINDINGS = 32,
    LEAT_EXPERIMENT_MAX_NOTES = 16
};

struct leat_experiment_run {
    const leat_experiment *experiment;
    const char *data_folder;
    bool quick;
    int32_t rounds, steps; /* 0: as the experiment says */
    leat_experiment_device devices[LEAT_EXPERIMENT_MAX_DEVICES];
    int32_t n_devices;
    void (*progress)(void *user, int64_t done, int64_t total);
    void *progress_user;
    /* results; free() arms and series */
    leat_compare_arm *arms; /* with the part's label and the device at the start of the name */
    int32_t n_arms;
    leat_series *series;
    int32_t n_series;
    leat_finding findings[LEAT_EXPERIMENT_MAX_FINDINGS];
    int32_t n_findings;
    char notes[LEAT_EXPERIMENT_MAX_NOTES]
              [600]; /* what was left out and why; what limits the result */
    int32_t n_notes;
    double seconds;
};

/* The i-th experiment, NULL past the end; the one of that name, or NULL. */
const leat_experiment *leat_experiment_at(size_t i);
const leat_experiment *leat_experiment_find(const char *name);

/* The text of the config NAME in examples/gpu-vs-cpu/, which is part of the program; NULL: none of that name. */
const char *leat_experiment_config_text(const char *name);

/* Makes data, runs parts and function, checks claims. Returns LEAT_OK or the first error; the results so far
 * stay in the run. */
int leat_experiment_run_all(leat_experiment_run *run, leat_error *err);

/* Adds a note, or a finding; too many are dropped. holds as in leat_finding. */
void leat_experiment_note(leat_experiment_run *run, const char *format, ...) LEAT_PRINTF(2, 3);
void leat_experiment_finding(leat_experiment_run *run, int32_t holds, const char *format, ...)
    LEAT_PRINTF(3, 4);
/* Appends n series of a device, in ms, without names and points; NULL: out of memory, and *err says so. Valid until the
 * next call. */
leat_series *leat_experiment_add_series(leat_experiment_run *run, int32_t n, const char *device,
                                        bool simulated, const char *x_unit, leat_error *err);
/* Of a sweep, with as many repeats as the run says, or these, where it does not. */
leat_sweep_options leat_experiment_sweep_options(const leat_experiment_run *run, int32_t quick,
                                                 int32_t full);

/* --- its pieces --------------------------------------------------------------------------------- */

/* Writes the named data set below the run's folder, unless it is there in this size or larger. */
int leat_experiment_data(const leat_experiment_run *run, const char *name, leat_error *err);

/* Checks all claims of the experiment and adds a finding for each whose arms ran. */
void leat_experiment_check_claims(leat_experiment_run *run);

/* The config of a part, with its values set. */
int leat_experiment_open_config(const leat_experiment_run *run, const leat_experiment_part *part,
                                leat_config **out, leat_error *err);

/* Writes a config into the run's data folder, for a process of its own. */
int leat_experiment_write_config(const leat_experiment_run *run, const char *name, leat_error *err);

/* a / b with its 95 % interval, from theirs. All must be above 0, else the limits are not numbers. */
leat_estimate leat_experiment_ratio(leat_estimate a, leat_estimate b);

/* 1 if [low, high] lies within least … most (0: no upper limit), 0 if outside, -1 if it overlaps a limit. */
int32_t leat_experiment_holds(double low, double high, double least, double most);

/* Runs this program again with these arguments (ends with NULL) and no standard input; its standard output goes
 * to `out` (size bytes, cut), or nowhere if out is NULL. Returns LEAT_OK, or LEAT_E_IO if it
 * fails. */
int leat_experiment_again(const char *const *arguments, char *out, size_t size, leat_error *err);

/* A process of model-creation: opens device and model, takes some steps, prints the times as JSON. */
int leat_experiment_cold(const char *device, int64_t n_layers, leat_error *err);

/* Median of what the first steps of three new processes took longer than later steps, opening the device and
 * building a small model included, ms. */
int leat_experiment_one_time(const char *device, double *ms, leat_error *err);

/* Functions of experiments. */
int leat_experiment_matmul(leat_experiment_run *run, leat_error *err);
int leat_experiment_elementwise(leat_experiment_run *run, leat_error *err);
int leat_experiment_copy_size(leat_experiment_run *run, leat_error *err);
int leat_experiment_fine_grained(leat_experiment_run *run, leat_error *err);
int leat_experiment_placement(leat_experiment_run *run, leat_error *err);
int leat_experiment_creation(leat_experiment_run *run, leat_error *err);
int leat_experiment_faster(leat_experiment_run *run, leat_error *err);
int leat_experiment_first(leat_experiment_run *run, leat_error *err);
int leat_experiment_batch_crossing(leat_experiment_run *run, leat_error *err);
int leat_experiment_resident(leat_experiment_run *run, leat_error *err);

/* --- curves --------------------------------------------------------- */

/* leat_experiment_ratio() of two points; all 0 if one is NULL. */
leat_estimate leat_sweep_ratio(const leat_point *a, const leat_point *b);

/* Adds a finding that tells from which x on a line of a device is faster than one of the CPU, if both were measured. */
void leat_sweep_say_crossing(leat_experiment_run *run, const char *what, const char *device,
                             const char *line, const char *cpu_line);

/* --- what a run shows --- */

/* Prints figures, curves, findings and notes, in 80 columns. */
void leat_experiment_print(const leat_experiment_run *run);
/* A new object; keys: docs/json.md. */
json_t *leat_experiment_json(const leat_experiment_run *run);

#endif
