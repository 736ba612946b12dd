/* SPDX-License-Identifier: MIT
 *
 * option.h: option tables. Every option of leat (of ops, stages, sources, layers, the engine and the
 * command) is one row of a table. Config reading, --set, help, reference, man page, completion and
 * tests loop over the tables, so that adding an option means adding one row. */
#ifndef LEAT_OPTION_H
#define LEAT_OPTION_H

#include <stddef.h>
#include <stdint.h>

#include "leat/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum leat_option_type {
    LEAT_OPTION_TYPE_BOOL,   /* int32_t 0 or 1: true, false, yes, no, on, off */
    LEAT_OPTION_TYPE_I64,    /* int64_t; the word `choices[k]` is stored as LEAT_OPTION_CHOICE(k) */
    LEAT_OPTION_TYPE_F32,    /* float */
    LEAT_OPTION_TYPE_F64,    /* double */
    LEAT_OPTION_TYPE_BYTES,  /* int64_t: 4096, 64 KiB, 2 GiB, 100 MB; words as for I64 */
    LEAT_OPTION_TYPE_STRING, /* leat_string: up to 255 bytes */
    LEAT_OPTION_TYPE_ENUM,   /* int32_t: index into `choices` */
    LEAT_OPTION_TYPE_I64S,   /* leat_i64s: list, also written as one number */
    LEAT_OPTION_TYPE_F32S,   /* leat_f32s: list, also written as one number */
    LEAT_OPTION_TYPE_F64S,   /* leat_f64s: list, also written as one number */
    LEAT_OPTION_TYPE_STRINGS, /* leat_strings: list, also written as one string */
    LEAT_OPTION_TYPE_NODE,    /* const leat_node *: a subtree of the config that its owner reads */
    LEAT_OPTION_TYPE_END
} leat_option_type;

/* Value of an I64 or BYTES option that was written as a word: `threads: auto` is -1. Words are
 * allowed whatever low and high are. */
#define LEAT_OPTION_CHOICE(k) (-1 - (int64_t)(k))

/* Use as `high` for no upper bound. `high` is a double, exact only up to 2^53: larger bounds do not work. */
#define LEAT_OPTION_I64_MAX 0x1p63

#define LEAT_OPTION_LIST_MAX    8   /* values in a list option */
#define LEAT_OPTION_STRING_MAX  256 /* bytes of a string option with its terminating 0 */
#define LEAT_OPTION_STRINGS_MAX 64

typedef struct leat_string {
    char text[LEAT_OPTION_STRING_MAX];
} leat_string;
typedef struct leat_i64s {
    int32_t n;
    int64_t values[LEAT_OPTION_LIST_MAX];
} leat_i64s;
typedef struct leat_f32s {
    int32_t n;
    float values[LEAT_OPTION_LIST_MAX];
} leat_f32s;
typedef struct leat_f64s {
    int32_t n;
    double values[LEAT_OPTION_LIST_MAX];
} leat_f64s;
typedef struct leat_strings {
    int32_t n;
    leat_string values[LEAT_OPTION_STRINGS_MAX];
} leat_strings;

/* Training on a GPU reads this option, too. */
#define LEAT_OPTION_ON_GPU 1u

/* One option. `initial` is the text that a user would write; NULL means that the option is required.
 * A bare scalar or list sets the first row of a table: `batch: 128` is `batch: {size: 128}`. */
typedef struct leat_option {
    const char *name;
    leat_option_type type;
    size_t offset; /* of the field in its options struct */
    const char *initial;
    double low, high;           /* inclusive, for numbers and for each value of a list */
    const char *const *choices; /* NULL-terminated: ENUM; I64, BYTES: words allowed too */
    const char *help;           /* one line, lower case, no full stop; units named */
    uint32_t flags;             /* 0; losses and optimisers of leat itself: LEAT_OPTION_ON_GPU */
} leat_option;

#define LEAT_OPTION_ROW(struct_, field, type_, initial_, low_, high_, choices_, help_)             \
    {                                                                                              \
#field, LEAT_OPTION_TYPE_##type_, offsetof(struct_, field), initial_, low_, high_,         \
            choices_, help_, 0                                                                     \
    }
/* A row whose option is not called as its field. */
#define LEAT_OPTION_NAMED(name_, struct_, field, type_, initial_, low_, high_, help_)              \
    {                                                                                              \
        name_, LEAT_OPTION_TYPE_##type_, offsetof(struct_, field), initial_, low_, high_, NULL,    \
            help_, 0                                                                               \
    }
/* Rows with the field's name as the option's name. `initial` is a string, NULL = required. low and high do not
 * limit words. */
#define LEAT_OPTION_BOOL(s, field, initial, help)                                                  \
    LEAT_OPTION_ROW(s, field, BOOL, initial, 0, 1, NULL, help)
#define LEAT_OPTION_I64(s, field, initial, low, high, help)                                        \
    LEAT_OPTION_ROW(s, field, I64, initial, low, high, NULL, help)
#define LEAT_OPTION_I64_OR(s, field, initial, low, high, choices, help)                            \
    LEAT_OPTION_ROW(s, field, I64, initial, low, high, choices, help)
#define LEAT_OPTION_BYTES_OR(s, field, initial, low, high, choices, help)                          \
    LEAT_OPTION_ROW(s, field, BYTES, initial, low, high, choices, help)
#define LEAT_OPTION_F32(s, field, initial, low, high, help)                                        \
    LEAT_OPTION_ROW(s, field, F32, initial, low, high, NULL, help)
#define LEAT_OPTION_F64(s, field, initial, low, high, help)                                        \
    LEAT_OPTION_ROW(s, field, F64, initial, low, high, NULL, help)
#define LEAT_OPTION_BYTES(s, field, initial, low, high, help)                                      \
    LEAT_OPTION_ROW(s, field, BYTES, initial, low, high, NULL, help)
#define LEAT_OPTION_STRING(s, field, initial, help)                                                \
    LEAT_OPTION_ROW(s, field, STRING, initial, 0, 0, NULL, help)
#define LEAT_OPTION_ENUM(s, field, initial, choices, help)                                         \
    LEAT_OPTION_ROW(s, field, ENUM, initial, 0, 0, choices, help)
#define LEAT_OPTION_I64S(s, field, initial, low, high, help)                                       \
    LEAT_OPTION_ROW(s, field, I64S, initial, low, high, NULL, help)
#define LEAT_OPTION_F32S(s, field, initial, low, high, help)                                       \
    LEAT_OPTION_ROW(s, field, F32S, initial, low, high, NULL, help)
#define LEAT_OPTION_F64S(s, field, initial, low, high, help)                                       \
    LEAT_OPTION_ROW(s, field, F64S, initial, low, high, NULL, help)
#define LEAT_OPTION_STRINGS(s, field, initial, help)                                               \
    LEAT_OPTION_ROW(s, field, STRINGS, initial, 0, 0, NULL, help)
#define LEAT_OPTION_NODE(s, field, initial, help)                                                  \
    LEAT_OPTION_ROW(s, field, NODE, initial, 0, 0, NULL, help)
#define LEAT_OPTION_END                                                                            \
    {                                                                                              \
        NULL, LEAT_OPTION_TYPE_END, 0, NULL, 0, 0, NULL, NULL, 0                                   \
    }

/* Sets every field of `options` to its initial value, and required options to 0 or empty. */
LEAT_API void leat_option_init(const leat_option *table, void *options);

/* Sets one option from text ("0.5", "[32, 32]", "true"), checking type, range and choice.
 * The message says what is allowed. The caller adds where the option was written.
 * Returns LEAT_OK or LEAT_E_CONFIG. */
LEAT_API int leat_option_set(const leat_option *row, void *options, const char *text,
                             leat_error *err);

/* The row of that name, or NULL. */
LEAT_API const leat_option *leat_option_find(const leat_option *table, const char *name);

/* Writes the type as help and reference print it ("int64", "one of: a, b"); returns text. */
LEAT_API char *leat_option_type_text(const leat_option *row, char *text, size_t size);

/* The nearest of n words by edit distance, for "did you mean". NULL if none is near. */
LEAT_API const char *leat_nearest(const char *word, const char *const *words, size_t n);

#ifdef __cplusplus
}
#endif
#endif
