/* SPDX-License-Identifier: MIT */
#include "bad_list.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "files.h"
#include "formats/figure.h"
#include "terminal.h"

#define SHOWN 3 /* messages at the end of a run */

/* One run at a time writes to a file: it keeps it locked, and empties it only then. */
static int take_file(leat_bad_list *list, bool goes_on, leat_error *err)
{
    const int fd = fileno(list->file);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return leat_fail(err, LEAT_E_BUSY, "%s: another run writes to this file now", list->path);
    if (!goes_on && ftruncate(fd, 0) < 0)
        return leat_fail(err, LEAT_E_IO, "%s: %s", list->path, strerror(errno));
    leat_files_end_line(list->file);
    return LEAT_OK;
}

int leat_bad_list_open(leat_bad_list *list, const char *path, bool goes_on, leat_error *err)
{
    static const leat_output_kind errors = { "a list of errors of leat", "{\"code\":\"LEAT_E_", 0 };
    *list = (leat_bad_list){ .path = path };
    if (!path)
        return LEAT_OK;
    int rc = leat_files_check(path, &errors, err);
    if (rc == LEAT_OK)
        rc = leat_files_stream(path, &list->file, err);
    if (rc == LEAT_OK && (rc = take_file(list, goes_on, err)) < 0) {
        fclose(list->file);
        list->file = NULL;
    }
    return rc < 0 ? leat_fail_in(err, rc, "--errors: ") : rc;
}

static void write_line(leat_bad_list *list, json_t *line)
{
    json_dumpf(line, list->file, JSON_COMPACT);
    fputc('\n', list->file);
    if (fflush(list->file) != 0 && !list->error)
        list->error = errno;
    json_decref(line);
}

void leat_bad_list_take(leat_bad_list *list, leat_batch *batch)
{
    const leat_batch_info *const info = leat_batch_get_info(batch);
    const int64_t n_bad = info->n_masked + info->n_replaced;
    int32_t n = 0;
    if (!list->file || n_bad == 0)
        return;
    for (const leat_row_error *e; (e = leat_batch_error(batch, n)); n++) {
        json_t *line = json_object();
        leat_json_text(line, "code", leat_code_name(e->code));
        leat_json_int(line, "batch", e->batch);
        leat_json_int(line, "row", e->row);
        leat_json_int(line, "record", (int64_t)e->record);
        leat_json_int(line, "epoch", (int64_t)e->epoch);
        leat_json_add(line, "replacement",
                      e->replaced ? json_integer((json_int_t)e->replacement) : json_null());
        leat_json_text(line, "message", e->message);
        write_line(list, line);
    }
    if (n_bad > n) {
        json_t *line = json_object();
        leat_json_int(line, "batch", info->number);
        leat_json_int(line, "unlisted", n_bad - n);
        write_line(list, line);
    }
}

int leat_bad_list_close(leat_bad_list *list, leat_error *err)
{
    FILE *const file = list->file;
    list->file = NULL;
    if (!file)
        return LEAT_OK;
    if (fclose(file) != 0 && !list->error)
        list->error = errno;
    return list->error
               ? leat_fail(err, LEAT_E_IO, "--errors: %s: %s", list->path, strerror(list->error))
               : LEAT_OK;
}

void leat_bad_list_print(const char *what, leat_loader *loader, const leat_loader_stats_info *stats)
{
    leat_loader_stats_info own;
    leat_row_error first[SHOWN];
    const uint64_t n_bad = stats->n_masked + stats->n_replaced;
    if (n_bad == 0)
        return;
    leat_loader_stats(loader, &own);
    const int32_t n = leat_loader_errors(loader, first, SHOWN);
    const bool is_all = own.n_masked + own.n_replaced == n_bad;
    printf("%sbad records: %s masked, %s replaced%s\n", what,
           leat_figure_count(stats->n_masked).text, leat_figure_count(stats->n_replaced).text,
           is_all ? "; the first:"
           : n    ? "; the first of rank 0:"
                  : "");
    for (int32_t i = 0; i < n; i++)
        printf("  batch %lld, row %lld: %s\n", (long long)first[i].batch, (long long)first[i].row,
               leat_terminal_name(first[i].message));
}

void leat_bad_list_json(json_t *object, const leat_loader_stats_info *stats)
{
    leat_json_int(object, "masked", (int64_t)stats->n_masked);
    leat_json_int(object, "replaced", (int64_t)stats->n_replaced);
}
