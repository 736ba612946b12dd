/* SPDX-License-Identifier: MIT
 *
 * events.c: writes event files: packs each event with protobuf-c behind the room for its frame. */
#include "events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "events.pb-c.h"
#include "tfrecord.h"

enum {
    FLUSH_BYTES = 1 << 20, /* in memory at most, besides one event */
    NAMES_MOST = 1000,     /* files begun in one second */
    HOST_MOST = 64,
};

struct leat_event_writer {
    char *path;
    int fd;
    int failed;       /* a flush failed: errno */
    uint64_t flushed; /* size of the file */
    uint8_t *bytes;   /* framed events, not flushed yet */
    size_t size, capacity;
};

/* Removes const: protobuf-c does not change the data, but its types lack const. */
static void *unconst(const void *pointer)
{
    return (void *)(uintptr_t)pointer;
}

/* --- the file ------------------------------------------------------------------------------------*/

/* The host's name as part of a file name. */
static void host_name(char host[HOST_MOST])
{
    if (gethostname(host, HOST_MOST) < 0 || !host[0])
        strcpy(host, "host");
    host[HOST_MOST - 1] = 0;
    for (char *at = host; *at; at++)
        if (*at == '/' || (unsigned char)*at <= ' ')
            *at = '_';
}

static int create_file(leat_event_writer *writer, const char *folder, double wall_s,
                       leat_format_error *err)
{
    char host[HOST_MOST];
    const size_t room = strlen(folder) + HOST_MOST + 128;
    host_name(host);
    writer->path = malloc(room);
    if (!writer->path)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory for a name", folder);
    for (int n = 0; n < NAMES_MOST; n++) {
        snprintf(writer->path, room, "%s/events.out.tfevents.%010lld.%s", folder,
                 (long long)wall_s + n, host);
        writer->fd = open(writer->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (writer->fd >= 0)
            return LEAT_FORMAT_OK;
        if (errno != EEXIST)
            break;
    }
    return leat_format_fail(err, LEAT_FORMAT_IO, 0, "%s: %s", writer->path,
                            leat_format_open_error(errno));
}

/* Adds an event with its frame. */
static int add(leat_event_writer *writer, const Leat__Event *event, leat_format_error *err)
{
    const size_t size = leat__event__get_packed_size(event);
    const size_t needed = writer->size + size + LEAT_TFRECORD_OVERHEAD;
    if (needed > writer->capacity) {
        uint8_t *larger = realloc(writer->bytes, needed + needed / 2);
        if (!larger)
            return leat_format_fail(err, LEAT_FORMAT_NOMEM, writer->flushed,
                                    "%s: no memory for an event", writer->path);
        writer->bytes = larger;
        writer->capacity = needed + needed / 2;
    }
    uint8_t *const record = writer->bytes + writer->size, *const data =
                                                              record + LEAT_TFRECORD_HEADER;
    leat__event__pack(event, data);
    leat_tfrecord_frame(data, size, record, data + size);
    writer->size = needed;
    return writer->size < FLUSH_BYTES ? LEAT_FORMAT_OK : leat_event_writer_flush(writer, err);
}

static int fail_write(leat_event_writer *writer, leat_format_error *err)
{
    return leat_format_fail(err, LEAT_FORMAT_IO, writer->flushed, "%s: %s (after %llu bytes)",
                            writer->path, strerror(writer->failed),
                            (unsigned long long)writer->flushed);
}

int leat_event_writer_flush(leat_event_writer *writer, leat_format_error *err)
{
    size_t done = 0;
    while (!writer->failed && done < writer->size) {
        const ssize_t n = write(writer->fd, writer->bytes + done, writer->size - done);
        if (n < 0 && errno != EINTR)
            writer->failed = errno;
        else if (n > 0)
            done += (size_t)n;
    }
    if (writer->failed) {
        /* If this fails too, the file ends inside a record, which readers notice. */
        if (ftruncate(writer->fd, (off_t)writer->flushed) < 0)
            errno = 0;
        return fail_write(writer, err);
    }
    writer->flushed += writer->size;
    writer->size = 0;
    return LEAT_FORMAT_OK;
}

/* --- events --------------------------------------------------------------------------------------*/

static int add_begin(leat_event_writer *writer, double wall_s, int64_t first_step,
                     leat_format_error *err)
{
    Leat__Event version = LEAT__EVENT__INIT, begin = LEAT__EVENT__INIT;
    Leat__SessionLog start = LEAT__SESSION_LOG__INIT;
    version.wall_time = begin.wall_time = wall_s;
    version.what_case = LEAT__EVENT__WHAT_FILE_VERSION;
    version.file_version = unconst("brain.Event:2");
    begin.step = first_step;
    begin.what_case = LEAT__EVENT__WHAT_SESSION_LOG;
    begin.session_log = &start;
    start.status = LEAT__SESSION_LOG__SESSION_STATUS__START;
    int rc = add(writer, &version, err);
    if (rc == LEAT_FORMAT_OK)
        rc = add(writer, &begin, err);
    return rc == LEAT_FORMAT_OK ? leat_event_writer_flush(writer, err) : rc;
}

int leat_event_writer_open(leat_event_writer **out, const char *folder, double wall_s,
                           int64_t first_step, leat_format_error *err)
{
    leat_event_writer *writer = calloc(1, sizeof *writer);
    *out = NULL;
    if (!writer)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory to log", folder);
    writer->fd = -1;
    int rc = create_file(writer, folder, wall_s, err);
    if (rc == LEAT_FORMAT_OK)
        rc = add_begin(writer, wall_s, first_step, err);
    if (rc == LEAT_FORMAT_OK)
        *out = writer;
    else
        leat_event_writer_close(&writer);
    return rc;
}

static int add_value(leat_event_writer *writer, Leat__Summary__Value *value, const char *tag,
                     int64_t step, double wall_s, leat_format_error *err)
{
    Leat__Event event = LEAT__EVENT__INIT;
    Leat__Summary summary = LEAT__SUMMARY__INIT;
    value->tag = unconst(tag);
    summary.n_value = 1;
    summary.value = &value;
    event.step = step;
    event.wall_time = wall_s;
    event.what_case = LEAT__EVENT__WHAT_SUMMARY;
    event.summary = &summary;
    return add(writer, &event, err);
}

int leat_event_writer_scalar(leat_event_writer *writer, const char *tag, int64_t step,
                             double wall_s, double value, leat_format_error *err)
{
    Leat__Summary__Value scalar = LEAT__SUMMARY__VALUE__INIT;
    scalar.value_case = LEAT__SUMMARY__VALUE__VALUE_SIMPLE_VALUE;
    scalar.simple_value = (float)value;
    return add_value(writer, &scalar, tag, step, wall_s, err);
}

int leat_event_writer_image(leat_event_writer *writer, const char *tag, int64_t step, double wall_s,
                            int32_t height, int32_t width, const void *png, size_t size,
                            leat_format_error *err)
{
    Leat__Summary__Value value = LEAT__SUMMARY__VALUE__INIT;
    Leat__Summary__Image image = LEAT__SUMMARY__IMAGE__INIT;
    image.height = height;
    image.width = width;
    image.colorspace = 3; /* RGB */
    image.encoded_image_string = (ProtobufCBinaryData){ size, unconst(png) };
    value.value_case = LEAT__SUMMARY__VALUE__VALUE_IMAGE;
    value.image = &image;
    return add_value(writer, &value, tag, step, wall_s, err);
}

void leat_event_writer_close(leat_event_writer **writer)
{
    if (!*writer)
        return;
    if ((*writer)->fd >= 0)
        close((*writer)->fd);
    free((*writer)->path);
    free((*writer)->bytes);
    free(*writer);
    *writer = NULL;
}
