/* SPDX-License-Identifier: MIT
 *
 * events.h: writes and reads TensorBoard's event files. `leat train --log` writes them, `leat plot` reads
 * them. A file is records (tfrecord.h), each of them a message Event (events.proto). The first holds the
 * version "brain.Event:2".
 *
 * These files grow while a run is alive and are read meanwhile, so they are appended to and not renamed into
 * place. Events are collected in memory; a flush hands whole records to the system. What was flushed stays
 * when the process is killed. (It is not synced: a power failure can cut the end.) */
#ifndef LEAT_EVENTS_H
#define LEAT_EVENTS_H

#include "format.h"

typedef struct leat_event_writer leat_event_writer;

/* Creates "events.out.tfevents.<time>.<host>" in an existing folder. A name that is taken is passed over for
 * that of the next second, so that files of one host are in order by name.
 *
 * wall_s      seconds since 1970, for the name and the first event
 * first_step  where the run begins: readers forget what earlier files of the folder have from this step on
 * returns     LEAT_FORMAT_OK, _IO or _NOMEM; *out is NULL unless OK */
int leat_event_writer_open(leat_event_writer **out, const char *folder, double wall_s,
                           int64_t first_step, leat_format_error *err);

/* Add an event. The tag names the curve ("step/loss") and is UTF-8. Values are stored as float32.
 * returns  LEAT_FORMAT_OK; _NOMEM; _IO if the events in memory were so many that they were flushed, and that
 *          failed */
int leat_event_writer_scalar(leat_event_writer *writer, const char *tag, int64_t step,
                             double wall_s, double value, leat_format_error *err);
/* png: a whole PNG file of 8-bit RGB. */
int leat_event_writer_image(leat_event_writer *writer, const char *tag, int64_t step, double wall_s,
                            int32_t height, int32_t width, const void *png, size_t size,
                            leat_format_error *err);

/* Writes all events to the file. After a failure the file ends with the last whole record flushed, and all
 * later calls fail. */
int leat_event_writer_flush(leat_event_writer *writer, leat_format_error *err);

/* Frees without a flush. Sets *writer to NULL. Takes NULL. */
void leat_event_writer_close(leat_event_writer **writer);

/* --- reading -----------------------------------------------------------------------------------*/

enum { LEAT_EVENT_SCALAR, LEAT_EVENT_IMAGE, LEAT_EVENT_START };

/* Pointers are valid until the next call with the reader. */
typedef struct leat_summary_value {
    int kind; /* START: what came before is void from `step` on; it has no tag */
    int64_t step;
    double wall_s;
    const char *tag;
    float value;          /* of a scalar */
    const uint8_t *image; /* encoded */
    size_t image_size;
} leat_summary_value;

typedef struct leat_event_reader leat_event_reader;

/* Returns LEAT_FORMAT_OK, _IO, _NOMEM, or _BAD: the file does not begin as an event file does. *out is NULL
 * unless OK. */
int leat_event_reader_open(leat_event_reader **out, const char *path, leat_format_error *err);

/* Reads the next scalar, image or start, in the order of the file; skips all else.
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_END; LEAT_FORMAT_BAD with the place: damaged, or cut as the file of a
 *          run that is still writing can be; _IO; _NOMEM */
int leat_event_reader_next(leat_event_reader *reader, leat_summary_value *out,
                           leat_format_error *err);

void leat_event_reader_close(leat_event_reader **reader);

/* Whether a file of this name (path or name alone) is an event file, as TensorBoard decides it. */
int leat_event_is_name(const char *path);

#endif
