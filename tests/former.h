/* former.h - what rows and kernel files were called in the tree that tests/before names, for tests/test_before.sh. */
#ifndef TILEWRIGHT_FORMER_H
#define TILEWRIGHT_FORMER_H

/* None has got another name yet. */
static inline const char *former_name(const char *name) { return name; }

#endif
