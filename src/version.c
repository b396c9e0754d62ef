/* version.c - which release this is. */
#include <tilewright.h>

#define TEXT_OF(x)  TEXT_OF_(x)
#define TEXT_OF_(x) #x

const char *tw_version(void)
{
    return TEXT_OF(TW_VERSION_MAJOR) "." TEXT_OF(TW_VERSION_MINOR) "." TEXT_OF(TW_VERSION_PATCH);
}
