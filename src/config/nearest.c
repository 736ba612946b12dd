/* SPDX-License-Identifier: MIT
 *
 * nearest.c: edit distance, and the names that other programs use. */
#include "nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "formats/utf8.h"

#define WORD_MAX 64 /* longer words are not compared */

/* Names in other programs, and ours for the same thing. */
static const struct {
    const char *theirs, *ours;
} other_names[] = {
    { "gpu", "cuda" },
    { "lr", "learning_rate" },
    { "batch_size", "size" },
    { "cross_entropy", "softmax_cross_entropy" },
    { "crossentropy", "softmax_cross_entropy" },
    { "data", "source" },
    { "dataset", "source" },
    { "stages", "pipeline" },
    { "training", "train" },
    { "validation", "eval" },
    { "files", "tfrecord" },
    { "folder", "images" },
    { "image", "images" },
    { "from", "key" },
    { "name", "key" },
    { "bs", "size" },
    { "fc", "dense" },
    { "out_features", "units" },
    { "linear", "dense" },
    { "max_pooling2d", "max_pool" },
    { "average_pooling2d", "avg_pool" },
    { "global_average_pooling2d", "global_avg_pool" },
    { "sparse_categorical_crossentropy", "softmax_cross_entropy" },
    { "categorical_crossentropy", "softmax_cross_entropy" },
    { "cross_entropy_loss", "softmax_cross_entropy" },
    { "bce", "binary_cross_entropy" },
    { "autotune", "auto" },
    { "skip", "mask" },
    { "resume", "restore" },
    { "num_workers", "threads" },
    { "workers", "threads" },
    { "num_parallel_calls", "threads" },
    { "out_channels", "filters" },
    { "rescale", "scale" },
    { "images_folder", "images" },
    { "image_folder", "images" },
    { "tfrecords", "tfrecord" },
    { "horizontal_flip", "random_flip" },
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The number of edits (insert, delete, replace, swap of neighbours) from a to b. Ignores case. */
static size_t edits(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= n_b; j++)
        last[j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        now[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            const char x = lower(a[i - 1]), y = lower(b[j - 1]);
            now[j] = least(last[j - 1] + (x != y), least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && x == lower(b[j - 2]) && y == lower(a[i - 2]))
                now[j] = least(now[j], before[j - 2] + 1);
        }
        size_t *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[n_b];
}

static bool is_other_name(const char *theirs, const char *ours)
{
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
        if (leat_utf8_same_ascii(other_names[i].theirs, theirs) &&
            !strcmp(other_names[i].ours, ours))
            return true;
    return false;
}

/* Whether `part` is one or more words of `whole`, whose words are joined by '_'. */
static bool has_word(const char *whole, const char *part)
{
    const size_t n = strlen(part);
    for (const char *at = strstr(whole, part); at; at = strstr(at + 1, part))
        if ((at == whole || at[-1] == '_') && (!at[n] || at[n] == '_'))
            return true;
    return false;
}

leat_nearest_word leat_nearest_init(const char *word)
{
    return (leat_nearest_word){ .word = word, .distance = SIZE_MAX };
}

/* A candidate is near if other programs use the word for it, if about one letter in three differs, if one
 * is a word of the other (size, kernel_size), or if one abbreviates the other. */
void leat_nearest_offer(leat_nearest_word *near, const char *candidate)
{
    if (!candidate)
        return;
    leat_nearest_add_word_once(&near->known, candidate);
    if (!near->word)
        return;
    const size_t n = strlen(near->word), m = strlen(candidate);
    if (n == 0 || m == 0 || n > WORD_MAX || m > WORD_MAX)
        return;
    size_t distance = edits(near->word, n, candidate, m);
    if (is_other_name(near->word, candidate)) {
        distance = 0;
    } else if (distance > (n + 2) / 3 || distance >= least(n, m)) {
        const bool abbreviates = least(n, m) >= 3 && !strncmp(near->word, candidate, least(n, m));
        if (!abbreviates && (least(n, m) < 3 || (!has_word(near->word, candidate) &&
                                                 !has_word(candidate, near->word))))
            return;
        distance += WORD_MAX; /* a misspelling wins over these two */
    }
    if (distance < near->distance) {
        near->best = candidate;
        near->distance = distance;
    }
}

const char *leat_nearest_text(leat_nearest_word *near)
{
    if (!near->best)
        return ".";
    snprintf(near->text, sizeof near->text, "; did you mean '%s'?", near->best);
    return near->text;
}

const char *leat_nearest(const char *word, const char *const *words, size_t n)
{
    leat_nearest_word near = leat_nearest_init(word);
    for (size_t i = 0; i < n; i++)
        leat_nearest_offer(&near, words[i]);
    return near.best;
}

void leat_nearest_add_word(leat_words *words, const char *word)
{
    static const char more[] = ", …";
    const size_t room = sizeof words->text - words->length;
    const char *comma = words->length ? ", " : "";
    if (room <= sizeof more)
        return; /* cut already */
    if (strlen(comma) + strlen(word) + sizeof more < room)
        words->length += (size_t)snprintf(words->text + words->length, room, "%s%s", comma, word);
    else {
        memcpy(words->text + words->length, words->length ? more : more + 2,
               sizeof more - (words->length ? 0 : 2));
        words->length = sizeof words->text;
    }
}

void leat_nearest_add_word_once(leat_words *words, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = words->text; *p; p++) {
        const bool starts =
            p == words->text || (p > words->text + 1 && p[-1] == ' ' && p[-2] == ',');
        if (starts && !strncmp(p, word, n) && (!p[n] || p[n] == ','))
            return;
    }
    leat_nearest_add_word(words, word);
}
