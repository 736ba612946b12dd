# SPDX-License-Identifier: MIT
# The configs of `leat experiment` as texts in the program, so that it runs from anywhere.
file(GLOB experiment_configs CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/gpu-vs-cpu/*.yaml)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${experiment_configs})
set(rows "")
foreach(config IN LISTS experiment_configs)
    cmake_path(GET config STEM name)
    file(READ ${config} text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n\"\n      \"" text "${text}")
    string(APPEND rows "    { \"${name}\",\n      \"${text}\" },\n")
endforeach()
file(CONFIGURE OUTPUT ${generated}/experiment_configs.c @ONLY CONTENT
"/* Made by cmake/experiments.cmake of examples/gpu-vs-cpu/. */
#include <stddef.h>
#include <string.h>

#include \"experiment/experiment_rows.h\"

static const struct {
    const char *name, *text;
} configs[] = {
@rows@};

const char *leat_experiment_config_text(const char *name)
{
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++)
        if (!strcmp(configs[i].name, name))
            return configs[i].text;
    return NULL;
}
")
