/* SPDX-License-Identifier: MIT
 *
 * suggest.h: what could make a job faster: one row of a table per change, tried in parts, ranked by gain. */
#ifndef LEAT_SUGGEST_H
#define LEAT_SUGGEST_H

#include "leat/doctor.h"
#include "study/verdict_rules.h"

/* A job as suggestions see it. */
typedef struct leat_suggest_about {
    const leat_config *config; /* with the device set */
    leat_arm *arm;             /* of the job; its first round is overwritten by trials */
    const leat_facts *facts;
    const leat_verdict_found *diagnosis;
    int64_t prefetch, batch_size;
    int32_t steps;    /* of each run; 0: as many as fill it */
    bool anyway;      /* in more rounds, as others disturb them */
    int64_t until_ns; /* no trial goes on later; 0: any */
    int64_t run_ns;   /* what a run of the job took */
    bool is_cuda;
    void (*progress)(void *user); /* called after each trial */
    void *user;
} leat_suggest_about;

/* Time until n more runs would end too late, ns. */
int64_t leat_suggest_time_left(const leat_suggest_about *about, int n_runs);
/* Runs that a trial takes at least, with its warm-up; one in a hurry: its own, beside what the rounds say of the job. */
enum { LEAT_SUGGEST_RUNS = 5, LEAT_SUGGEST_HURRIED = 3 };

/* Runs the job with the values of `suggestion`, and fills its prediction and gain. Returns LEAT_OK, LEAT_E_BUSY: there is
 * no time for its runs, or the first error, also of values that cannot be set. */
int leat_suggest_try(const leat_suggest_about *about, leat_doctor_suggestion *suggestion,
                     leat_error *err);

/* Adds a value to set, "path=value", like printf. False: there is no room, or it was cut. */
bool leat_suggest_add(leat_doctor_suggestion *change, const char *format, ...) LEAT_PRINTF(2, 3);

/* The change that keeps n batches ready: a value of the stage `prefetch`, or the stage itself if there is none. */
void leat_suggest_prefetch(const leat_plan *plan, int64_t n, leat_doctor_suggestion *out);

/* The value at a path of the config, cut to fit; false, and "": it has none. */
bool leat_suggest_get(const leat_config *config, const char *path, char *text, size_t size);

/* The tensor of maps and trainers that name none: `image`, or the first. */
const char *leat_suggest_default(const leat_plan *plan);

/* The tensor that the model takes, as in the trainer: `input`, or `image`, or the first. */
const char *leat_suggest_input(const leat_suggest_about *about, char name[64]);

/* A part of the config ("eval"; NULL: the training) with the change: owned by the caller. NULL: it does not open. */
leat_plan *leat_suggest_plan(const leat_suggest_about *about, const leat_doctor_suggestion *change,
                             const char *part);

/* Whether the result lists the same values, with a gain or without. */
bool leat_suggest_is_listed(const leat_doctor_suggestion *suggestion,
                            const leat_doctor_result *result);

/* Keeps the list sorted: a change that is not sure comes behind those that are (leat_doctor_is_sure). */
void leat_suggest_insert(const leat_doctor_suggestion *suggestion, leat_doctor_result *result);

/* Most trials that one call makes. */
int32_t leat_suggest_most(void);

/* Tries the rows that apply and writes those that gain 3 % or more, best first. Returns LEAT_OK or the first error
 * that is not about the values of a change. */
int leat_suggest(const leat_suggest_about *about, leat_doctor_result *out, leat_error *err);

/* Appends changes that cannot be tried, each predicted from the facts alone (decoding once, more cores). */
void leat_suggest_advise(const leat_suggest_about *about, leat_doctor_result *out);

/* Time of a step if this share of the samples needs no decoding, ns; 0: nothing decodes. */
double leat_suggest_without_decoding(const leat_facts *facts, double share);

/* --- where a `cache` would save decoding, and the memory that it needs --- */

/* Whether a later pass takes what the first one cached: false only of training with one epoch. */
bool leat_suggest_cache_reused(const leat_suggest_about *about);

typedef struct leat_suggest_place {
    leat_doctor_suggestion change; /* its values alone */
    uint64_t n_samples;            /* that the stages let pass */
    int64_t sample_bytes;          /* of one in the cache; -1: not known */
    bool varies; /* it is the mean of some that were cached: pictures differ in size there */
    int64_t limit_bytes, left_bytes; /* engine.memory; what the other stages leave of it */
    bool is_auto;                    /* it is not set: a share of the memory that is free */
    int32_t n_ops;                   /* behind the decoder and before the cache */
    bool divides;                    /* a map, which has a random op behind the decoder */
    bool moves;                      /* the pipeline has a cache, which goes there */
    bool leaves;                     /* a map behind it decodes, too */
    double share; /* of the samples that fit into the cache; 1 if their size is not known */
} leat_suggest_place;

/* The cache comes behind the last map that decodes without a random op in front of it; a map with a random op behind the
 * decoder is divided there. One that the config has moves behind all that each epoch does again, up to the first random
 * op. False: nothing decodes, no pass would reuse it, the cache is there already, or the config cannot be changed so. */
bool leat_suggest_cache_place(const leat_suggest_about *about, leat_suggest_place *out);

/* Fills what the cache of the changed config needs and gets; sample_bytes: -1, or as known. False: the config cannot be
 * changed so. */
bool leat_suggest_cache_memory(const leat_suggest_about *about,
                               const leat_doctor_suggestion *change, leat_suggest_place *out);

/* Adds to why what memory a larger cache takes. */
void leat_suggest_cache_grow(const leat_suggest_about *about, leat_doctor_suggestion *change);

/* Whether the loader makes a pass, which fills the cache before a trial, within 5 s. */
bool leat_suggest_cache_fills(const leat_facts *facts, const leat_suggest_place *place);

/* Fills title, why, and the values. */
void leat_suggest_cache_say(const leat_facts *facts, const leat_suggest_place *place,
                            leat_doctor_suggestion *out);

/* --- copying bytes instead of floats. suggest.c calls it --- */

/* Whether the last that the host does to the model's input is `normalize`, or `cast` to float32, which the device can
 * do. */
bool leat_suggest_bytes_apply(const leat_suggest_about *about);
/* Takes the op away, also in `eval` and `whiten`, whose batches must be of the same type. */
void leat_suggest_bytes_set(const leat_suggest_about *about, leat_doctor_suggestion *out);

/* Whether maps name the CPU or the GPU, on a device that can run maps. */
bool leat_suggest_maps_apply(const leat_suggest_about *about);
/* Lets leat place their last ops, by what each place takes. */
void leat_suggest_maps_set(const leat_suggest_about *about, leat_doctor_suggestion *out);

/* --- leaving out tensors that the model does not read. suggest.c calls it --- */

/* Whether the config asks the source for such tensors, and can do so no more, in `eval` and `whiten` too. */
bool leat_suggest_unread_any(const leat_suggest_about *about);
/* Takes away the maps of these tensors, and their entries. */
void leat_suggest_unread_set(const leat_suggest_about *about, leat_doctor_suggestion *out);

/* --- a shuffle in blocks instead of a global one, so that few large reads take the place of many small ones --- */

/* Whether each small record is read alone, as the shuffle is global and the files are not kept in memory. */
bool leat_suggest_blocks_apply(const leat_suggest_about *about);
/* Sets a block of 256 KiB, and `reader: auto`, which alone reads blocks at once. */
void leat_suggest_blocks_set(const leat_suggest_about *about, leat_doctor_suggestion *out);

/* The windows that were read ahead before a run began are not measured, and the run lasts as long. Does nothing unless
 * the change sets a block. arm: of the change, after its warm-up. Returns what a run takes then, ns; 0: as others;
 * INT64_MAX / 2: it would have too many steps. */
int64_t leat_suggest_blocks_outlast(const leat_doctor_suggestion *change, leat_arm *arm);

#endif
