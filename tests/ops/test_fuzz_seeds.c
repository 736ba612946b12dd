/* SPDX-License-Identifier: MIT
 *
 * Each seed of fuzz_ops is of the op that it is named after: the op's apply() runs on it, and succeeds. The
 * list of ops may grow and be sorted anew without that. */
#include <dirent.h>
#include <stdbool.h>

#include "fixtures/unit.h"
#include "fuzz/fuzz_ops.c"

#define SEEDS SOURCE_DIR "/tests/fuzz/corpus/fuzz_ops"

/* "resize_float" is of `resize`: the op with the longest name that the seed's begins with. */
static const leat_op *op_of(const char *seed)
{
    const leat_op *best = NULL;
    size_t most = 0;
    for (const leat_op *const *op = leat_ops(); *op; op++) {
        const size_t n = strlen((*op)->name);
        if (n > most && !strncmp((*op)->name, seed, n)) {
            best = *op;
            most = n;
        }
    }
    return best;
}

static void run_seed(const char *name)
{
    static uint8_t bytes[1 << 16];
    char path[512];
    snprintf(path, sizeof path, "%s/%s", SEEDS, name);
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    const size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_in_range(n, 1, sizeof bytes - 1);
    fuzz_ops_done = NULL;
    LLVMFuzzerTestOneInput(bytes, n);
}

TEST(each_seed_reaches_its_op)
{
    bool has_seed[64] = { false };
    DIR *const folder = opendir(SEEDS);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        const leat_op *const op = op_of(entry->d_name);
        if (!op)
            fail_msg("seed %s is of no op", entry->d_name);
        run_seed(entry->d_name);
        if (fuzz_ops_done != op)
            fail_msg("seed %s: %s ran", entry->d_name,
                     fuzz_ops_done ? fuzz_ops_done->name : "nothing");
        for (size_t i = 0; leat_ops()[i]; i++)
            has_seed[i] |= leat_ops()[i] == op;
    }
    closedir(folder);
    for (size_t i = 0; leat_ops()[i]; i++)
        if (!has_seed[i])
            fail_msg("there is no seed of op %s", leat_ops()[i]->name);
}
