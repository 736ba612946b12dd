/* SPDX-License-Identifier: MIT
 *
 * link.h: which file an output goes to if its name is a symbolic link. In a folder that others may write to, such as
 * /tmp, a link can be planted, to let a program overwrite any file of its user. All writers of files use it. */
#ifndef LEAT_LINK_H
#define LEAT_LINK_H

#include "format.h"

/* Follows a link at the last name of a path, step by step, until a name that is not a link. Each link must belong to
 * this user or to root. The name that it ends at need not exist. Open it with O_NOFOLLOW, or rename a file to it: a
 * link that is planted there afterwards is not followed either.
 *
 * out      path itself, or where the links lead; free(). NULL unless OK
 * returns  LEAT_FORMAT_OK; _IO: a link of another user, or too many links; _NOMEM */
int leat_link_follow(const char *path, char **out, leat_format_error *err);

#endif
