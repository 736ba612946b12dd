/* SPDX-License-Identifier: MIT
 *
 * fuzz_zip.c: any bytes as a ZIP archive. Its members lie inside the file, and can be read or are damaged. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/zip.h"
#include "fuzz_target.h"

enum { MOST = 1 << 20 }; /* of a member: a file of 1 KB may hold a megabyte */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    leat_zip zip;
    leat_format_error err = { 0 };
    const int fd = memfd_create("fuzz_zip", 0);
    EXPECT(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    const int rc = leat_zip_open(fd, &zip, &err);
    EXPECT(rc == LEAT_FORMAT_OK || (rc == LEAT_FORMAT_BAD && err.code == rc && err.text[0]));
    for (size_t i = 0; rc == LEAT_FORMAT_OK && i < zip.n_members; i++) {
        const leat_zip_member *const m = &zip.members[i];
        EXPECT(strlen(m->name) < 65536);
        EXPECT(m->offset <= size && m->stored_bytes <= size - m->offset);
        EXPECT(m->deflated || m->bytes == m->stored_bytes);
        if (m->bytes > MOST)
            continue;
        uint8_t *const to = malloc((size_t)m->bytes + 1);
        EXPECT(to);
        const int read = leat_zip_read(fd, m, to, &err);
        EXPECT(read == LEAT_FORMAT_OK || (read == LEAT_FORMAT_BAD && err.text[0]));
        free(to);
    }
    leat_zip_close(&zip);
    close(fd);
    return 0;
}
