/* SPDX-License-Identifier: MIT
 *
 * row_files.h: rows of one size, at fixed places of files or in memory. The sources `npy`, `idx` and `cifar`
 * add only a header parser.
 *
 * A source has groups, one after another; a group has columns, one for each feature. Row r of a column is at
 * offset + r * stride. The engine reads the largest column ahead; small ones are kept in memory. */
#ifndef LEAT_ROW_FILES_H
#define LEAT_ROW_FILES_H

#include "file_watch.h"
#include "formats/array.h"
#include "source.h"

typedef struct leat_row_file {
    char *path;
    int fd;
    uint64_t bytes;
    leat_file_watch watch; /* any thread */
} leat_row_file;

/* The values of one feature in a group. */
typedef struct leat_row_column {
    leat_array_type type;
    int big_endian;
    bool planar;         /* all red, all green, all blue: delivered as height, width, channels */
    bool to_inf;         /* a float64 too large for float32 becomes an infinity, and is no error */
    int32_t n_classes;   /* the value is a label below this; 0: any value */
    leat_row_file *file; /* where it comes from */
    const uint8_t *memory; /* all rows; NULL: read from the file */
    uint64_t offset, stride;
    size_t row_bytes; /* as stored */
} leat_row_column;

typedef struct leat_row_group {
    const char *path; /* for messages. Of a file of the source */
    uint64_t first;   /* number of its row 0 in the source */
    uint64_t n_records;
    leat_row_column columns[LEAT_MAX_FEATURES];
    leat_row_file *file; /* what the engine reads ahead; NULL: all columns are in memory */
    uint64_t offset, stride;
    size_t row_bytes; /* of a row there; of all columns if file is NULL */
} leat_row_group;

typedef struct leat_row_files {
    leat_source base;
    int64_t memory; /* most bytes for what is kept in memory */
    leat_row_file **files;
    leat_row_group *groups;
    void **blocks; /* memory of columns */
    size_t n_files, n_groups, n_blocks;
    int32_t n_columns; /* of the last group */
    bool to_inf;       /* of the next columns */
} leat_row_files;

/* The choices of the option `overflow`. */
enum { LEAT_OVERFLOW_ERROR, LEAT_OVERFLOW_INF };
extern const char *const leat_row_files_overflow[];

#define LEAT_OVERFLOW_ROW(options)                                                                 \
    LEAT_OPTION_ENUM(options, overflow, "error", leat_row_files_overflow,                          \
                     "what a float64 that is too large for float32 becomes")

/* Starts a source without groups. Call leat_row_files_end(), also after an error.
 * size: bytes of its struct, which begins with a leat_row_files. The rest is 0. */
int leat_row_files_open(const leat_source_table *table, const leat_source_setting *setting,
                        size_t size, leat_row_files **out, leat_error *err);
/* Ends the opening, whose result so far is rc: sets *out, or closes the source (NULL: there is none).
 * Returns rc. */
int leat_row_files_end(leat_row_files *s, int rc, leat_source **out);
void leat_row_files_close(leat_source *source);

/* Opens a source whose groups are files, each with a file of labels if there are any.
 * labels: NULL or empty: none. add: appends the group of a file; its `labels` is NULL if there are none */
int leat_row_files_open_all(const leat_source_table *table, const leat_source_setting *setting,
                            const leat_strings *files, const leat_strings *labels,
                            int (*add)(leat_row_files *s, const void *options, const char *path,
                                       const char *labels, leat_error *err),
                            const void *options, const leat_node *where, leat_source **out,
                            leat_error *err);

/* Opens a regular file, which belongs to the source. */
int leat_row_files_file(leat_row_files *s, const char *path, leat_row_file **out, leat_error *err);
/* Checks that a file has exactly this size. */
int leat_row_files_size(const leat_row_file *file, uint64_t bytes, leat_error *err);
/* Allocates memory that belongs to the source and counts in the budget. why: for the message, such as
 * "decompressed". LEAT_E_NOMEM: more than engine.memory allows. */
int leat_row_files_memory(leat_row_files *s, const char *path, uint64_t bytes, const char *why,
                          uint8_t **out, leat_error *err);

/* Appends a group without columns. path: for messages; of a file of the source. */
int leat_row_files_group(leat_row_files *s, const char *path, leat_error *err);
/* Appends a column to the last group: the first dimension of the array counts its rows. In the first group this
 * adds a feature of this name; in later ones it must be the same as there. Scalars of whole numbers become
 * int64, other values the type of leat that holds them (float64: float32).
 *
 * array   offset: in `memory`, or in the file if memory is NULL
 * out     the caller may set more fields; valid until the next group */
int leat_row_files_column(leat_row_files *s, const char *name, const leat_array *array,
                          leat_row_file *file, const uint8_t *memory, leat_row_column **out,
                          leat_error *err);
/* Ends the last group: loads small columns and chooses what the engine reads. */
int leat_row_files_end_group(leat_row_files *s, leat_error *err);

/* Adds the records of the last group, of this many bytes, to the source; end_group does it. */
void leat_row_files_count(leat_row_files *s, uint64_t bytes);

/* LEAT_E_* of an error of formats/, with the path before its message. */
int leat_row_files_fail(const char *path, const leat_format_error *why, leat_error *err);

/* The group of a record. */
const leat_row_group *leat_row_files_group_of(const leat_source *source, uint64_t record);

/* Entries of a source table. */
int leat_row_files_locate(const leat_source *source, uint64_t record, leat_extent *out,
                          leat_error *err);
int leat_row_files_parse(const leat_source *source, uint64_t record, const uint8_t *bytes,
                         size_t size, leat_scratch *scratch, leat_view *features, leat_error *err);
int leat_row_files_load(const leat_source *source, uint64_t record, leat_scratch *scratch,
                        leat_view *features, size_t *n_read, leat_error *err);
int leat_row_files_peek(const leat_source *source, uint64_t record, int32_t feature,
                        leat_scratch *scratch, leat_view *out);
int leat_row_files_stamp(const leat_source *source, leat_file_watch_stamp *out, leat_error *err);
int leat_row_files_check_read(const leat_source *source, leat_error *err);
const char *leat_row_files_path(const leat_source *source, uint64_t record);
void leat_row_files_describe(const leat_source *source, uint64_t record, char *text, size_t size);

#define LEAT_ROW_FILES_TABLE                                                                       \
    .close = leat_row_files_close, .locate = leat_row_files_locate, .parse = leat_row_files_parse, \
    .load = leat_row_files_load, .peek = leat_row_files_peek, .stamp = leat_row_files_stamp,       \
    .check_read = leat_row_files_check_read, .describe = leat_row_files_describe,                  \
    .file = leat_row_files_path

#endif
