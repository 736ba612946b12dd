/* SPDX-License-Identifier: MIT */
#include "index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "atomic_file.h"
#include "grow.h"
#include "little_endian.h"
#include "resync.h"
#include "tfrecord.h"

typedef unsigned long long ull;

/* Offsets in the header. */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 8, /* uint32 */
    AT_LOST = 12,   /* uint32: records that stand for damage */
    AT_RECORDS = 16,
    AT_DATA_BYTES = 24,
    AT_DATA_MTIME = 32,
    AT_LOST_BYTES = 40,
    AT_LOST_FIRST = 48, /* the first of them; 0 if there is none */
    AT_CHECKSUM = 56,   /* XXH3 of all bytes before it */
    HEADER_BYTES = 64,
    VERSION = 1,
    BLOCK = 1024 /* records */
};

#define DAMAGE ((uint64_t)1 << 63) /* in an offset: no record begins there */

static const char magic[8] = { 'l', 'e', 'a', 't', '-', 'i', 'd', 'x' };

static uint64_t n_blocks_of(uint64_t n_records)
{
    return n_records / BLOCK + (n_records % BLOCK != 0);
}

/* Returns the most records that a data file can have. Only damage at the end has less than 16 bytes. */
static uint64_t most_records(uint64_t data_bytes)
{
    return data_bytes / LEAT_TFRECORD_OVERHEAD + (data_bytes % LEAT_TFRECORD_OVERHEAD != 0);
}

/* With at most most_records() nothing overflows. */
uint64_t leat_index_side_bytes(uint64_t n_records)
{
    return HEADER_BYTES + 8 * (n_blocks_of(n_records) + n_records + 1);
}

/* Blocks share an offset: the last of one is the first of the next. So a record is in one block. */
static uint64_t check_of(const uint8_t *offsets, uint64_t n_records, uint64_t block)
{
    const uint64_t first = block * BLOCK, left = n_records - first;
    const uint64_t n = (left < BLOCK ? left : BLOCK) + 1;
    return XXH3_64bits_withSeed(offsets + 8 * first, (size_t)(8 * n), block);
}

static void lay_out(leat_index *index, void *memory, size_t bytes, uint64_t n_records)
{
    index->memory = memory;
    index->memory_bytes = bytes;
    index->n_records = n_records;
    index->checks = (const uint8_t *)memory + HEADER_BYTES;
    index->offsets = index->checks + 8 * n_blocks_of(n_records);
}

static int make_seen(leat_index *index, leat_format_error *err)
{
    index->seen = calloc(1, (size_t)(n_blocks_of(index->n_records) / 8 + 1));
    if (!index->seen)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0,
                                "no memory for the index of %llu records", (ull)index->n_records);
    return LEAT_FORMAT_OK;
}

/* --- looking up --------------------------------------------------------------------------------*/

/* Checks a block at its first use. Two threads can do it at once and set the same bit. The bytes of the
 * block are never written, so relaxed order is enough. */
static int check_block(const leat_index *index, uint64_t block)
{
    if (check_of(index->offsets, index->n_records, block) !=
        leat_load_u64(index->checks + 8 * block))
        return LEAT_FORMAT_BAD;
    __atomic_fetch_or(&index->seen[block / 8], (uint8_t)(1u << block % 8), __ATOMIC_RELAXED);
    return LEAT_FORMAT_OK;
}

int leat_index_extent(const leat_index *index, uint64_t record, uint64_t *offset, uint64_t *size)
{
    if (record >= index->n_records)
        return LEAT_FORMAT_END;
    const uint64_t block = record / BLOCK;
    if (!(__atomic_load_n(&index->seen[block / 8], __ATOMIC_RELAXED) & (1u << block % 8)) &&
        check_block(index, block) < 0)
        return LEAT_FORMAT_BAD;
    const uint64_t begin = leat_load_u64(index->offsets + 8 * record) & ~DAMAGE;
    const uint64_t end = leat_load_u64(index->offsets + 8 * record + 8) & ~DAMAGE;
    if (end > index->data_bytes || begin >= end ||
        (end - begin < LEAT_TFRECORD_OVERHEAD && !index->n_lost)) /* damage may be shorter */
        return LEAT_FORMAT_BAD;
    *offset = begin;
    *size = end - begin;
    return LEAT_FORMAT_OK;
}

int leat_index_extent_read(const leat_index *index, uint64_t record, uint64_t *offset,
                           uint64_t *size)
{
    const int rc = leat_index_extent(index, record, offset, size);
    if (rc >= 0 && leat_index_is_damage(index, record) && *size > LEAT_TFRECORD_OVERHEAD)
        *size = LEAT_TFRECORD_OVERHEAD;
    return rc;
}

int leat_index_verify(const leat_index *index, leat_format_error *err)
{
    uint64_t offset, size;
    for (uint64_t record = 0; record < index->n_records; record++)
        if (leat_index_extent(index, record, &offset, &size) < 0)
            return leat_format_fail(err, LEAT_FORMAT_BAD, 8 * record,
                                    "the index is damaged at record %llu: build it again",
                                    (ull)record);
    return LEAT_FORMAT_OK;
}

void leat_index_close(leat_index *index)
{
    leat_side_file_close(&index->side);
    if (!index->mapped)
        free(index->memory);
    free(index->seen);
    memset(index, 0, sizeof *index);
}

/* --- opening the side file ---------------------------------------------------------------------*/

/* Reads and checks the parts of a side file that open needs. */
static int check_side(const uint8_t *bytes, uint64_t size, const char *side,
                      const struct stat *data, leat_index *out, leat_format_error *err)
{
    if (size < sizeof magic || memcmp(bytes + AT_MAGIC, magic, sizeof magic) != 0)
        return leat_side_file_stale(err, side, "not an index");
    if (size < HEADER_BYTES)
        return leat_side_file_stale(err, side, "cut short");
    if (leat_load_u32(bytes + AT_VERSION) != VERSION)
        return leat_side_file_stale(err, side, "an index of another version");
    if (leat_load_u64(bytes + AT_CHECKSUM) != XXH3_64bits(bytes, AT_CHECKSUM))
        return leat_side_file_stale(err, side, "its header is damaged");
    const uint64_t n_records = leat_load_u64(bytes + AT_RECORDS);
    out->data_bytes = leat_load_u64(bytes + AT_DATA_BYTES);
    out->data_mtime_ns = (int64_t)leat_load_u64(bytes + AT_DATA_MTIME);
    if (out->data_bytes != (uint64_t)data->st_size ||
        out->data_mtime_ns != (int64_t)data->st_mtim.tv_sec * 1000000000 + data->st_mtim.tv_nsec)
        return leat_side_file_stale(err, side, "older than the data file, or of another file");
    out->n_lost = leat_load_u32(bytes + AT_LOST);
    out->lost_bytes = leat_load_u64(bytes + AT_LOST_BYTES);
    out->lost_first = leat_load_u64(bytes + AT_LOST_FIRST);
    if (n_records > most_records(out->data_bytes) || size != leat_index_side_bytes(n_records))
        return leat_side_file_stale(err, side, "of the wrong length");
    if (leat_load_u64(bytes + size - 8) != out->data_bytes)
        return leat_side_file_stale(err, side, "its last offset is not the end of the data file");
    lay_out(out, out->memory, out->memory_bytes, n_records);
    if (out->n_lost &&
        (out->lost_first >= n_records || !leat_index_is_damage(out, out->lost_first)))
        return leat_side_file_stale(err, side, "without marks of damage: of an older version");
    return LEAT_FORMAT_OK;
}

static int open_side(const char *side, const struct stat *data, unsigned flags, leat_index *out,
                     leat_format_error *err)
{
    memset(out, 0, sizeof *out);
    int rc = leat_side_file_open(side, &out->side, err);
    out->mapped = rc == LEAT_FORMAT_OK;
    out->memory = out->side.memory;
    out->memory_bytes = out->side.bytes;
    if (rc < 0)
        rc = err->code = LEAT_FORMAT_STALE; /* whatever is wrong with it, it is built again */
    if (rc == LEAT_FORMAT_OK)
        rc = check_side(out->memory, out->memory_bytes, side, data, out, err);
    if (rc == LEAT_FORMAT_OK && out->n_lost && !(flags & LEAT_INDEX_RESYNC))
        rc = leat_side_file_stale(err, side, "of a file that is damaged");
    if (rc == LEAT_FORMAT_OK)
        rc = make_seen(out, err);
    if (rc == LEAT_FORMAT_OK && (flags & LEAT_INDEX_VERIFY) && leat_index_verify(out, err) < 0)
        rc = leat_side_file_stale(err, side, "its offsets are damaged");
    if (rc < 0)
        leat_index_close(out);
    return rc;
}

/* --- building ----------------------------------------------------------------------------------*/

/* Offsets of a number of records that is not known yet. */
typedef struct offset_list {
    uint8_t *bytes;
    uint64_t n;
} offset_list;

static int append(offset_list *list, uint64_t offset, leat_format_error *err)
{
    uint8_t *larger = leat_grow(list->bytes, (size_t)list->n, 8);
    if (!larger)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0,
                                "no memory for the offsets of %llu records", (ull)list->n + 1);
    list->bytes = larger;
    leat_store_u64(list->bytes + 8 * list->n++, offset);
    return LEAT_FORMAT_OK;
}

static void note_lost(leat_index *index, const leat_tfrecord_reader *reader)
{
    const uint64_t lost = leat_tfrecord_reader_lost(reader);
    if (!lost)
        return;
    if (!index->n_lost)
        index->lost_first = leat_tfrecord_reader_record(reader);
    index->n_lost += index->n_lost < UINT32_MAX;
    index->lost_bytes += lost;
}

/* Collects the offsets of records and of damage and, last, the end of the file. */
static int walk(leat_tfrecord_reader *reader, offset_list *list, leat_index *index,
                leat_format_error *err)
{
    leat_format_error first = { 0 };
    const uint8_t *payload;
    size_t size;
    int rc;
    while ((rc = leat_tfrecord_reader_next(reader, &payload, &size, err)) == LEAT_FORMAT_OK ||
           leat_tfrecord_reader_lost(reader)) {
        if (rc < 0 && !index->n_lost)
            first = *err;
        note_lost(index, reader);
        rc = append(list,
                    leat_tfrecord_reader_offset(reader) |
                        (leat_tfrecord_reader_lost(reader) ? DAMAGE : 0),
                    err);
        if (rc < 0)
            return rc;
    }
    if (rc != LEAT_FORMAT_END)
        return rc;
    if (index->n_lost && index->n_lost == list->n) /* probably not a TFRecord file */
        return leat_format_fail(err, first.code, first.offset, "%s", first.text);
    return append(list, leat_tfrecord_reader_file_size(reader), err);
}

/* Builds the whole side file in memory. Consumes the list. */
static int assemble(offset_list *list, const leat_tfrecord_reader *reader, leat_index *out,
                    leat_format_error *err)
{
    const uint64_t n_records = list->n - 1, n_blocks = n_blocks_of(n_records);
    const size_t bytes = (size_t)leat_index_side_bytes(n_records),
                 head = (size_t)(HEADER_BYTES + 8 * n_blocks);
    uint8_t *memory = realloc(list->bytes, bytes);
    if (!memory)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "no memory for an index of %zu bytes",
                                bytes);
    list->bytes = NULL;
    memmove(memory + head, memory, bytes - head);
    memset(memory, 0, HEADER_BYTES);
    lay_out(out, memory, bytes, n_records);
    out->data_bytes = leat_tfrecord_reader_file_size(reader);
    out->data_mtime_ns = leat_tfrecord_reader_file_mtime_ns(reader);
    memcpy(memory + AT_MAGIC, magic, sizeof magic);
    leat_store_u32(memory + AT_VERSION, VERSION);
    leat_store_u32(memory + AT_LOST, out->n_lost);
    leat_store_u64(memory + AT_LOST_BYTES, out->lost_bytes);
    leat_store_u64(memory + AT_LOST_FIRST, out->lost_first);
    leat_store_u64(memory + AT_RECORDS, n_records);
    leat_store_u64(memory + AT_DATA_BYTES, out->data_bytes);
    leat_store_u64(memory + AT_DATA_MTIME, (uint64_t)out->data_mtime_ns);
    leat_store_u64(memory + AT_CHECKSUM, XXH3_64bits(memory, AT_CHECKSUM));
    for (uint64_t block = 0; block < n_blocks; block++)
        leat_store_u64(memory + HEADER_BYTES + 8 * block, check_of(out->offsets, n_records, block));
    return make_seen(out, err);
}

static int build(const char *path, unsigned flags, leat_index *out, leat_format_error *err)
{
    leat_tfrecord_reader *reader;
    offset_list list = { 0 };
    memset(out, 0, sizeof *out);
    const unsigned resync = flags & LEAT_INDEX_RESYNC ? LEAT_TFRECORD_RESYNC : 0;
    int rc = leat_tfrecord_reader_open(&reader, path, LEAT_TFRECORD_LENGTHS_ONLY | resync, err);
    if (rc < 0)
        return rc;
    const char *const compression = leat_tfrecord_reader_compression(reader);
    rc = compression ? leat_format_fail(err, LEAT_FORMAT_BAD, 0,
                                        "%s is %s-compressed and can have no index: `leat convert "
                                        "tfrecord %s -o PREFIX` makes plain files that have one",
                                        path, compression, path)
                     : walk(reader, &list, out, err);
    if (rc == LEAT_FORMAT_OK)
        rc = assemble(&list, reader, out, err);
    free(list.bytes);
    leat_tfrecord_reader_close(&reader);
    if (rc < 0)
        leat_index_close(out);
    else
        out->built = 1;
    return rc;
}

/* Writes the side file without sync: it has a checksum and can be rebuilt. */
static int write_side(const char *side, const leat_index *index, leat_format_error *err)
{
    leat_atomic_file *file;
    int rc = leat_atomic_file_open(&file, side, LEAT_ATOMIC_FILE_NO_SYNC, err);
    if (rc < 0)
        return rc;
    rc = leat_atomic_file_write(file, index->memory, index->memory_bytes, err);
    if (rc == LEAT_FORMAT_OK)
        rc = leat_atomic_file_commit(file, err);
    leat_atomic_file_close(&file);
    return rc;
}

static void add_note(leat_index *index, const char *before, const leat_format_error *why)
{
    const size_t used = strlen(index->note);
    snprintf(index->note + used, sizeof index->note - used, "%s%s%.230s", used ? "; " : "", before,
             why->text);
}

/* Writes a built index to the side file and maps that, which frees its memory. */
static void settle(const char *side, const struct stat *data, unsigned flags, leat_index *index)
{
    leat_format_error why;
    leat_index mapped;
    if ((!(flags & LEAT_INDEX_REBUILD) &&
         leat_side_file_check_replaced(side, magic, "leat index --rebuild", &why) < 0) ||
        write_side(side, index, &why) < 0 ||
        open_side(side, data, LEAT_INDEX_RESYNC, &mapped, &why) < 0) {
        add_note(index, "kept in memory only: ", &why);
        snprintf(index->unwritten, sizeof index->unwritten, "%.230s", why.text);
        return;
    }
    memcpy(mapped.note, index->note, sizeof mapped.note);
    mapped.built = 1;
    leat_index_close(index);
    *index = mapped;
}

/* Whether a valid record begins where the first damage was: the file is another one of the same size and time, such as a copy
 * that was put back. */
static int is_mended(const char *path, const leat_index *index)
{
    leat_format_error unused;
    uint64_t found;
    if (!index->n_lost)
        return 0;
    const uint64_t at = leat_load_u64(index->offsets + 8 * index->lost_first) & ~DAMAGE;
    const int fd = at < index->data_bytes ? leat_format_open(path) : -1;
    const int mended =
        fd >= 0 && leat_resync_find(fd, at, index->data_bytes, &found, &unused) == LEAT_FORMAT_OK &&
        found == at;
    if (fd >= 0)
        close(fd);
    return mended;
}

static int open_or_build(const char *path, const char *side, const struct stat *data,
                         unsigned flags, leat_index *out, leat_format_error *err)
{
    leat_format_error why = { .code = LEAT_FORMAT_STALE, .text = "rebuild requested" };
    struct stat after;
    if (!(flags & LEAT_INDEX_REBUILD)) {
        if (open_side(side, data, flags, out, &why) == LEAT_FORMAT_OK) {
            if (!is_mended(path, out))
                return LEAT_FORMAT_OK;
            leat_index_close(out);
            leat_side_file_stale(&why, side, "of a file that was damaged, and is mended");
        }
        if (why.code != LEAT_FORMAT_STALE || (flags & LEAT_INDEX_NO_BUILD))
            return leat_format_fail(err, why.code, 0, "%s", why.text);
    }
    const int rc = build(path, flags, out, err);
    if (rc < 0)
        return rc;
    const int found = stat(path, &after) == 0;
    if (!found && !leat_format_is_absent(errno)) {
        leat_format_fail(err, LEAT_FORMAT_IO, 0, "%s: %s", path, strerror(errno));
        leat_index_close(out);
        return LEAT_FORMAT_IO;
    }
    if (!found || after.st_size != data->st_size || after.st_mtim.tv_sec != data->st_mtim.tv_sec ||
        after.st_mtim.tv_nsec != data->st_mtim.tv_nsec) {
        leat_index_close(out);
        return leat_format_fail(err, LEAT_FORMAT_BAD, 0,
                                "%s: changed while it was indexed; try again when it is complete",
                                path);
    }
    add_note(out, "", &why);
    if (flags & LEAT_INDEX_NO_WRITE)
        return LEAT_FORMAT_OK;
    settle(side, data, flags, out);
    return LEAT_FORMAT_OK;
}

int leat_index_open(const char *tfrecord_path, unsigned flags, leat_index *out,
                    leat_format_error *err)
{
    leat_format_error unused;
    struct stat data;
    err = err ? err : &unused;
    memset(out, 0, sizeof *out);
    if (stat(tfrecord_path, &data) < 0)
        return leat_format_fail(err, LEAT_FORMAT_IO, 0, "%s: %s", tfrecord_path, strerror(errno));
    if (!S_ISREG(data.st_mode))
        return leat_format_fail(err, LEAT_FORMAT_IO, 0, "%s: not a regular file", tfrecord_path);
    const size_t room = strlen(tfrecord_path) + sizeof ".idx";
    char *side = malloc(room);
    if (!side)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory", tfrecord_path);
    snprintf(side, room, "%s.idx", tfrecord_path);
    const int rc = open_or_build(tfrecord_path, side, &data, flags, out, err);
    free(side);
    return rc;
}
