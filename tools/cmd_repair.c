/* SPDX-License-Identifier: MIT
 *
 * leat repair: copies the intact records of a damaged TFRecord file, and lists the lost ones. */
#include <sys/stat.h>

#include "command.h"
#include "files.h"
#include "formats/atomic_file.h"
#include "formats/figure.h"
#include "formats/index.h"
#include "formats/tfrecord.h"
#include "print/json.h"
#include "print/progress.h"
#include "print/terminal.h"
#include "signals.h"

struct repair_options {
    const char *output;
    int32_t quiet, progress;
    const char *json;
};

static const leat_option options[] = {
    LEAT_OPTION_STRING(struct repair_options, output, NULL, "output file; must not exist yet"),
    LEAT_ROW_PROGRESS(struct repair_options), LEAT_ROW_JSON(struct repair_options), LEAT_OPTION_END
};

struct repair {
    const struct repair_options *o;
    const char *path;
    leat_tfrecord_reader *reader;
    leat_tfrecord_writer *writer;
    leat_progress progress;
    json_t *lost;
    uint64_t n_read; /* records, including damaged places */
    uint64_t lost_bytes, records, bytes;
};

/* bytes: 0: not known. */
static void list_lost(struct repair *r, uint64_t record, uint64_t at, uint64_t bytes,
                      const leat_format_error *why)
{
    char range[64] = "and the rest";
    json_t *one = leat_json_row(r->lost);
    leat_json_int(one, "record", (int64_t)record);
    leat_json_int(one, "offset", (int64_t)at);
    leat_json_add(one, "bytes", bytes ? json_integer((int64_t)bytes) : json_null());
    leat_json_text(one, "why", why->text + why->what);
    r->lost_bytes += bytes;
    if (bytes)
        snprintf(range, sizeof range, "to %llu (%llu)", (unsigned long long)(at + bytes - 1),
                 (unsigned long long)bytes);
    if (!leat_json_to_stdout(r->o->json))
        printf("lost: record %llu, bytes %llu %s: %s\n", (unsigned long long)record,
               (unsigned long long)at, range, leat_terminal_name(why->text + why->what));
}

/* Copies intact records until the end. A compressed file cannot be read after its first damage. */
static int copy(struct repair *r, leat_error *err)
{
    leat_format_error why = { 0 };
    const uint8_t *record;
    size_t size;
    int rc;
    while ((rc = leat_tfrecord_reader_next(r->reader, &record, &size, &why)) == LEAT_FORMAT_OK ||
           leat_tfrecord_reader_lost(r->reader)) {
        if (leat_signals_caught())
            return leat_fail(err, LEAT_E_CANCELED, "stopped by a signal; nothing was written");
        if (rc < 0)
            list_lost(r, leat_tfrecord_reader_record(r->reader),
                      leat_tfrecord_reader_offset(r->reader), leat_tfrecord_reader_lost(r->reader),
                      &why);
        else if (leat_tfrecord_writer_write(r->writer, record, size, &why) < 0)
            return leat_files_fail(err, &why);
        leat_progress_show(&r->progress, ++r->n_read);
    }
    if (rc == LEAT_FORMAT_BAD && leat_tfrecord_reader_compression(r->reader)) {
        list_lost(r, r->n_read, why.offset, 0, &why);
        rc = LEAT_FORMAT_END;
    }
    return rc == LEAT_FORMAT_END ? LEAT_OK : leat_files_fail(err, &why);
}

/* Renames the copy to its final name, and makes its index. */
static int commit(struct repair *r, leat_error *err)
{
    leat_format_error why = { 0 };
    leat_index index;
    r->records = leat_tfrecord_writer_records(r->writer);
    r->bytes = leat_tfrecord_writer_size(r->writer);
    if (r->records == 0 && json_array_size(r->lost))
        return leat_fail(err, LEAT_E_DATA,
                         "%s holds no intact record: nothing was written; is it a TFRecord file?",
                         r->path);
    if (leat_tfrecord_writer_commit(r->writer, &why) < 0 ||
        leat_index_open(r->o->output, 0, &index, &why) < 0)
        return leat_files_fail(err, &why);
    leat_index_close(&index);
    return LEAT_OK;
}

static int repair(struct repair *r, leat_error *err)
{
    leat_format_error why = { 0 };
    struct stat st;
    if (lstat(r->o->output, &st) == 0)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "%s exists; choose another name for -o, or remove it", r->o->output);
    int rc = leat_json_check(r->o->json, err);
    if (rc < 0 || (rc = leat_files_make_parents(r->o->output, err)) < 0)
        return rc;
    if (leat_tfrecord_reader_open(&r->reader, r->path, LEAT_TFRECORD_RESYNC, &why) < 0 ||
        leat_tfrecord_writer_open(&r->writer, r->o->output, LEAT_ATOMIC_FILE_NEW, &why) < 0)
        return leat_files_fail(err, &why);
    rc = copy(r, err);
    return rc == LEAT_OK ? commit(r, err) : rc;
}

static void print_summary(const struct repair *r)
{
    printf("%s: %s record%s, %s; lost: %s in %zu place%s\n", leat_terminal_name(r->o->output),
           leat_figure_count(r->records).text, r->records == 1 ? "" : "s",
           leat_figure_bytes((double)r->bytes).text, leat_figure_bytes((double)r->lost_bytes).text,
           json_array_size(r->lost), json_array_size(r->lost) == 1 ? "" : "s");
}

static int write_json(struct repair *r, leat_error *err)
{
    json_t *json = leat_json_open("repair");
    leat_json_text(json, "file", r->path);
    leat_json_text(json, "output", r->o->output);
    leat_json_int(json, "records", (int64_t)r->records);
    leat_json_int(json, "bytes", (int64_t)r->bytes);
    leat_json_int(json, "lost_bytes", (int64_t)r->lost_bytes);
    leat_json_add(json, "lost", json_incref(r->lost));
    return leat_json_write(json, r->o->json, err);
}

static int run(const leat_call *call, leat_error *err)
{
    struct repair r = { .o = call->options, .path = call->arguments[0] };
    if (!r.o->output || !*r.o->output)
        return leat_command_misuse("repair",
                                   "needs -o OUT, because the damaged file is not changed");
    r.lost = json_array();
    leat_signals_catch();
    leat_progress_init(&r.progress, "repair", "records", 0,
                       r.o->quiet ? LEAT_PROGRESS_OFF : r.o->progress);
    int rc = repair(&r, err);
    leat_progress_fini(&r.progress);
    leat_tfrecord_reader_close(&r.reader);
    leat_tfrecord_writer_close(&r.writer);
    if (rc == LEAT_OK && !leat_json_to_stdout(r.o->json))
        print_summary(&r);
    if (rc == LEAT_OK)
        rc = write_json(&r, err);
    json_decref(r.lost);
    return rc;
}

const leat_command leat_command_repair = {
    .name = "repair",
    .summary = "copy the intact records of a damaged TFRecord file",
    .arguments = "FILE",
    .text = "Writes every record of FILE whose CRCs match to a new file, in order, with its index, "
            "and lists what was lost: record number, bytes, and the kind of damage. FILE does not "
            "change.\n\n"
            "A record with damaged data ends where its length says. Where the length itself is "
            "damaged, or the end of the file is cut off, leat searches byte by byte for the next "
            "intact record: one where the CRCs of both length and data match. The bytes between "
            "count as one lost record, however many there were. If a damaged record holds a "
            "TFRecord file as its data, the records inside may be found instead.\n\n"
            "A compressed file is read up to its damage; the copy is not compressed. Offsets are "
            "those in the decompressed data.\n\n"
            "A pipeline continues after damage in the same way with `on_error: mask` or `replace`: "
            "each damaged place is one bad record. Otherwise it fails and names file, record and "
            "byte.\n\n"
            "The output appears whole or not at all.",
    .example = "  leat repair data/train-00003-of-00008.tfrecord -o data/repaired.tfrecord",
    .n_min = 1,
    .n_max = 1,
    LEAT_COMMAND_OPTIONS(struct repair_options),
    .run = run,
};
