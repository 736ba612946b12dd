/* SPDX-License-Identifier: MIT
 *
 * source.h: where records come from. A source knows how many there are, where each lies, and how
 * its bytes become features (views of named tensors). Immutable once open: any thread. */
#ifndef LEAT_SOURCE_H
#define LEAT_SOURCE_H

#include <stdbool.h>

#include "config/node.h"
#include "leat/plan.h"
#include "pipeline/order/order.h"

#define LEAT_MAX_FEATURES 16

/* Bytes of a record in an open file. */
typedef struct leat_extent {
    int fd; /* -1: this record is fetched by `load` */
    uint64_t offset;
    size_t size;
} leat_extent;

#define LEAT_FEATURE_NAME 64 /* bytes with the 0 */

/* One named tensor of every record; dims are LEAT_UNKNOWN_DIM where records differ. */
typedef struct leat_feature_info {
    char name[LEAT_FEATURE_NAME];
    leat_shape shape;
} leat_feature_info;

typedef struct leat_source leat_source;

typedef struct leat_source_setting leat_source_setting;

/* What a source knows of the plan that opens it. */
struct leat_source_setting {
    uint64_t seed;
    int64_t threads; /* for reading at open, as engine.threads has it; -1: auto */
    bool lossy;      /* on_error is not `fail`: damage of a file costs records, not the file */
    /* Applies the `pipeline` of a source inside another one to its order. *notes: as leat_source_add_note()
     * makes them; the caller frees them, also after an error. */
    int (*arrange)(leat_source *source, const leat_node *pipeline,
                   const leat_source_setting *setting, leat_order *order, char **notes,
                   leat_error *err);
};

typedef struct leat_source_table {
    leat_kind kind; /* name, help, option table */
    size_t options_size;

    /* options: by the table. where: node for messages. */
    int (*open)(const void *options, const leat_node *where, const leat_source_setting *setting,
                leat_source **out, leat_error *err);
    void (*close)(leat_source *source);

    /* Where record's bytes are; the engine reads them, possibly long before. NULL: `load` for all
     * records; fd = -1: for this one. */
    int (*locate)(const leat_source *source, uint64_t record, leat_extent *out, leat_error *err);
    /* Features from those bytes: views into `bytes` or into scratch. */
    int (*parse)(const leat_source *source, uint64_t record, const uint8_t *bytes, size_t size,
                 leat_scratch *scratch, leat_view *features, leat_error *err);

    /* Sources that fetch by themselves: features of a record, views into scratch or memory;
     * *n_read += bytes read for them. */
    int (*load)(const leat_source *source, uint64_t record, leat_scratch *scratch,
                leat_view *features, size_t *n_read, leat_error *err);

    /* A feature of a record that is known without reading it: a view into memory or scratch.
     * LEAT_E_UNSUPPORTED: not this one. NULL: none is. */
    int (*known)(const leat_source *source, uint64_t record, int32_t feature, leat_scratch *scratch,
                 leat_view *out);

    /* This record will be asked for in a moment; NULL: of no use to this source. */
    void (*hint)(const leat_source *source, uint64_t record);

    /* A digest of all that tells whether the source's files were changed since (size, time); NULL:
     * there is nothing to tell by. */
    int (*stamp)(const leat_source *source, uint64_t *out, leat_error *err);

    /* "file.tfrecord, record 7 (byte 1234)": for messages. */
    void (*describe)(const leat_source *source, uint64_t record, char *text, size_t size);
} leat_source_table;

struct leat_source {
    const leat_source_table *table;
    uint64_t n_records;
    uint64_t n_bytes;      /* of all records as stored; 0 = unknown */
    uint64_t digest;       /* of what the records are, as far as known without reading them */
    uint64_t n_files;      /* 0: not in files */
    uint64_t lost_bytes;   /* of damaged files, in which no record can be found */
    uint64_t index_bytes;  /* of index files that are mapped */
    uint64_t seek_bytes;   /* of those of JPEG files (leat_seek) */
    uint64_t memory_bytes; /* that it keeps for its records: names of files, indexes in memory */
    uint64_t set_bytes;    /* of the sets that filters of its parts keep */
    int32_t n_classes;     /* 0 = unknown */
    int32_t n_features;
    leat_feature_info features[LEAT_MAX_FEATURES];
    const char *notes;  /* of its files, or of its parts, each with a line end; NULL: none. Owned */
    bool seek_complete; /* all JPEG files were indexed (leat_seek), as far as opening tells */
    char seek_note[200]; /* an index that is there and does not fit: which, why; "": none */
    const struct leat_combine *combine; /* order of the elements; NULL: the records, one by one.
                                           Owned */
};

/* Opens `source: {NAME: options}`. */
int leat_source_open(const leat_node *node, const leat_source_setting *setting, leat_source **out,
                     leat_error *err);
/* The same from the entry of the map: NAME is its key. */
int leat_source_open_entry(const leat_node *given, const leat_source_setting *setting,
                           leat_source **out, leat_error *err);
/* A source over rows in memory. */
int leat_source_rows_open(uint64_t n_records, const leat_rows *rows, int32_t n_rows,
                          leat_source **out, leat_error *err);
void leat_source_close(leat_source **source);
/* One more of a source's notes; *notes is NULL or what this gave before. */
int leat_source_add_note(char **notes, leat_error *err, const char *format, ...) LEAT_PRINTF(3, 4);
/* Begins an order with the source's elements. */
void leat_source_order(const leat_source *source, leat_order *out);

/* Bytes of the largest record, by the index alone: no feature is larger. -1: a record lies in no file. */
int leat_source_largest_record(const leat_source *source, int64_t *most, leat_error *err);
/* A record's features, read here and now, whichever way the source has; *n_read += bytes read. */
int leat_source_fetch(const leat_source *source, uint64_t record, leat_scratch *scratch,
                      leat_view *features, size_t *n_read, leat_error *err);

/* Files of patterns (formats/pattern.h), sorted, each as often as it was named. *paths is NULL-terminated; free
 * with leat_source_free_paths. A pattern without a match is an error that names it. */
int leat_source_glob(const leat_strings *patterns, const leat_node *where, char ***paths,
                     size_t *n_paths, leat_error *err);
void leat_source_free_paths(char **paths);

struct stat;
/* Goes on from a stamp with one more file. */
uint64_t leat_source_stamp(uint64_t stamp, const struct stat *status);

/* Reads exactly size bytes at an offset: EINTR and short reads are handled; an early end of file
 * is LEAT_E_DATA. `path` is for the message. */
int leat_source_pread(int fd, void *to, size_t size, uint64_t offset, const char *path,
                      leat_error *err);
/* The same where the page cache has all of it; false where it does not, or where that cannot be asked. */
bool leat_source_pread_cached(int fd, void *to, size_t size, uint64_t offset);

#endif
