/* SPDX-License-Identifier: MIT
 *
 * fuzz_file_list.c: any bytes as a list of files (the first byte chooses kind and labels; the rest up to the first line
 * end is the expression for the class). Each entry has a path and its labels, and classes are in byte order. */
#include <string.h>

#include "formats/file_list.h"
#include "fuzz_target.h"

static void check_list(const leat_file_list *list)
{
    const leat_list_labels *const l = &list->labels;
    EXPECT(list->n > 0 && l->n == list->n * l->n_columns);
    for (size_t i = 0; i < list->n; i++)
        EXPECT(*list->entries[i].name && list->entries[i].line);
    for (size_t i = 1; i < l->n_classes; i++)
        EXPECT(strcmp(l->classes[i - 1], l->classes[i]) < 0);
    for (size_t i = 0; l->type == LEAT_LIST_CLASS && i < l->n; i++)
        EXPECT(l->ints[i] >= 0 && (size_t)l->ints[i] < l->n_classes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = { "l.csv", "l.tsv", "l.txt", "l" };
    const char *labels[] = { "1", "b" };
    char pattern[64] = "";
    if (size < 1)
        return 0;
    const uint8_t how = *data++;
    const uint8_t *const line = --size ? memchr(data, '\n', size) : NULL;
    const size_t n = line ? (size_t)(line - data) : 0;
    if (n && n < sizeof pattern && !memchr(data, '{', n)) /* repetitions can need much memory */
        memcpy(pattern, data, n);
    if (line) {
        size -= n + 1;
        data += n + 1;
    }
    const leat_file_list_options o = { .root = "/nowhere",
                                       .delimiter = how & 4 ? ";" : "auto",
                                       .file = "",
                                       .labels = labels,
                                       .n_labels = how >> 3 & 1 ? 2 : 0,
                                       .suffix = how & 16 ? ".jpg" : "",
                                       .class_from = pattern,
                                       .header = how >> 5 & 1,
                                       .type = (leat_list_type)(how >> 6),
                                       .skip = how & 1 };
    leat_file_list list;
    leat_format_error why = { 0 };
    if (leat_file_list_parse(&list, names[how & 3], data, size, &o, &why) == LEAT_FORMAT_OK)
        check_list(&list);
    else
        EXPECT(why.text[0]);
    leat_file_list_close(&list);
    return 0;
}
