/* SPDX-License-Identifier: MIT
 *
 * source.h: the interface of sources. A source has a number of records, knows where each record is, and turns its bytes
 * into features (views of named tensors). The builder opens it; the engine reads with it. Immutable: for any thread. */
#ifndef LEAT_SOURCE_H
#define LEAT_SOURCE_H

#include <stdbool.h>
#include <unistd.h>

#include "config/node.h"
#include "file_watch.h"
#include "leat/plan.h"
#include "moved.h"
#include "pipeline/order/order.h"

#define LEAT_MAX_FEATURES 16

/* Bytes of a record in an open file. */
typedef struct leat_extent {
    int fd; /* -1: read this record with `read`, if there is one, or with `load` */
    uint64_t offset;
    size_t size; /* with fd -1 and `read`: of the record at open; 0: use `load` */
} leat_extent;

#define LEAT_FEATURE_NAME 64 /* bytes, including the terminating 0 */

/* Classes, by label. Owned by who read them. */
typedef struct leat_source_classes {
    char **names; /* NULL: unknown */
    int32_t n;    /* classes; 0: unknown, as where a part of a combined source has no names */
    int32_t n_names;
} leat_source_classes;

/* One named tensor of every record. A dim that differs between records is LEAT_UNKNOWN_DIM. */
typedef struct leat_feature_info {
    char name[LEAT_FEATURE_NAME];
    leat_shape shape;
    leat_source_classes
        classes; /* unknown: those of the source if it is its class feature, else unknown */
} leat_feature_info;

typedef struct leat_source leat_source;
typedef struct leat_source_setting leat_source_setting;

/* Settings of the plan that opens a source. */
struct leat_source_setting {
    uint64_t seed;
    int64_t threads;      /* for reading at open: engine.threads; -1: auto */
    int64_t memory;       /* most bytes to keep of files: engine.memory; -1: what the machine has */
    bool verifies_always; /* check kept records at each use: engine.verify */
    bool skips_damage;    /* on_error goes on: open damaged files; a lost range is one bad record */
    /* Applies the `pipeline` of a nested source to its order. *notes: from leat_source_add_note(); the
     * caller frees them, also after an error. */
    int (*apply_pipeline)(leat_source *source, const leat_node *pipeline,
                          const leat_source_setting *setting, leat_order *order, char **notes,
                          leat_error *err);
};

#define LEAT_GATHER_ROWS 256

/* Rows to make at once, and where they go. */
typedef struct leat_gather {
    const uint64_t *records;
    uint64_t n; /* 1 to LEAT_GATHER_ROWS */
    int32_t n_tensors;
    int32_t features[LEAT_MAX_FEATURES]; /* of each tensor */
    uint8_t *rows[LEAT_MAX_FEATURES];    /* of each tensor: its n rows, one after another */
    size_t row_bytes[LEAT_MAX_FEATURES];
    leat_scratch *scratch;
    size_t n_read; /* out: bytes read */
    bool waited;   /* out: the page cache did not have a record */
} leat_gather;

typedef struct leat_source_table {
    leat_kind kind; /* name, help, option table */
    size_t options_size;

    /* options: filled from the option table. where: node for messages. */
    int (*open)(const void *options, const leat_node *where, const leat_source_setting *setting,
                leat_source **out, leat_error *err);
    void (*close)(leat_source *source);

    /* Finds the bytes of a record; the engine reads them, possibly long before it calls `parse`.
     * NULL: all records use `load`. fd = -1: this record uses `read` or `load`. */
    int (*locate)(const leat_source *source, uint64_t record, leat_extent *out, leat_error *err);
    /* Reads a record that is a file: the `size` bytes that `locate` gave. First *fd is -1. If it is not after LEAT_OK, call
     * again with the same arguments: this waits for the disk and closes it. Else, after errors too, it is -1.
     * LEAT_E_AGAIN: no file descriptor is left now. Other errors: `load` explains. NULL: no files. */
    int (*read)(const leat_source *source, uint64_t record, uint8_t *to, size_t size, int *fd);
    /* Makes features of these bytes: views into `bytes` or scratch. */
    int (*parse)(const leat_source *source, uint64_t record, const uint8_t *bytes, size_t size,
                 leat_scratch *scratch, leat_view *features, leat_error *err);

    /* For sources that read by themselves: returns the features of a record, as views into scratch or
     * memory. *n_read += bytes read. */
    int (*load)(const leat_source *source, uint64_t record, leat_scratch *scratch,
                leat_view *features, size_t *n_read, leat_error *err);

    /* Returns a feature that is known without reading the record: a view into memory or scratch.
     * LEAT_E_UNSUPPORTED: this feature is not known. Other errors: `load` explains. NULL: none is. */
    int (*peek)(const leat_source *source, uint64_t record, int32_t feature, leat_scratch *scratch,
                leat_view *out);

    /* Announces that this record is needed soon. NULL: the source does nothing with it. */
    void (*hint)(const leat_source *source, uint64_t record);
    /* Where parts of files are kept: asks the kernel for the part with this record, without a wait. NULL: no parts. */
    void (*announce)(const leat_source *source, uint64_t record);

    /* Makes rows that are copies of features. Stops at the first record that is damaged or needs more than a
     * copy. Returns the rows made. See `can_gather`. NULL: the source cannot. */
    uint64_t (*gather)(const leat_source *source, leat_gather *rows);

    /* From now on keeps file bytes in at most `bytes` of memory; `locate` then gives fd = -1. Any thread; only
     * the first call counts. See `keep_bytes`. LEAT_E_NOMEM: it keeps nothing, and all works as before. */
    int (*keep)(const leat_source *source, uint64_t bytes, leat_error *err);

    /* Adds its files to a stamp (file_watch.h), to detect changes. NULL: it has no files. */
    int (*stamp)(const leat_source *source, leat_file_watch_stamp *out, leat_error *err);

    /* Checks once more the files that were read since the last call and are open. Any thread. NULL: each read checks, or
     * there are none. */
    int (*check_read)(const leat_source *source, leat_error *err);

    /* Writes the name of a record for messages, such as "file.tfrecord, record 7 (byte 1234)". */
    void (*describe)(const leat_source *source, uint64_t record, char *text, size_t size);
    /* The file that a record is in (of several parts the first). NULL: it is in none; also as the function. */
    const char *(*file)(const leat_source *source, uint64_t record);
} leat_source_table;

struct leat_source {
    const leat_source_table *table;
    uint64_t n_records;
    uint64_t n_bytes;               /* of all records, decompressed; 0: unknown */
    int64_t saved_bytes;            /* by compression: n_bytes less those in the files */
    double mean_bytes, mean_stored; /* of an element, if made of others (nested.h); NaN: unknown */
    uint64_t digest;                /* of names, sizes and counts, without reading records */
    uint64_t n_files;               /* 0: no files */
    uint64_t lost_bytes;            /* in damaged files, where no record can be found */
    uint64_t index_bytes;           /* of mapped index files */
    uint64_t seek_bytes;            /* of JPEG indexes (leat_seek) */
    uint64_t memory_bytes, spared_bytes; /* of names, indexes and such; what more memory adds */
    uint64_t set_bytes;                  /* of the sets in the filters of its parts */
    uint64_t keep_bytes;  /* memory that `keep` needs for all files; 0: it cannot keep files */
    uint64_t keep_tables; /* what it needs beside the parts of files, if not all fit */
    bool fixed_sizes;  /* `locate` gives the size of each record, unless it is kept or compressed */
    bool opens_late;   /* files are opened when they are needed, so do not look at each record */
    bool can_gather;   /* features have one known shape, or are bytes: use `gather` */
    int32_t n_classes; /* 0: unknown */
    /* n_classes of them, by label; NULL: unknown. Of a combined source: if all its parts have some */
    char **class_names;
    const char *class_feature; /* which they are of, if the source says; "": unknown */
    int32_t n_features;
    leat_feature_info features[LEAT_MAX_FEATURES];
    char *notes;                  /* one line each; NULL: none. Owned */
    leat_moved moved;             /* elements that are missing between others */
    bool seek_complete;           /* every file has a JPEG index (leat_seek) that fits */
    char seek_note[200];          /* names a JPEG index that does not fit, and why; "": none */
    struct leat_combine *combine; /* order of the elements; NULL: of the records. Owned */
};

bool leat_source_has_labels(const leat_source *source);           /* some feature is int64 */
const char *leat_source_class_feature(const leat_source *source); /* "": unknown */
leat_source_classes leat_source_classes_of(const leat_source *source, const char *feature);
/* Those of the source. */
leat_source_classes leat_source_own_classes(const leat_source *source);
/* Puts the name of the record before the message that *err holds, and the record into its fields. */
int leat_source_fail_in(const leat_source *source, uint64_t record, leat_error *err, int code);

/* Opens `source: {NAME: options}`. */
int leat_source_open(const leat_node *node, const leat_source_setting *setting, leat_source **out,
                     leat_error *err);
/* Opens a source from an entry of a map; its key is NAME. */
int leat_source_open_entry(const leat_node *given, const leat_source_setting *setting,
                           leat_source **out, leat_error *err);
/* Opens a source over rows in memory. */
int leat_source_rows_open(uint64_t n_records, const leat_rows *rows, int32_t n_rows,
                          leat_source **out, leat_error *err);
void leat_source_close(leat_source **source);
/* Appends a line to *notes, which starts as NULL. */
int leat_source_add_note(char **notes, leat_error *err, const char *format, ...) LEAT_PRINTF(3, 4);
/* Starts an order with the elements of the source. */
void leat_source_order(const leat_source *source, leat_order *out);

/* Gives the size of the largest record, from the index; no feature is larger. -1: one is in no file, or files open late. */
int leat_source_largest_record(const leat_source *source, int64_t *most, leat_error *err);
/* Reads the features of a record at once, with `locate` and `parse` or with `load`. *n_read += bytes read. */
int leat_source_fetch(const leat_source *source, uint64_t record, leat_scratch *scratch,
                      leat_view *features, size_t *n_read, leat_error *err);

/* Finds the files of patterns (formats/pattern.h), sorted. One that matches twice is there twice (formats/same_file.h).
 * *paths ends with NULL; leat_source_free_paths() it. A pattern without a match is an error. */
int leat_source_glob(const leat_string *patterns, int32_t n_patterns, const leat_node *where,
                     char ***paths, size_t *n_paths, leat_error *err);
void leat_source_free_paths(char **paths);

/* Reads exactly size bytes at an offset; handles EINTR and short reads. LEAT_E_DATA: the file ends
 * too early. path: for the message. */
int leat_source_pread(int fd, void *to, size_t size, uint64_t offset, const char *path,
                      leat_error *err);
/* Reads exactly size bytes of a small record with one call. false: a signal came, the read was short or failed;
 * leat_source_pread() then reads again or says why. Inline: after a system call, each return is predicted wrongly. */
static inline bool leat_source_pread_once(int fd, void *to, size_t size, uint64_t offset)
{
    return pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

/* Reads only if the page cache has all bytes; false: it has not, or the kernel cannot tell. begin: then asks the disk. */
bool leat_source_pread_cached(int fd, void *to, size_t size, uint64_t offset);
bool leat_source_pread_begin(int fd, void *to, size_t size, uint64_t offset);
/* The same into n places, `size` bytes together. */
struct iovec;
bool leat_source_preadv_cached(int fd, const struct iovec *to, int n, size_t size, uint64_t offset);

#endif
