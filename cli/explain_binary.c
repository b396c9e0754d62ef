/* explain_binary.c */
#include "explain.h"
#include "say.h"
exit_code explain_binary(const explain *x) { (void)x; return EXIT_OK; }
