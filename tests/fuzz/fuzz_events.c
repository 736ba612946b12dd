/* SPDX-License-Identifier: MIT
 *
 * fuzz_events.c: any bytes as an event file, after right version and with right checksums, so that what lies
 * behind them is reached. The first byte chooses: bit 0: the bytes are one event; else framed records whose
 * checksums are put right. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/events.h"
#include "formats/little_endian.h"
#include "formats/tfrecord.h"
#include "fuzz_target.h"

static const uint8_t version[] = "\x1a\x0d"
                                 "brain.Event:2";

static void put(int fd, const void *bytes, size_t size)
{
    EXPECT(write(fd, bytes, size) == (ssize_t)size);
}

static void put_record(int fd, const uint8_t *data, size_t size)
{
    uint8_t header[LEAT_TFRECORD_HEADER], footer[4];
    leat_tfrecord_frame(data, size, header, footer);
    put(fd, header, sizeof header);
    put(fd, data, size);
    put(fd, footer, sizeof footer);
}

static void put_records(int fd, const uint8_t *bytes, size_t size)
{
    while (size >= LEAT_TFRECORD_OVERHEAD) {
        const uint64_t length = leat_load_u64(bytes);
        if (length > size - LEAT_TFRECORD_OVERHEAD)
            break;
        put_record(fd, bytes + LEAT_TFRECORD_HEADER, (size_t)length);
        bytes += length + LEAT_TFRECORD_OVERHEAD;
        size -= (size_t)length + LEAT_TFRECORD_OVERHEAD;
    }
    put(fd, bytes, size);
}

static void read_all(const char *path)
{
    leat_event_reader *reader;
    leat_summary_value event;
    leat_format_error err = { 0 };
    size_t sum = 0;
    int rc = leat_event_reader_open(&reader, path, &err);
    while (rc == LEAT_FORMAT_OK)
        if ((rc = leat_event_reader_next(reader, &event, &err)) == LEAT_FORMAT_OK) {
            EXPECT(event.kind == LEAT_EVENT_START || event.tag);
            sum += event.tag ? strlen(event.tag) : 0;
            for (size_t i = 0; i < event.image_size; i++)
                sum += event.image[i];
        }
    EXPECT(rc == LEAT_FORMAT_END || (rc == LEAT_FORMAT_BAD && err.text[0]));
    EXPECT(sum < SIZE_MAX);
    leat_event_reader_close(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    if (!size)
        return 0;
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    EXPECT(fd >= 0);
    if (data[0] & 1) {
        put_record(fd, version, sizeof version - 1);
        put_record(fd, data + 1, size - 1);
    } else {
        put_records(fd, data + 1, size - 1);
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    read_all(path);
    close(fd);
    return 0;
}
