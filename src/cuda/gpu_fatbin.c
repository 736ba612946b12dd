/* SPDX-License-Identifier: MIT
 *
 * gpu_fatbin.c: the compiled kernels (LEAT_FATBIN, a file) as bytes of the plugin. */
extern const unsigned char leat_fatbin[] __attribute__((visibility("hidden")));

__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".globl leat_fatbin\n"
        ".hidden leat_fatbin\n"
        "leat_fatbin:\n"
        ".incbin \"" LEAT_FATBIN "\"\n"
        ".popsection\n");
