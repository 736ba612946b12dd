/* SPDX-License-Identifier: MIT */
#include "output_kind.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "format.h"

const leat_output_kind leat_output_kind_trace = {
    "a trace of leat",
    LEAT_OUTPUT_KIND_SPANS
    "\n{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"process_name\",\"ts\":0.000,"
    "\"args\":{\"name\":\"leat\"}}",
    0
};

bool leat_output_kind_may_replace(const char *path, const leat_output_kind *kind)
{
    char found[160];
    struct stat status;
    const size_t wanted = strlen(kind->begins);
    if (stat(path, &status) < 0)
        return leat_format_is_absent(errno);
    if (!S_ISREG(status.st_mode) || status.st_size == 0)
        return true;
    FILE *const file = fopen(path, "rbe");
    const bool same = file && wanted <= sizeof found && fseek(file, kind->at, SEEK_SET) == 0 &&
                      fread(found, 1, wanted, file) == wanted &&
                      !memcmp(found, kind->begins, wanted);
    if (file)
        fclose(file);
    errno = 0;
    return same;
}
