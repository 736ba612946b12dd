/* SPDX-License-Identifier: MIT
 *
 * suggest_cache.h: where a `cache` would save decoding, and the memory that it needs. */
#ifndef LEAT_SUGGEST_CACHE_H
#define LEAT_SUGGEST_CACHE_H

#include "suggest.h"

typedef struct leat_suggest_place {
    char where[LEAT_DOCTOR_MAX_WHERE]; /* "in the list `pipeline`, before `batch`" */
    char lines[LEAT_DOCTOR_MAX_LINES]; /* YAML, with \n between the lines */
    int32_t stage, replaces;           /* as in leat_doctor_suggestion */
    uint64_t n_samples;                /* that the stages let pass */
    int64_t sample_bytes;              /* of one in the cache; -1: not known */
    bool varies; /* it is the mean of some that were cached: pictures differ in size there */
    int64_t limit_bytes, left_bytes; /* engine.memory; what the other stages leave of it */
    bool is_auto;                    /* it is not set: a share of the memory that is free */
    bool moves;                      /* the pipeline has a cache, which goes there */
    bool leaves;                     /* a map behind it decodes, too */
    double share; /* of the samples that fit into the cache; 1 if their size is not known */
} leat_suggest_place;

/* The cache comes behind the last map that decodes without a random op in front of it; a map with a random op behind the
 * decoder is divided there. One that the config has moves behind all that each epoch does again, up to the first random
 * op. False: nothing decodes, the cache is there already, or the config cannot be changed so. */
bool leat_suggest_cache_place(const leat_suggest_about *about, leat_suggest_place *out);

/* Whether the loader makes a pass, which fills the cache before a trial, within 5 s. */
bool leat_suggest_cache_fills(const leat_facts *facts, const leat_suggest_place *place);

/* Fills title, why, and what to write where. */
void leat_suggest_cache_say(const leat_facts *facts, const leat_suggest_place *place,
                            leat_doctor_suggestion *out);

#endif
