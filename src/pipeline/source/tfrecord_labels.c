/* SPDX-License-Identifier: MIT
 *
 * tfrecord_labels.c: the names of the classes of a TFRecord set, which `leat convert` writes beside it as
 * PREFIX-labels.txt. source_tfrecord.c calls it at open. A set without such a file has no names, and sets that are
 * read together have none if one has none. If a class has two names, labels mean other classes: an error, unless no feature
 * can be a label. */
#include <stdlib.h>
#include <string.h>

#include "formats/labels_file.h"
#include "tfrecord_impl.h"

/* They are the classes of every feature that reads the same values. */
static void name_features(leat_tfrecord_source *source, leat_source_classes classes)
{
    leat_source *const base = &source->base;
    const char *const label = leat_source_class_feature(base), *key = NULL;
    for (int32_t i = 0; i < base->n_features; i++)
        if (!strcmp(base->features[i].name, label))
            key = source->features.wanted[i].key;
    for (int32_t i = 0; key && i < base->n_features; i++)
        if (!strcmp(source->features.wanted[i].key, key))
            base->features[i].classes = classes;
}

int leat_tfrecord_labels_read(leat_tfrecord_source *source, char *const *paths, size_t n_paths,
                              leat_error *err)
{
    leat_labels_file labels;
    leat_format_error why;
    int rc = LEAT_OK;
    if (leat_labels_file_read((const char *const *)paths, n_paths, &labels, &why) < 0)
        rc = leat_fail(err, LEAT_E_NOMEM, "tfrecord: %s", why.text);
    else if (labels.state == LEAT_LABELS_FILE_UNREADABLE)
        rc = leat_source_add_note(&source->base.notes, err, "no names of classes: %s",
                                  labels.why.text);
    else if (labels.state == LEAT_LABELS_FILE_DIFFERENT && leat_source_has_labels(&source->base))
        rc = leat_fail(err, LEAT_E_CONFIG,
                       "tfrecord: labels mean other classes: %s; make the names the same in the "
                       "files PREFIX-labels.txt, or convert the sets anew with the same classes",
                       labels.why.text);
    if (rc < 0 || !labels.n) {
        leat_labels_file_close(&labels);
        return rc;
    }
    source->class_text = labels.text;
    source->base.class_names = labels.names;
    source->base.n_classes = (int32_t)labels.n;
    name_features(source, leat_source_own_classes(&source->base));
    return LEAT_OK;
}

void leat_tfrecord_labels_close(leat_tfrecord_source *source)
{
    free(source->base.class_names);
    free(source->class_text);
}
