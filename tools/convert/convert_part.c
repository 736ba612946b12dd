/* SPDX-License-Identifier: MIT
 *
 * convert_part.c: a conversion in parts: what each part says of itself, and how all get their names (file_set.h). */
#include "convert.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "formats/shard_set.h"
#include "print/terminal.h"
#include "signals.h"

static const char about_format[] =
    "leat-part 2: %" PRId32 " of %" PRId32 ", shards %" PRId32 ", digest %" PRIx64
    ", files %" PRIu64 ", classes %" PRIu64 ", %s %" PRIu64 " of %" PRIu64 "\n";

#define MANIFEST "manifest" /* in the folder of a part */

int leat_convert_part_parse(const char *text, leat_convert_part *out, leat_error *err)
{
    int number, of, end = 0;
    *out = (leat_convert_part){ 0 };
    if (!text)
        return LEAT_OK;
    const bool plain = strspn(text, "0123456789/") == strlen(text) && strlen(text) < 10;
    if (!plain || sscanf(text, "%d/%d%n", &number, &of, &end) != 2 || text[end] || number < 1 ||
        number > of || of > LEAT_FILE_SET_PARTS)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--part: '%.40s' is no part; write 1/8 for the first of eight, up to 8/8; "
                         "at most %d",
                         text, LEAT_FILE_SET_PARTS);
    *out = (leat_convert_part){ number, of };
    return LEAT_OK;
}

uint64_t leat_convert_part_own(const leat_convert *how, uint64_t total)
{
    uint64_t n = 0;
    for (int32_t i = 0; i < how->n_shards; i++)
        if (leat_convert_part_has(how->part, i))
            n += leat_convert_part_share(total, how->n_shards, i);
    return n;
}

int leat_convert_part_check(const leat_convert *how, leat_error *err)
{
    const leat_convert_part part = how->part;
    return how->n_shards >= part.of
               ? LEAT_OK
               : leat_fail(err, LEAT_E_ARGUMENT,
                           "--part %d/%d of %d shards: give at least --shards %d", part.number,
                           part.of, how->n_shards, part.of);
}

void leat_convert_part_print(const leat_convert *how)
{
    if (how->part.of)
        printf("part %d of %d; when all are there, `leat convert finish -o %s` gives them their "
               "names\n",
               how->part.number, how->part.of, leat_terminal_name(how->prefix));
}

static int write_about(const leat_file_set *set, const char *name,
                       const leat_convert_part_about *about, leat_error *err)
{
    char *const path = leat_file_set_inside(set, name);
    char text[256];
    const int n = snprintf(text, sizeof text, about_format, about->part.number, about->part.of,
                           about->n_shards, about->digest, about->n_files, about->n_classes,
                           about->is_images ? "images" : "records", about->records, about->total);
    const int rc = path ? leat_files_write(path, text, (size_t)n, err) : leat_files_no_memory(err);
    free(path);
    return rc;
}

static int keep_part(leat_file_set *set, const leat_convert_part_about *about,
                     const leat_set_manifest *manifest, leat_error *err)
{
    char *const list = leat_file_set_inside(set, MANIFEST);
    int rc = list ? leat_set_manifest_write(manifest, list, err) : leat_files_no_memory(err);
    free(list);
    if (rc == LEAT_OK)
        rc = write_about(set, "about", about, err);
    return rc < 0 ? rc : leat_file_set_keep(set, err);
}

int leat_convert_part_commit(leat_file_set *set, const leat_convert_part_about *about,
                             const leat_set_manifest *manifest, leat_error *err)
{
    int rc;
    if (about->part.of)
        return keep_part(set, about, manifest, err);
    if ((rc = leat_set_manifest_write_of(manifest, set, err)) < 0 ||
        (rc = leat_file_set_commit(set, err)) < 0)
        return rc;
    return leat_shard_names_index(set->prefix, about->n_shards, err);
}

/* Whether there is such a file. *err is filled only where that cannot be known. */
static bool is_there(const char *path, leat_error *err)
{
    const bool found = path && access(path, F_OK) == 0;
    if (path && !found && !leat_format_is_absent(errno))
        leat_fail(err, LEAT_E_IO, "%s: %s", path, strerror(errno));
    return found;
}

bool leat_convert_part_read(const char *folder, const char *name, leat_convert_part_about *out,
                            leat_error *err)
{
    int length = 0;
    char *const path = leat_files_text("%s/%s", folder, name);
    char *const sign = leat_files_text("%s/unfinished", folder);
    const bool reads = path && sign && !is_there(sign, err) && err->code == LEAT_OK;
    FILE *const file = reads ? fopen(path, "re") : NULL;
    char text[256] = "", what[9] = "";
    if (file && !fgets(text, sizeof text, file))
        *text = 0;
    *out = (leat_convert_part_about){ .n_shards = 0 };
    const int n =
        sscanf(text,
               "leat-part 2: %" SCNd32 " of %" SCNd32 ", shards %" SCNd32 ", digest %" SCNx64
               ", files %" SCNu64 ", classes %" SCNu64 ", %8[a-z] %" SCNu64 " of %" SCNu64 "%n",
               &out->part.number, &out->part.of, &out->n_shards, &out->digest, &out->n_files,
               &out->n_classes, what, &out->records, &out->total, &length);
    out->is_images = !strcmp(what, "images");
    if (file)
        fclose(file);
    free(path);
    free(sign);
    return n == 9 && text[length] == '\n' && out->part.number >= 1 &&
           out->part.number <= out->part.of && out->part.of <= LEAT_FILE_SET_PARTS;
}

/* --- all parts ----------------------------------------------------------------------------------- */

/* The number of parts that the folders beside PREFIX name; 0: there are none. */
static int count_parts(const char *prefix, int32_t *of, leat_error *err)
{
    char *const hidden = leat_files_hidden(prefix, ".part-");
    glob_t found = { 0 };
    int rc = hidden ? leat_file_set_glob(hidden, "*-of-*", &found, err) : leat_files_no_memory(err);
    *of = 0;
    for (size_t i = 0; i < found.gl_pathc && rc == LEAT_OK; i++) {
        const char *const name = found.gl_pathv[i] + strlen(hidden);
        int number, n, end = 0;
        if (sscanf(name, "%d-of-%d%n", &number, &n, &end) != 2 || name[end] || number < 1 ||
            number > n || n > LEAT_FILE_SET_PARTS)
            continue;
        if (*of && n != *of)
            rc = leat_fail(err, LEAT_E_DATA,
                           "%s: there are parts of %d and of %d (%s); remove those that are not "
                           "wanted",
                           prefix, (int)*of, n, found.gl_pathv[i]);
        *of = n;
    }
    globfree(&found);
    free(hidden);
    return rc;
}

/* Whether the folder has the shards of a part. or_named: some may have their names instead. */
static bool has_shards(const char *prefix, const char *folder, const leat_convert_part_about *about,
                       bool or_named, leat_error *err)
{
    char *const start = leat_files_text("%s/%s", folder, leat_files_base_name(prefix));
    bool all = start;
    for (int32_t i = about->part.number - 1; all && i < about->n_shards; i += about->part.of) {
        char *const path = leat_shard_name(start, i, about->n_shards);
        char *const name = or_named ? leat_shard_name(prefix, i, about->n_shards) : NULL;
        all = is_there(path, err) || is_there(name, err);
        free(path);
        free(name);
    }
    free(start);
    return all;
}

/* Whether the part is complete, and what it says. Of a set that has its names a folder may be left that could not be
 * removed, without shards. */
static bool read_about(const char *prefix, int32_t number, int32_t of, bool or_named,
                       leat_convert_part_about *out, leat_error *err)
{
    char *const folder = leat_file_set_part_folder(prefix, number, of);
    const bool good = folder && leat_convert_part_read(folder, "about", out, err) &&
                      out->part.number == number && out->part.of == of &&
                      has_shards(prefix, folder, out, or_named, err);
    free(folder);
    return good;
}

/* Puts what the manifest of a part lists to the places of its shards. */
static int take_manifest(const char *folder, leat_manifest_shard *shards, int32_t first,
                         int32_t n_shards, int32_t of, leat_manifest *list, leat_error *err)
{
    leat_format_error why;
    char *const path = leat_files_text("%s/" MANIFEST, folder);
    int rc = path ? LEAT_OK : leat_files_no_memory(err);
    if (path && access(path, F_OK) < 0 && errno == ENOENT)
        rc = leat_fail(err, LEAT_E_DATA,
                       "%s is missing, as in a part that an older leat has written: run `leat "
                       "convert` with --part for it again",
                       path);
    else if (path && leat_manifest_read(path, list, &why) < 0)
        rc = leat_files_fail(err, &why);
    size_t k = 0;
    for (int32_t i = first; rc == LEAT_OK && i < n_shards; i += of, k++) {
        if (k < list->n_shards)
            shards[i] = list->shards[k];
        else
            rc = leat_fail(err, LEAT_E_DATA, "%s lists only %zu files: run this part again", path,
                           list->n_shards);
    }
    free(path);
    return rc;
}

/* Compares a shard, which waits, or has its name since a `finish` that was stopped, with a manifest. */
static int compare_shard(const char *prefix, int32_t i, const leat_convert_part_about *about,
                         const leat_manifest_shard *shard, bool size_only, leat_error *err)
{
    const int32_t of = about->part.of, number = i % of + 1;
    char *const folder = leat_file_set_part_folder(prefix, number, of);
    char *const start =
        folder ? leat_files_text("%s/%s", folder, leat_files_base_name(prefix)) : NULL;
    char *const path = start ? leat_shard_name(start, i, about->n_shards) : NULL;
    char *const name = leat_shard_name(prefix, i, about->n_shards);
    int rc = path && name ? LEAT_OK : leat_files_no_memory(err);
    if (rc == LEAT_OK && leat_signals_caught())
        rc = leat_fail(err, LEAT_E_CANCELED, "stopped by a signal; all parts are left as they are");
    if (rc == LEAT_OK) {
        const char *const at = access(path, F_OK) == 0 ? path : name;
        rc = size_only ? leat_set_manifest_check_size(at, shard, err)
                       : leat_set_manifest_check_bytes(at, shard, err);
    }
    if (rc == LEAT_E_DATA) {
        const leat_error inner = *err;
        leat_fail(err, rc,
                  "%s: run `leat convert` with --part %d/%d and the same input again, then `leat "
                  "convert finish -o %s`",
                  inner.message, (int)number, (int)of, prefix);
    }
    free(folder);
    free(start);
    free(path);
    free(name);
    return rc;
}

/* The same with each `step`-th: all sizes, which is fast, before the first byte. */
static int compare_shards(const char *prefix, const leat_convert_part_about *about,
                          const leat_manifest_shard *shards, int32_t first, int32_t step,
                          leat_error *err)
{
    int rc = LEAT_OK;
    for (int reads = 0; reads < 2; reads++)
        for (int32_t i = first; i < about->n_shards && rc == LEAT_OK; i += step)
            rc = compare_shard(prefix, i, about, &shards[i], !reads, err);
    return rc;
}

/* The same with those of a part and its own manifest. */
static int compare_part(const char *prefix, const leat_convert_part_about *about, leat_error *err)
{
    const int32_t n = about->n_shards, first = about->part.number - 1, of = about->part.of;
    leat_manifest list = { 0 };
    leat_manifest_shard *const shards = calloc((size_t)n, sizeof *shards);
    char *const folder = leat_file_set_part_folder(prefix, about->part.number, of);
    int rc = shards && folder ? take_manifest(folder, shards, first, n, of, &list, err)
                              : leat_files_no_memory(err);
    if (rc == LEAT_OK)
        rc = compare_shards(prefix, about, shards, first, of, err);
    leat_manifest_close(&list);
    free(folder);
    free(shards);
    return rc;
}

/* Whether a part of these is complete, some shards maybe with their names. reads: and whole; *err says what is damaged. */
static bool is_one_of(const char *prefix, int32_t number, const leat_convert_part_about *whole,
                      bool reads, leat_error *err)
{
    leat_convert_part_about one;
    return read_about(prefix, number, whole->part.of, true, &one, err) &&
           one.n_shards == whole->n_shards && one.digest == whole->digest &&
           (!reads || compare_part(prefix, &one, err) == LEAT_OK);
}

int leat_convert_part_check_all(const char *prefix, const leat_convert_part_about *whole,
                                bool reads, leat_error *err)
{
    *err = (leat_error){ 0 };
    for (int32_t i = 1; i <= whole->part.of; i++)
        if (!is_one_of(prefix, i, whole, reads, err))
            return err->code ? err->code
                             : leat_fail(err, LEAT_E_DATA,
                                         "%s: part %d/%d was lost or changed while the files were "
                                         "getting their "
                                         "names: run `leat convert` with --part %d/%d and the same "
                                         "input again, "
                                         "then `leat convert finish -o %s`",
                                         prefix, (int)i, (int)whole->part.of, (int)i,
                                         (int)whole->part.of, prefix);
    return LEAT_OK;
}

static bool is_in(const char *folder, const char *name, const char *end, leat_error *err)
{
    char *const path = leat_files_text("%s/%s%s", folder, name, end);
    const bool found = is_there(path, err);
    free(path);
    return found;
}

/* Whether complete files wait for names: the manifest is the first to get its own, and the marker goes when all have
 * them. */
static bool lacks_names(const char *prefix, const char *folder, leat_error *err)
{
    char *const marker = leat_files_text("%s" LEAT_SHARD_SET_MARKER, prefix);
    const bool renames = is_there(marker, err) && is_in(folder, "old", "", err);
    free(marker);
    return !is_in(folder, "unfinished", "", err) &&
           (renames || is_in(folder, leat_files_base_name(prefix), "-manifest.json", err));
}

int leat_convert_part_check_free(const char *prefix, leat_convert_part part, leat_error *err)
{
    leat_convert_part_about whole;
    char *const folder = leat_files_hidden(prefix, ".part");
    if (!folder)
        return leat_files_no_memory(err);
    *err = (leat_error){ 0 };
    const bool begun = leat_convert_part_read(folder, "parts", &whole, err);
    const bool waits = lacks_names(prefix, folder, err);
    const bool is_whole = !is_in(folder, "old", "", err);
    const bool lost = begun && part.of == whole.part.of && waits &&
                      !is_one_of(prefix, part.number, &whole, true, err);
    if (lost && err->code == LEAT_E_DATA)
        *err = (leat_error){ 0 }; /* that it is damaged is why it is run again */
    const int rc =
        err->code || lost || !(waits || (begun && part.of))
            ? err->code
            : leat_fail(err, LEAT_E_DATA,
                        "%s: complete files of an earlier conversion wait in %s: `leat convert "
                        "finish -o %s` gives them their names, then run this again%s",
                        prefix, folder, prefix, is_whole ? "; or remove that folder" : "");
    free(folder);
    return rc;
}

/* Reads all descriptions; the sum of records is that of the whole. */
static int check_parts(const char *prefix, int32_t of, leat_convert_part_about *whole,
                       leat_error *err)
{
    char missing[200] = "";
    leat_convert_part_about one;
    *whole = (leat_convert_part_about){ .part = { 0, of } };
    *err = (leat_error){ 0 };
    for (int32_t i = 1; i <= of; i++) {
        if (!read_about(prefix, i, of, false, &one, err)) {
            if (err->code)
                return err->code;
            if (strlen(missing) < sizeof missing - 20)
                leat_files_append(missing, sizeof missing, "%s%d/%d", *missing ? ", " : "", (int)i,
                                  (int)of);
            continue;
        }
        if (!whole->n_shards)
            *whole = one;
        else if (one.digest != whole->digest || one.n_shards != whole->n_shards)
            return leat_fail(err, LEAT_E_DATA,
                             "%s: part %d/%d was made from other files or after they changed, with "
                             "other options or by another version of leat (%" PRIu64
                             " files, %d shards) than part %d/%d (%" PRIu64
                             " files, %d shards): run one of them again",
                             prefix, (int)i, (int)of, one.n_files, (int)one.n_shards,
                             (int)whole->part.number, (int)of, whole->n_files,
                             (int)whole->n_shards);
        else
            whole->records += one.records;
    }
    if (*missing)
        return leat_fail(err, LEAT_E_DATA,
                         "%s: these parts are missing or not complete: %s%s; run `leat convert` "
                         "with --part for them",
                         prefix, missing, strlen(missing) >= sizeof missing - 20 ? " ..." : "");
    if (whole->total && whole->records != whole->total)
        return leat_fail(err, LEAT_E_DATA,
                         "%s: the parts have %" PRIu64 " records, and there should be %" PRIu64
                         ": run all of them again",
                         prefix, whole->records, whole->total);
    if (whole->is_images && !whole->records)
        return leat_fail(err, LEAT_E_DATA, "%s: no part contains an image", prefix);
    return LEAT_OK;
}

/* Writes the manifest of all parts, if their shards are those that it lists. */
static int merge_manifests(leat_file_set *set, const leat_convert_part_about *about,
                           leat_error *err)
{
    const int32_t of = set->n_parts, n_shards = about->n_shards;
    leat_set_manifest all = { calloc((size_t)n_shards, sizeof *all.shards), (size_t)n_shards };
    leat_manifest *const lists = calloc((size_t)of, sizeof *lists);
    int rc = all.shards && lists ? LEAT_OK : leat_files_no_memory(err);
    for (int32_t i = 0; i < of && rc == LEAT_OK; i++)
        rc = take_manifest(set->parts[i].folder, all.shards, i, n_shards, of, &lists[i], err);
    if (rc == LEAT_OK)
        rc = compare_shards(set->prefix, about, all.shards, 0, 1, err);
    if (rc == LEAT_OK)
        rc = leat_set_manifest_write_of(&all, set, err);
    for (int32_t i = 0; lists && i < of; i++)
        leat_manifest_close(&lists[i]); /* which own the names */
    free(lists);
    free(all.shards);
    return rc;
}

int leat_convert_part_finish(leat_file_set *set, leat_convert_part_about *found, leat_error *err)
{
    int32_t of;
    *found = (leat_convert_part_about){ .n_shards = 0 };
    int rc = count_parts(set->prefix, &of, err);
    if (rc < 0 || !of)
        return rc;
    /* Before they are locked, too: a lock makes the folder that is missing. */
    if ((rc = check_parts(set->prefix, of, found, err)) < 0 ||
        (rc = leat_file_set_lock_parts(set, of, err)) < 0 ||
        (rc = check_parts(set->prefix, of, found, err)) < 0 ||
        (rc = merge_manifests(set, found, err)) < 0 ||
        (rc = write_about(set, "parts", found, err)) < 0)
        return rc;
    return leat_file_set_commit(set, err);
}
