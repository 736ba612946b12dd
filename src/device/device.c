/* SPDX-License-Identifier: MIT
 *
 * device.c: opens devices by name. A name is KIND or KIND:SPEC; the kind selects a table of
 * LEAT_DEVICE_LIST, and the table reads the spec. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/forked.h"
#include "device_table.h"

static const leat_device_table *const tables[] = {
#define LEAT_DEVICE_ROW(name) &leat_device_##name,
    LEAT_DEVICE_LIST(LEAT_DEVICE_ROW)
#undef LEAT_DEVICE_ROW
        NULL
};
enum { N_TABLES = sizeof tables / sizeof *tables - 1 };

const leat_device_table *const *leat_device_tables(void)
{
    return tables;
}

static int no_such_device(const char *name, leat_error *err)
{
    const char *kinds[N_TABLES];
    char list[128] = "", kind[64];
    for (size_t i = 0; i < N_TABLES; i++) {
        kinds[i] = tables[i]->kind;
        strncat(list, i ? ", " : "", sizeof list - strlen(list) - 1);
        strncat(list, kinds[i], sizeof list - strlen(list) - 1);
    }
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(name, ":"), name);
    const char *near = leat_nearest(kind, kinds, N_TABLES);
    return leat_fail(err, LEAT_E_CONFIG, "device '%s': there is no '%s'%s%s%s; devices are: %s",
                     name, kind, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "",
                     list);
}

int leat_device_open(const char *name, leat_device **out, leat_error *err)
{
    if (!name || !out)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_device_open: name and out must be given");
    *out = NULL;
    leat_device_info *info;
    if (strlen(name) >= sizeof info->name)
        return leat_fail(err, LEAT_E_CONFIG, "device '%.40s…': the name has %zu bytes, %zu at most",
                         name, strlen(name), sizeof info->name - 1);
    const size_t kind = strcspn(name, ":");
    const char *spec = name[kind] ? name + kind + 1 : "";
    for (size_t i = 0; i < N_TABLES; i++) {
        if (strlen(tables[i]->kind) != kind || strncmp(name, tables[i]->kind, kind) != 0)
            continue;
        const int rc = tables[i]->open(spec, out, err);
        if (rc < 0)
            return leat_fail_in(err, rc, "device '%s': ", name);
        info = &(*out)->info;
        if (!info->name[0])
            snprintf(info->name, sizeof info->name, "%s", name);
        (*out)->n_forks = leat_forked_count();
        return LEAT_OK;
    }
    return no_such_device(name, err);
}

int leat_stream_wrap(leat_device *device, void *native, leat_stream **out, leat_error *err)
{
    if (!device || !out)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_stream_wrap: device and out must be given");
    *out = NULL;
    if (device->table->stream_wrap)
        return device->table->stream_wrap(device, native, out, err);
    if (native)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_stream_wrap: %s has no native streams: give NULL",
                         device->info.name);
    return device->table->stream_open(device, out, err);
}

void leat_stream_unwrap(leat_stream **stream)
{
    if (!stream || !*stream)
        return;
    (*stream)->device->table->stream_unwrap(*stream);
    *stream = NULL;
}

int leat_stream_follow(leat_stream *stream, leat_stream *other)
{
    if (!stream || !other || stream->device != other->device)
        return LEAT_E_ARGUMENT;
    if (stream->device->n_forks != leat_forked_count())
        return LEAT_E_FORKED;
    const leat_device_table *const t = stream->device->table;
    leat_event *event;
    int rc = t->event_open(stream->device, &event, NULL);
    if (rc < 0)
        return rc;
    if ((rc = t->event_record(event, other)) >= 0)
        rc = t->stream_wait(stream, event);
    t->event_close(event);
    return rc;
}

void leat_device_close(leat_device **device)
{
    if (!device || !*device)
        return;
    if ((*device)->n_forks ==
        leat_forked_count()) /* otherwise threads and driver belong to the parent */
        leat_device_leave(*device);
    *device = NULL;
}

void leat_device_use(leat_device *device)
{
    atomic_fetch_add(&device->n_users, 1);
}

void leat_device_leave(leat_device *device)
{
    if (atomic_fetch_sub(&device->n_users, 1) == 0)
        device->table->close(device);
}

const leat_device_info *leat_device_get_info(const leat_device *device)
{
    return device ? &device->info : NULL;
}

size_t leat_devices(leat_device_info *out, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < N_TABLES; i++)
        count += tables[i]->list(out && count < n ? out + count : NULL,
                                 out && count < n ? n - count : 0);
    return count;
}

static const leat_device_table *table_of_kind(const char *kind)
{
    for (size_t i = 0; kind && i < N_TABLES; i++)
        if (!strcmp(tables[i]->kind, kind))
            return tables[i];
    return NULL;
}

int leat_device_is_gpu(const char *name)
{
    const size_t n = name ? strcspn(name, ":") : 0;
    for (size_t i = 0; i < N_TABLES; i++)
        if (strlen(tables[i]->kind) == n && !strncmp(tables[i]->kind, name, n))
            return tables[i]->is_gpu;
    return 0;
}

const leat_option *leat_device_options(const char *kind)
{
    const leat_device_table *const table = table_of_kind(kind);
    return table ? table->options : NULL;
}

char *leat_device_libraries(const char *kind, char *text, size_t size)
{
    const leat_device_table *const table = table_of_kind(kind);
    if (!text || !size)
        return text;
    *text = 0;
    if (table && table->libraries)
        table->libraries(text, size);
    return text;
}

void *leat_device_host_alloc(leat_device *device, size_t bytes)
{
    (void)device;
    if (bytes > SIZE_MAX - 256)
        return NULL;
    return aligned_alloc(256, bytes ? (bytes + 255) & ~(size_t)255 : 256);
}

void leat_device_host_free(leat_device *device, void *memory)
{
    (void)device;
    free(memory);
}
