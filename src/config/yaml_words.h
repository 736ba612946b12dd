/* SPDX-License-Identifier: MIT
 *
 * yaml_words.h: turns an error of libyaml into a message for the author of a config. The message names the
 * line to change, as libyaml often notices an error one line late. */
#ifndef LEAT_YAML_WORDS_H
#define LEAT_YAML_WORDS_H

#include <stddef.h>
#include <yaml.h>

typedef struct leat_yaml_fault {
    size_t line, column; /* from 1 */
    char text[400];
} leat_yaml_fault;

/* parser: has failed with an error of its scanner or parser. text: the n bytes that it read. */
leat_yaml_fault leat_yaml_words(const yaml_parser_t *parser, const char *text, size_t n);

#endif
