/* SPDX-License-Identifier: MIT
 *
 * fuzz_jpeg_index.c: any bytes as the side file of JPEG files. The first byte chooses whether its ends,
 * and its entries, get their right checksums before. Whatever is there, what is given out lies within
 * the tables; and a decoder that believes a table gives pixels or refuses it, and touches nothing
 * else. */
#include "formats/jpeg_index.c"

#include <unistd.h>

#include "bench/jpeg_reference.h"
#include "fuzz_target.h"
#include "ops/jpeg/jpeg.h"

enum { N_RECORDS = 3, DATA_BYTES = 5000, WIDTH = 40, HEIGHT = 30 };

static char fuzz_folder[64], data_path[96], side_path[112];
static uint8_t *pictures[2];
static size_t picture_bytes[2];
static leat_scratch *scratch;

static void clean_up(void)
{
    unlink(side_path);
    rmdir(fuzz_folder);
    leat_scratch_close(&scratch);
    for (int i = 0; i < 2; i++)
        free(pictures[i]);
}

static void set_up(void)
{
    reference_picture p = {
        .width = WIDTH, .height = HEIGHT, .channels = 3, .h = 1, .v = 1, .quality = 50
    };
    snprintf(fuzz_folder, sizeof fuzz_folder, "/tmp/leat-fuzz-XXXXXX");
    EXPECT(mkdtemp(fuzz_folder));
    snprintf(data_path, sizeof data_path, "%s/d.tfrecord", fuzz_folder);
    snprintf(side_path, sizeof side_path, "%s.jpg.idx", data_path);
    picture_bytes[0] = reference_encode(&p, 1, &pictures[0]);
    p.h = p.v = 2;
    picture_bytes[1] = reference_encode(&p, 2, &pictures[1]);
    EXPECT(leat_scratch_open(&scratch, 1 << 26, NULL) == LEAT_OK);
    atexit(clean_up);
}

static void mend_entries(uint8_t *bytes, size_t size)
{
    const size_t n = N_RECORDS * ENTRY_BYTES;
    if (size < HEAD_BYTES + n + TAIL_BYTES)
        return;
    uint8_t *const entries = bytes + size - TAIL_BYTES - n;
    const uint64_t room = (uint64_t)(entries - bytes);
    for (uint64_t r = 0; r < N_RECORDS; r++) {
        uint8_t *const entry = entries + ENTRY_BYTES * r;
        const uint64_t at = leat_load_u64(entry + AT_TABLE);
        const uint32_t table_bytes = leat_load_u32(entry + AT_TABLE_BYTES);
        leat_store_u32(entry + AT_CRC, 77);
        leat_store_u64(entry + AT_LENGTH, 99);
        if (at <= room && table_bytes <= room - at)
            leat_store_u64(entry + AT_ENTRY_CHECK,
                           check_of_entry(entry, r, bytes + at, table_bytes));
    }
}

static void mend_ends(uint8_t *bytes, size_t size)
{
    if (size < HEAD_BYTES + TAIL_BYTES)
        return;
    uint8_t *const tail = bytes + size - TAIL_BYTES;
    memcpy(bytes + AT_MAGIC, magic, sizeof magic);
    leat_store_u32(bytes + AT_VERSION, VERSION);
    leat_store_u64(tail + AT_RECORDS, N_RECORDS);
    leat_store_u64(tail + AT_DATA_BYTES, DATA_BYTES);
    leat_store_u64(tail + AT_FILE_BYTES, size);
    leat_store_u64(tail + AT_TAIL_CHECK, check_of_ends(bytes, tail));
}

/* A decoder that takes the table at its word, for parts and for all of a picture. */
static void use(const uint8_t *table, size_t size, int i)
{
    static uint8_t pixels[WIDTH * HEIGHT * 3];
    const leat_image_box boxes[] = { { 3, 5, 9, 17 }, { 20, 22, 4, 11 }, { 0, 0, HEIGHT, WIDTH } };
    uint8_t *const copy = malloc(size); /* exact size, so that over-reads are seen */
    EXPECT(copy);
    memcpy(copy, table, size);
    for (size_t b = 0; b < sizeof boxes / sizeof *boxes; b++) {
        leat_jpeg jpeg;
        leat_scratch_reset(scratch);
        EXPECT(leat_jpeg_open(&jpeg, pictures[i], picture_bytes[i], NULL) == LEAT_OK);
        int rc = leat_jpeg_use_table(&jpeg, copy, size, scratch, NULL);
        EXPECT(rc == LEAT_OK || rc == LEAT_E_ARGUMENT);
        if (rc == LEAT_OK) {
            rc = leat_jpeg_decode_box(&jpeg, &boxes[b], 3, pixels, scratch, NULL);
            EXPECT(rc == LEAT_OK || rc == LEAT_E_UNSUPPORTED);
        }
    }
    free(copy);
}

static void look_up(const leat_jpeg_index *index)
{
    const leat_jpeg_index_id id = { 99, 77 };
    for (uint64_t r = 0; r < N_RECORDS; r++) {
        const uint8_t *table;
        size_t size;
        const int rc = leat_jpeg_index_find(index, r, &id, &table, &size);
        EXPECT(rc == LEAT_FORMAT_OK || rc == LEAT_FORMAT_BAD || rc == LEAT_FORMAT_STALE);
        if (rc != LEAT_FORMAT_OK)
            continue;
        EXPECT(table >= index->memory + HEAD_BYTES && table <= index->entries &&
               size <= (size_t)(index->entries - table));
        if (size)
            use(table, size, (int)(r % 2));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    leat_jpeg_index index;
    if (!fuzz_folder[0])
        set_up();
    if (!size)
        return 0;
    uint8_t *bytes = malloc(size);
    EXPECT(bytes);
    memcpy(bytes, data + 1, size - 1);
    if (data[0] & 2)
        mend_entries(bytes, size - 1);
    if (data[0] & 1)
        mend_ends(bytes, size - 1);
    FILE *file = fopen(side_path, "wb");
    EXPECT(file && fwrite(bytes, 1, size - 1, file) == size - 1);
    EXPECT(fclose(file) == 0);
    free(bytes);
    const int rc = leat_jpeg_index_open(data_path, DATA_BYTES, N_RECORDS, &index, NULL);
    EXPECT(rc == LEAT_FORMAT_OK || rc == LEAT_FORMAT_STALE);
    if (rc == LEAT_FORMAT_OK) {
        look_up(&index);
        leat_jpeg_index_close(&index);
    }
    return 0;
}
