/* SPDX-License-Identifier: MIT
 *
 * events_reader.c: reads event files record by record. */
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "events.pb-c.h"
#include "tfrecord.h"

struct leat_event_reader {
    char *path;
    leat_tfrecord_reader *file;
    Leat__Event *event; /* of the record read last */
    size_t next;        /* value of its summary */
};

int leat_event_is_name(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return strstr(slash ? slash + 1 : path, "tfevents") != NULL;
}

static int bad(const leat_event_reader *reader, leat_format_error *err, const char *what)
{
    const uint64_t at = leat_tfrecord_reader_offset(reader->file);
    return leat_format_fail(err, LEAT_FORMAT_BAD, at, "%s: record %llu at byte %llu %s",
                            reader->path,
                            (unsigned long long)leat_tfrecord_reader_record(reader->file),
                            (unsigned long long)at, what);
}

static int read_event(leat_event_reader *reader, leat_format_error *err)
{
    const uint8_t *payload;
    size_t size;
    const int rc = leat_tfrecord_reader_next(reader->file, &payload, &size, err);
    if (reader->event)
        leat__event__free_unpacked(reader->event, NULL);
    reader->event = NULL;
    reader->next = 0;
    if (rc < 0)
        return rc;
    reader->event = leat__event__unpack(NULL, size, payload);
    return reader->event ? LEAT_FORMAT_OK : bad(reader, err, "is no event of TensorBoard");
}

static int check_version(leat_event_reader *reader, leat_format_error *err)
{
    static const char known[] = "brain.Event:";
    const int rc = read_event(reader, err);
    if (rc == LEAT_FORMAT_END)
        return leat_format_fail(err, LEAT_FORMAT_BAD, 0, "%s: an event file without any event",
                                reader->path);
    if (rc < 0)
        return rc;
    if (reader->event->what_case != LEAT__EVENT__WHAT_FILE_VERSION ||
        strncmp(reader->event->file_version, known, sizeof known - 1) != 0)
        return bad(reader, err, "is not the version that an event file begins with");
    return LEAT_FORMAT_OK;
}

int leat_event_reader_open(leat_event_reader **out, const char *path, leat_format_error *err)
{
    leat_event_reader *reader = calloc(1, sizeof *reader);
    *out = NULL;
    if (!reader || !(reader->path = strdup(path))) {
        free(reader);
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory to read it", path);
    }
    int rc = leat_tfrecord_reader_open(&reader->file, path, 0, err);
    if (rc == LEAT_FORMAT_OK)
        rc = check_version(reader, err);
    if (rc == LEAT_FORMAT_OK)
        *out = reader;
    else
        leat_event_reader_close(&reader);
    return rc;
}

/* Fills *out from a value of a summary; 0: it is neither scalar nor image. */
static int take(const Leat__Summary__Value *value, leat_summary_value *out)
{
    out->tag = value->tag;
    if (value->value_case == LEAT__SUMMARY__VALUE__VALUE_SIMPLE_VALUE) {
        out->kind = LEAT_EVENT_SCALAR;
        out->value = value->simple_value;
        return 1;
    }
    if (value->value_case != LEAT__SUMMARY__VALUE__VALUE_IMAGE)
        return 0;
    out->kind = LEAT_EVENT_IMAGE;
    out->image = value->image->encoded_image_string.data;
    out->image_size = value->image->encoded_image_string.len;
    return 1;
}

int leat_event_reader_next(leat_event_reader *reader, leat_summary_value *out,
                           leat_format_error *err)
{
    for (;;) {
        const Leat__Event *const event = reader->event;
        if (event) {
            *out = (leat_summary_value){ .step = event->step, .wall_s = event->wall_time };
            if (event->what_case == LEAT__EVENT__WHAT_SUMMARY)
                while (reader->next < event->summary->n_value)
                    if (take(event->summary->value[reader->next++], out))
                        return LEAT_FORMAT_OK;
            if (event->what_case == LEAT__EVENT__WHAT_SESSION_LOG && !reader->next++ &&
                event->session_log->status == LEAT__SESSION_LOG__SESSION_STATUS__START) {
                out->kind = LEAT_EVENT_START;
                return LEAT_FORMAT_OK;
            }
        }
        const int rc = read_event(reader, err);
        if (rc < 0)
            return rc;
    }
}

void leat_event_reader_close(leat_event_reader **reader)
{
    if (!*reader)
        return;
    if ((*reader)->event)
        leat__event__free_unpacked((*reader)->event, NULL);
    leat_tfrecord_reader_close(&(*reader)->file);
    free((*reader)->path);
    free(*reader);
    *reader = NULL;
}
