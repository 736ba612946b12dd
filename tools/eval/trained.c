/* SPDX-License-Identifier: MIT */
#include "trained.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "files.h"
#include "formats/folder_list.h"
#include "formats/grow.h"
#include "formats/shard_set.h"
#include "formats/utf8.h"
#include "formats/visible.h"
#include "formats/whole_file.h"
#include "print/terminal.h"
#include "setup.h"

enum { NAMES_BYTES_MOST = 16 << 20 };

/* --- names of classes --------------------------------------------------------------------------*/

static int add_class(leat_trained *t, const char *name, leat_error *err)
{
    char **classes = leat_grow(t->classes, (size_t)t->n_classes, sizeof *classes);
    if (classes)
        t->classes = classes;
    char *copy = classes ? strdup(name) : NULL;
    if (!copy)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    t->classes[t->n_classes++] = copy;
    return LEAT_OK;
}

/* A name per line of a text of n bytes, which a zero byte follows. */
static int take_names(leat_trained *t, const char *path, char *text, size_t n, leat_error *err)
{
    int rc = LEAT_OK;
    const char *const all = text + n;
    for (long line = 1; rc == LEAT_OK && text < all; line++) {
        char *const end = memchr(text, '\n', (size_t)(all - text));
        if (end)
            *end = 0;
        if (strlen(text) < (size_t)((end ? end : all) - text))
            return leat_fail(err, LEAT_E_DATA,
                             "%s:%ld: a zero byte: this is no text file with the name of a class "
                             "per line",
                             path, line);
        text[strcspn(text, "\r")] = 0;
        rc = add_class(t, text, err);
        text = end ? end + 1 : text + (all - text);
    }
    return rc;
}

static int read_names(leat_trained *t, const char *path, leat_error *err)
{
    char *text;
    size_t n;
    leat_format_error why;
    if (leat_whole_file_read(path, NAMES_BYTES_MOST, &text, &n, &why) < 0)
        return leat_files_fail(err, &why);
    const size_t mark = leat_utf8_mark(text, n);
    const int rc = take_names(t, path, text + mark, n - mark, err);
    free(text);
    return rc;
}

/* The class folders of the source `images`, in the order of their labels. */
static int list_folders(leat_trained *t, const char *root, leat_error *err)
{
    struct dirent **entries;
    int rc = LEAT_OK;
    const int n = leat_folder_list(root, &entries);
    for (int i = 0; i < n; i++) {
        char *path = leat_files_text("%s/%s", root, entries[i]->d_name);
        const char kind = rc == LEAT_OK && path ? leat_folder_kind(entries[i], path) : 'x';
        if (kind == 'd')
            rc = add_class(t, entries[i]->d_name, err);
        else if (!kind && errno != ENOENT && errno != ELOOP) /* it may be a class */
            rc = leat_fail(err, LEAT_E_IO, "%s: %s", path, strerror(errno));
        free(path);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    else if (errno != ENOENT && errno != ENOTDIR)
        rc = leat_fail(err, LEAT_E_IO, "%s: cannot list the folder: %s", root, strerror(errno));
    return rc;
}

/* Length of PREFIX in the pattern PREFIX-*.tfrecord, or in the name of one shard of a set; 0: neither. */
static size_t prefix_length(const char *pattern)
{
    size_t n = strcspn(pattern, "*?[");
    if (!pattern[n])
        return leat_shard_set_prefix(pattern);
    while (n > 0 && pattern[n - 1] != '-' && pattern[n - 1] != '/')
        n--;
    return n > 0 && pattern[n - 1] == '-' ? n - 1 : 0;
}

/* "data/cifar-test-*.tfrecord" has its names in "data/cifar-test-labels.txt". */
static int read_beside(leat_trained *t, const char *pattern, leat_error *err)
{
    struct stat status;
    const size_t n = prefix_length(pattern);
    if (n == 0)
        return LEAT_OK;
    char *path = leat_files_text("%.*s-labels.txt", (int)n, pattern);
    if (!path)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    int rc = LEAT_OK;
    if (stat(path, &status) == 0)
        rc = read_names(t, path, err);
    else if (!leat_format_is_absent(errno)) {
        const char *const why = strerror(errno);
        leat_terminal_put(stderr, 0, 2, "note: names of classes are not known: %s: %s",
                          leat_terminal_name(path), why);
    }
    free(path);
    return rc;
}

bool leat_trained_get(const leat_config *config, const char *section, const char *part,
                      char text[LEAT_OPTION_STRING_MAX])
{
    char *const path = leat_files_text("%s%s%s", section ? section : "", section ? "." : "", part);
    const bool found =
        path && leat_config_get(config, path, text, LEAT_OPTION_STRING_MAX, NULL) == LEAT_OK;
    free(path);
    return found;
}

/* Finds one of the TFRecord files: those of a source can be a list. */
static bool find_records(const leat_config *config, const char *section,
                         char text[LEAT_OPTION_STRING_MAX])
{
    static const char *const parts[] = { "source.tfrecord.files[0]", "source.tfrecord[0]",
                                         "source.tfrecord.files", "source.tfrecord" };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (leat_trained_get(config, section, parts[i], text))
            return true;
    return false;
}

/* `classes` of the target in a CSV file. */
static int list_csv_classes(leat_trained *t, const char *section, leat_error *err)
{
    char target[LEAT_OPTION_STRING_MAX], name[LEAT_OPTION_STRING_MAX], part[sizeof target + 64];
    int rc = LEAT_OK;
    leat_setup_target(t->config, target);
    while (rc == LEAT_OK) {
        snprintf(part, sizeof part, "source.csv.features.%s.classes[%lld]", target,
                 (long long)t->n_classes);
        if (!leat_trained_get(t->config, section, part, name))
            return LEAT_OK;
        rc = add_class(t, name, err);
    }
    return rc;
}

/* As far as they can be known without opening the source. */
static int names_of_source(leat_trained *t, const char *section, leat_error *err)
{
    char text[LEAT_OPTION_STRING_MAX], target[LEAT_OPTION_STRING_MAX];
    leat_setup_target(t->config, target);
    const bool is_label = !strcmp(target, "label"); /* folders and files of labels name no other */
    const bool other_key =
        (leat_trained_get(t->config, section, "source.tfrecord.features.label.key", text) ||
         leat_trained_get(t->config, section, "source.tfrecord.features.label", text)) &&
        *text != '{' && strcmp(text, "label") != 0 && strcmp(text, "image/class/label") != 0;
    if (leat_trained_get(t->config, section, "source.images.class_from", text))
        return LEAT_OK;
    if (leat_trained_get(t->config, section, "source.images.path", text) ||
        leat_trained_get(t->config, section, "source.images", text))
        return is_label ? list_folders(t, text, err) : LEAT_OK;
    if (find_records(t->config, section, text))
        return is_label && !other_key ? read_beside(t, text, err) : LEAT_OK;
    return list_csv_classes(t, section, err);
}

static void forget_classes(leat_trained *t)
{
    for (int64_t i = 0; i < t->n_classes; i++)
        free(t->classes[i]);
    free(t->classes);
    t->classes = NULL;
    t->n_classes = 0;
}

static int same_names(const leat_trained *here, const leat_trained *source, const char *section,
                      leat_error *err)
{
    int rc = LEAT_OK;
    for (int64_t i = 0; i < source->n_classes && i < here->n_classes && rc == LEAT_OK; i++)
        rc = leat_setup_same_class(section, i, here->classes[i], source->classes[i], err);
    return rc;
}

int leat_trained_same_classes(leat_config *config, const char *section, leat_error *err)
{
    leat_trained here = { .config = config }, source = { .config = config };
    int rc = names_of_source(&here, section, err);
    if (rc == LEAT_OK)
        rc = names_of_source(&source, NULL, err);
    if (rc == LEAT_OK)
        rc = same_names(&here, &source, section, err);
    forget_classes(&here);
    forget_classes(&source);
    return rc;
}

/* Names from --labels, from the section's source, or else from the training source: the classes are the same. */
static int find_names(leat_trained *t, const leat_trained_how *how, leat_error *err)
{
    int rc;
    if (how->labels)
        return read_names(t, how->labels, err);
    if ((rc = names_of_source(t, leat_trained_section(how), err)) < 0 || !leat_trained_section(how))
        return rc;
    return t->n_classes ? leat_trained_same_classes(t->config, how->section, err)
                        : names_of_source(t, NULL, err);
}

static const char *name_of(const leat_trained *t, const leat_plan *plan, int32_t i)
{
    char target[LEAT_OPTION_STRING_MAX];
    leat_setup_target(t->config, target);
    return leat_plan_tensor_class(plan, target, i);
}

/* Names that the plan has of another tensor may be those that were found before. */
static int take_classes(leat_trained *t, const char *section, const leat_plan *plan,
                        leat_error *err)
{
    const char *name;
    int rc = LEAT_OK;
    if (leat_plan_class(plan, 0) || name_of(t, plan, 0))
        forget_classes(t);
    if (!name_of(t, plan, 0))
        return t->n_classes ? LEAT_OK : list_csv_classes(t, section, err);
    for (int32_t i = 0; rc == LEAT_OK && (name = name_of(t, plan, i)); i++)
        rc = add_class(t, name, err);
    return rc;
}

/* Opens the source of training only if nothing else has its names. */
static int compare_classes(leat_trained *t, const char *section, leat_error *err)
{
    leat_trained source = { .config = t->config };
    leat_plan *plan = NULL;
    int rc = names_of_source(&source, NULL, err);
    if (rc == LEAT_OK && !source.n_classes &&
        leat_plan_open(t->config, NULL, &plan, NULL) == LEAT_OK)
        rc = take_classes(&source, NULL, plan, err);
    if (rc == LEAT_OK)
        rc = same_names(t, &source, section, err);
    t->n_here = t->n_classes;
    t->untold =
        source.n_classes ? NULL : "the source of training, which would tell, cannot be read";
    forget_classes(&source);
    leat_plan_close(&plan);
    return rc;
}

int leat_trained_take_classes(leat_trained *t, const char *section, const leat_plan *plan,
                              leat_error *err)
{
    const int rc = take_classes(t, section, plan, err);
    return rc < 0 || !section || !name_of(t, plan, 0) ? rc : compare_classes(t, section, err);
}

int leat_trained_explain(const leat_trained *t, int64_t batch, int rc, leat_error *err)
{
    leat_error why = { 0 };
    if (!err->not_finite)
        return rc;
    if (leat_setup_find_not_finite(t->plan, batch, 1, &why))
        return leat_fail_as(err, &why);
    return leat_fail_in(err, rc, "batch %lld: ", (long long)batch);
}

const char *leat_trained_class(const leat_trained *t, int64_t i, char text[24])
{
    if (i >= 0 && i < t->n_classes)
        return t->classes[i];
    snprintf(text, 24, "%lld", (long long)i);
    return text;
}

/* --- opening -----------------------------------------------------------------------------------*/

const char *leat_trained_section(const leat_trained_how *how)
{
    return strcmp(how->section, "train") == 0 ? NULL : how->section;
}

int leat_trained_open_config(leat_trained *t, const leat_trained_how *how, leat_error *err)
{
    char text[64];
    *t = (leat_trained){ 0 };
    if (!how->weights)
        return leat_fail(err, LEAT_E_ARGUMENT, "needs --weights FILE");
    int rc = leat_setup_config(how->call, how->path, how->set, &t->config, err);
    if (rc == LEAT_OK)
        rc = leat_setup_threads(t->config, how->threads, err);
    if (rc == LEAT_OK && leat_trained_section(how) &&
        leat_config_get(t->config, how->section, text, sizeof text, NULL) < 0)
        return leat_fail(err, LEAT_E_CONFIG,
                         "%s has no part '%s', which says how images are prepared: add one with "
                         "`source` and `pipeline`, or name another with --section",
                         how->path, how->section);
    return rc < 0 ? rc : find_names(t, how, err);
}

/* Several outputs of binary_cross_entropy, whose targets have two classes, have a name each. 0: there are no classes. */
static int64_t count_classes(const leat_trained *t)
{
    const leat_trainer_info *const info = leat_trainer_get_info(t->trainer);
    return info->n_outputs == 1 || info->expect.classes == 0 ? info->expect.classes
                                                             : info->n_outputs;
}

/* A name too many or too few may have moved all after it. */
static int check_labels(const leat_trained *t, const leat_trained_how *how, leat_error *err)
{
    const int64_t n = count_classes(t);
    if (n == 0 || n == t->n_classes)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_CONFIG,
                     "--labels %s has %lld names, but the model has %lld classes", how->labels,
                     (long long)t->n_classes, (long long)n);
}

static int by_shown(const void *a, const void *b)
{
    return leat_visible_order(*(char *const *)a, *(char *const *)b);
}

/* Names that --labels has nowhere may be other words for the same classes; one that it has elsewhere is of another class.
 * Two classes may have the same name, of which one is in its place. */
static int same_places(leat_trained *t, const leat_trained *source, const leat_trained_how *how,
                       leat_error *err)
{
    int rc = LEAT_OK;
    size_t n = 0; /* names that are not in their place */
    char **const sorted = malloc((size_t)t->n_classes * sizeof *sorted);
    if (!sorted)
        return leat_files_no_memory(err);
    for (int64_t i = 0; i < t->n_classes; i++)
        if (i >= source->n_classes || !leat_visible_same(source->classes[i], t->classes[i]))
            sorted[n++] = t->classes[i];
    qsort(sorted, n, sizeof *sorted, by_shown);
    for (int64_t i = 0; i < source->n_classes && i < t->n_classes && rc == LEAT_OK; i++) {
        if (leat_visible_same(source->classes[i], t->classes[i]))
            continue;
        if (bsearch(&source->classes[i], sorted, n, sizeof *sorted, by_shown))
            rc = leat_fail(err, LEAT_E_CONFIG,
                           "class %lld is '%s' in the source of '%s', but '%s' in --labels %s, so "
                           "the labels mean other classes: the source needs the same classes in "
                           "the same order (an empty folder counts)",
                           (long long)i, source->classes[i], how->section, t->classes[i],
                           how->labels);
        t->untold = "--labels, which would tell, has other words for them";
    }
    free(sorted);
    return rc;
}

static int compare_labels(leat_trained *t, const leat_trained_how *how, leat_error *err)
{
    leat_trained source = { .config = t->config };
    const int64_t n = count_classes(t);
    if (n == 0 || n != leat_trainer_get_info(t->trainer)->expect.classes)
        return LEAT_OK; /* the source has names of yes and no */
    int rc = names_of_source(&source, leat_trained_section(how), err);
    if (rc == LEAT_OK)
        rc = take_classes(&source, leat_trained_section(how), t->plan, err);
    if (rc == LEAT_OK)
        rc = same_places(t, &source, how, err);
    t->n_here = source.n_classes;
    forget_classes(&source);
    return rc;
}

/* What concerns the run alone is left out: it may not fit the number of batches here, and a share of each batch
 * (engine.ranks) would be taken for all of it. An error: it is not there. */
static void forget_run(leat_config *config, const char *section)
{
    static const char *const parts[] = { "train.accumulate-", "train.schedule-",   "train.average-",
                                         "train.stop-",       "train.checkpoint-", "engine.rank-",
                                         "engine.ranks-" };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *const inner = leat_files_text("%s.%s", section ? section : "train", parts[i]);
        leat_config_set(config, parts[i], NULL);
        if (inner)
            leat_config_set(config, inner, NULL);
        free(inner);
    }
}

int leat_trained_open(leat_trained *t, const leat_trained_how *how, leat_error *err)
{
    forget_run(t->config, leat_trained_section(how));
    int rc = leat_plan_open(t->config, leat_trained_section(how), &t->plan, err);
    if (rc == LEAT_OK)
        rc = leat_setup_device(t->config, how->device, &t->device, err);
    if (rc == LEAT_OK)
        rc = leat_trainer_open_evaluation(t->config, t->plan, t->device, &t->trainer, err);
    if (rc == LEAT_OK && how->labels)
        rc = check_labels(t, how, err);
    if (rc == LEAT_OK && how->labels && how->scores)
        rc = compare_labels(t, how, err);
    return rc < 0 ? rc : leat_trainer_restore(t->trainer, how->weights, err);
}

int leat_trained_check_classes(const leat_trained *t, const leat_trained_how *how, leat_error *err)
{
    const int rc = how->labels
                       ? LEAT_OK
                       : leat_trainer_check_classes(t->trainer, (const char *const *)t->classes,
                                                    t->n_classes, err);
    if (rc != LEAT_E_CONFIG)
        return rc;
    const leat_error why = *err;
    return leat_fail(err, rc, "%s: %s, or%s give the names of the model with --labels FILE",
                     how->weights, why.message,
                     how->scores ? ", if these are other words for the same classes," : "");
}

void leat_trained_say_notes(const leat_trained *t, const char *section)
{
    const char *const note = leat_trainer_get_info(t->trainer)->note;
    if (note)
        leat_terminal_put(stderr, 0, 2, "note: %s", note);
    const int64_t n = count_classes(t);
    if (t->untold && t->n_here < n)
        leat_terminal_put(stderr, 0, 2,
                          "note: the source of '%s' has %lld classes, and the model has %lld: if "
                          "one is missing, the classes after it have numbers of others here; %s\n",
                          section, (long long)t->n_here, (long long)n, t->untold);
}

void leat_trained_close(leat_trained *t)
{
    leat_trainer_close(&t->trainer);
    leat_device_close(&t->device);
    leat_plan_close(&t->plan);
    leat_config_close(&t->config);
    forget_classes(t);
    *t = (leat_trained){ 0 };
}
