/* SPDX-License-Identifier: MIT
 *
 * fuzz_index.c: any bytes as the side file of a data file of a few records. The first byte chooses
 * whether the header, and the blocks, get their right checksums before. Whatever is there, a place
 * that is given out lies within the data file, and building it again gives the right places. */
#include "formats/index.c"

#include <unistd.h>

#include "fuzz_target.h"
enum { N_RECORDS = 1100 }; /* two blocks */

static char fuzz_folder[64], data_path[96], side_path[96];
static struct stat data_stat;
static uint64_t truth[N_RECORDS + 1];

static void clean_up(void)
{
    unlink(side_path);
    unlink(data_path);
    rmdir(fuzz_folder);
}

static void set_up(void)
{
    leat_tfrecord_writer *writer;
    snprintf(fuzz_folder, sizeof fuzz_folder, "/tmp/leat-fuzz-XXXXXX");
    EXPECT(mkdtemp(fuzz_folder));
    snprintf(data_path, sizeof data_path, "%s/d.tfrecord", fuzz_folder);
    snprintf(side_path, sizeof side_path, "%s/d.tfrecord.idx", fuzz_folder);
    EXPECT(leat_tfrecord_writer_open(&writer, data_path, 0, NULL) == LEAT_FORMAT_OK);
    for (size_t r = 0; r < N_RECORDS; r++) {
        EXPECT(leat_tfrecord_writer_write(writer, "abcdefg", r % 8, NULL) == LEAT_FORMAT_OK);
        truth[r + 1] = leat_tfrecord_writer_size(writer);
    }
    EXPECT(leat_tfrecord_writer_commit(writer, NULL) == LEAT_FORMAT_OK);
    leat_tfrecord_writer_close(&writer);
    EXPECT(stat(data_path, &data_stat) == 0);
    atexit(clean_up);
}

static void mend_header(uint8_t *bytes)
{
    memcpy(bytes + AT_MAGIC, magic, sizeof magic);
    leat_store_u32(bytes + AT_VERSION, VERSION);
    leat_store_u64(bytes + AT_DATA_BYTES, (uint64_t)data_stat.st_size);
    leat_store_u64(bytes + AT_DATA_MTIME, (uint64_t)data_stat.st_mtim.tv_sec * 1000000000 +
                                              (uint64_t)data_stat.st_mtim.tv_nsec);
    leat_store_u64(bytes + AT_CHECKSUM, XXH3_64bits(bytes, AT_CHECKSUM));
}

static void mend_blocks(uint8_t *bytes, size_t size)
{
    const uint64_t n = leat_load_u64(bytes + AT_RECORDS);
    if (n > 100000 || leat_index_side_bytes(n) != size)
        return;
    const uint8_t *offsets = bytes + HEADER_BYTES + 8 * n_blocks_of(n);
    leat_store_u64(bytes + size - 8, (uint64_t)data_stat.st_size);
    for (uint64_t block = 0; block < n_blocks_of(n); block++)
        leat_store_u64(bytes + HEADER_BYTES + 8 * block, check_of(offsets, n, block));
}

static void check_places(const leat_index *index)
{
    uint64_t offset, size;
    for (uint64_t r = 0; r < index->n_records; r++) {
        const int rc = leat_index_extent(index, r, &offset, &size);
        EXPECT(rc == LEAT_FORMAT_OK || rc == LEAT_FORMAT_BAD);
        if (rc == LEAT_FORMAT_OK)
            EXPECT(size >= 16 && offset <= index->data_bytes && size <= index->data_bytes - offset);
    }
    EXPECT(leat_index_extent(index, index->n_records, &offset, &size) == LEAT_FORMAT_END);
}

static void check_truth(const leat_index *index)
{
    uint64_t offset, size;
    EXPECT(index->n_records == N_RECORDS);
    for (uint64_t r = 0; r < N_RECORDS; r++) {
        EXPECT(leat_index_extent(index, r, &offset, &size) == LEAT_FORMAT_OK);
        EXPECT(offset == truth[r] && size == truth[r + 1] - truth[r]);
    }
}

static void put_side(const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(side_path, "wb");
    EXPECT(file && fwrite(bytes, 1, size, file) == size);
    EXPECT(fclose(file) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    leat_index index;
    leat_format_error err;
    if (!fuzz_folder[0])
        set_up();
    if (!size)
        return 0;
    uint8_t *bytes = malloc(size);
    EXPECT(bytes);
    memcpy(bytes, data + 1, size - 1);
    if (data[0] & 2 && size - 1 >= HEADER_BYTES)
        mend_blocks(bytes, size - 1);
    if (data[0] & 1 && size - 1 >= HEADER_BYTES)
        mend_header(bytes);
    put_side(bytes, size - 1);
    free(bytes);
    const int rc = leat_index_open(data_path, LEAT_INDEX_NO_BUILD, &index, &err);
    EXPECT(rc == LEAT_FORMAT_OK || rc == LEAT_FORMAT_STALE);
    if (rc == LEAT_FORMAT_OK) {
        check_places(&index);
        leat_index_close(&index);
    } else if (data[0] & 4) {
        EXPECT(leat_index_open(data_path, LEAT_INDEX_NO_WRITE, &index, &err) == LEAT_FORMAT_OK);
        check_truth(&index);
        leat_index_close(&index);
    }
    return 0;
}
