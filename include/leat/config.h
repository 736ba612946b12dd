/* SPDX-License-Identifier: MIT
 *
 * config.h: a config file with overrides, not yet checked. leat_plan_open() checks its `source`,
 * `pipeline` and `engine` parts, leat_trainer_open() its `train` part. */
#ifndef LEAT_CONFIG_H
#define LEAT_CONFIG_H

#include <stddef.h>

#include "leat/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_config leat_config;

/* Reads a YAML file. Errors are "file:line:column: what".
 * Relative paths inside a config are relative to the folder that the process is in when the plan is opened: one that changes
 * its folder later goes on with the same files.
 * out      owned by the caller: leat_config_close()
 * returns  LEAT_OK, LEAT_E_IO, LEAT_E_CONFIG, LEAT_E_NOMEM
 * threads  a config is not shared between threads */
LEAT_API int leat_config_load(const char *path, leat_config **out, leat_error *err);

/* The same from text; `name` stands for the file in messages. */
LEAT_API int leat_config_parse(const char *text, const char *name, leat_config **out,
                               leat_error *err);

/* Sets one value by path, as `--set` does: "pipeline.prefetch.batches=0". A value that begins with
 * '[', '{' or a quote is YAML; anything else is one scalar as it stands ("sim:h200", "*.tfrecord").
 * In a list of stages, ops or layers a name selects the entry of that name ("pipeline.map.ops"),
 * [i] the i-th of that name ("pipeline.map[1].ops") or, after the list itself, the i-th entry
 * ("pipeline[2].size"). A key that a mapping lacks is added; a list entry that does not exist is an
 * error that names those that do. An option of a bare entry or value is added to it: after
 * "pipeline.batch.drop_remainder=true" a `batch: 128` has both.
 * "PATH-" takes the entry at that path away: "source.tfrecord.features.mask-", "pipeline.cache-".
 * "PATH+=VALUE" adds an entry to a list: before the entry at that path ("pipeline.batch+=cache"), or, where the path is
 * that of a list, behind its last one ("train.model+={dense: 10}").
 * returns  LEAT_OK, LEAT_E_CONFIG, LEAT_E_NOMEM; after an error the config is as it was */
LEAT_API int leat_config_set(leat_config *config, const char *assignment, leat_error *err);

/* The same for a value that the user did not write as `--set`: messages about it, also those of
 * leat_plan_open() and leat_trainer_open(), begin with `origin` in place of "--set PATH".
 * origin   what the user did write, such as "--epochs"; copied; NULL: as leat_config_set()
 * returns  as leat_config_set()
 * threads  a config is not shared between threads */
LEAT_API int leat_config_set_as(leat_config *config, const char *assignment, const char *origin,
                                leat_error *err);

/* Before leat_config_set() of an option of a stage: gives a value that stands alone its name, so that a file can hold
 * the option beside it. Before "pipeline.batch.drop_remainder=true" a `batch: 2` becomes `batch: {size: 2}`.
 * returns  LEAT_OK, also if there is no such value; LEAT_E_ARGUMENT; LEAT_E_NOMEM: the config is as it was
 * threads  a config is not shared between threads */
LEAT_API int leat_stage_name_value(leat_config *config, const char *assignment, leat_error *err);

/* The value at a path as text ("128", "[32, 32]"), cut to fit; LEAT_E_ARGUMENT if absent. */
LEAT_API int leat_config_get(const leat_config *config, const char *path, char *text, size_t size,
                             leat_error *err);

/* The whole config as YAML for a file, with keys in their order and without comments.
 * text     cut to fit, ends with 0; NULL if size is 0
 * length   of the whole text
 * returns  LEAT_OK, LEAT_E_ARGUMENT, LEAT_E_UNSUPPORTED: leat_config_set() has added an option to a bare
 *          value (`batch: 128`), and the name of that value is not known here */
LEAT_API int leat_config_text(const leat_config *config, char *text, size_t size, size_t *length,
                              leat_error *err);

/* The text of a config's file, changed so that it reads as `config`: comments, order and layout stay, and lines that
 * need no change keep their bytes. Values are replaced in place; keys that a mapping lacks follow its last one; entries
 * of lists are lines that are added or taken away. The result is read again and compared, so it is right or not given.
 * before   the file's text, as it was read; UTF-8
 * name     stands for the file in messages
 * text     cut to fit, ends with 0; NULL if size is 0
 * length   of the whole text
 * returns  LEAT_OK, LEAT_E_ARGUMENT, LEAT_E_NOMEM, LEAT_E_CONFIG: `before` is no config, LEAT_E_UNSUPPORTED: it
 *          needs more than that, such as a list that becomes empty */
LEAT_API int leat_config_edit(const leat_config *config, const char *before, const char *name,
                              char *text, size_t size, size_t *length, leat_error *err);

/* A deep copy. Its values keep their file, line and column for messages.
 * out      owned by the caller: leat_config_close()
 * returns  LEAT_OK, LEAT_E_NOMEM */
LEAT_API int leat_config_copy(const leat_config *config, leat_config **out, leat_error *err);

/* Frees. Plans and trainers made from it stay valid. */
LEAT_API void leat_config_close(leat_config **config);

#ifdef __cplusplus
}
#endif
#endif
